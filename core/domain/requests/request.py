"""Requests, stored before their first attempt, and artifacts, the provenance of calls (design 2, 4 and 6)."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from core.domain.audience import EVERYONE, Audience
from core.domain.errors import ErrorCode
from core.domain.ids import ArtifactId, RequestId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.cost import FREE, Cost
from core.domain.requests.request_kinds import KIND_SPECS, KindSpec, Level, RequestKind
from core.domain.requests.retry_policy import REFUSALS
from core.domain.slot import Slot


class RequestState(StrEnum):
    """The state of a request."""

    PENDING = "pending"
    PROCESSING = "processing"
    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"
    """Its automatic tries are used up; only the GM takes it up again, or gives it up."""
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Whether it is queued or a model works on it."""
        return self in (RequestState.PENDING, RequestState.PROCESSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBase:
    """The fields of every request; each kind adds its own."""

    if TYPE_CHECKING:  # at run time it would be the default of a kind that is a field

        @property
        def kind(self) -> RequestKind:
            """Its kind, which selects the agent and the handler."""

    id: RequestId
    session_id: SessionId
    state: RequestState = RequestState.PENDING
    priority: int
    """Lower runs first. Taken from the kind when the request is created, and stored with it."""
    attempts: int = 0
    uncounted: int = 0
    """Attempts that do not count as tries: preempted before an answer began, or before a retry by the GM."""
    retry_after: datetime | None = None
    """When a failed request is retried automatically, or can be retried at the earliest."""
    error_code: ErrorCode | None = None
    error_message: str = ""
    created_at: datetime
    updated_at: datetime

    @property
    def tries(self) -> int:
        """Number of attempts that count; at the limit of its back-off it is a dead letter."""
        return self.attempts - self.uncounted

    @property
    def order(self) -> tuple[int, RequestId]:
        """The sort key of the queue: priority, then age."""
        return (self.priority, self.id)

    @property
    def spec(self) -> KindSpec:
        """The properties of its kind."""
        return KIND_SPECS[self.kind]

    @property
    def has_failed(self) -> bool:
        """Whether it failed and can be retried."""
        return self.state in (RequestState.FAILED, RequestState.DEAD)

    @property
    def has_another_round(self) -> bool:
        """Whether it gets its tries again when its chapter is opened: an outage may be what ended them."""
        spec = self.spec
        is_dead = self.state is RequestState.DEAD and spec.again_when_opened
        return is_dead and self.error_code not in spec.retry.waits_for_the_gm

    @property
    def waits_for_money(self) -> bool:
        """Whether a ceiling refused it, so that it goes on once more may be spent: nothing was sent."""
        is_refused = self.has_failed and self.error_code is ErrorCode.CEILING_REACHED
        return is_refused and self.spec.again_when_opened

    @property
    def holds_up(self) -> bool:
        """Whether others of its kind in its chapter wait until it is retried or dropped."""
        return self.spec.waits_for_refused and self.has_failed and self.error_code in REFUSALS

    @property
    def level(self) -> Level:
        """Its level of urgency."""
        return Level.of(self.priority)

    @property
    def is_processing(self) -> bool:
        """Whether a model works on it."""
        return self.state is RequestState.PROCESSING


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest(RequestBase):
    """Agent 0 makes the first block of memory."""

    kind: ClassVar[RequestKind] = RequestKind.LOCK

    priority: int = KIND_SPECS[RequestKind.LOCK].priority


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRequest(RequestBase):
    """The character in `slot` answers the GM's text."""

    kind: ClassVar[RequestKind] = RequestKind.REPLY

    priority: int = KIND_SPECS[RequestKind.REPLY].priority
    slot: Slot
    text: str
    prompts: PromptRange | None = None
    """The prompt that it became when it was answered; for a further take, the prompt from the beginning."""
    model: str = ""
    """The model for this request alone; empty for the one that the character has."""
    continues: bool = False
    """Whether the answer continues the reply that the prompt has, as a further take."""
    audience: Audience = EVERYONE
    """Those who hear the prompt and its reply."""
    then: tuple[Slot, ...] = ()
    """Those who answer the same prompt after it, in this order, each in a request of its own."""
    follows: bool = False
    """Whether another character has answered the prompt, and this is a further reply to it."""

    @property
    def is_take(self) -> bool:
        """Whether a request without an answer is for another take of a prompt."""
        return self.prompts is not None and not self.follows

    @property
    def asked(self) -> tuple[object, ...]:
        """The fields that identify the question: a failed request is reused for an equal one."""
        return tuple(getattr(self, name) for name in _OF_REPLIES)

    @property
    def called(self) -> tuple[Slot, ...]:
        """The characters that it calls, in order."""
        return self.slot, *self.then


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest(RequestBase):
    """Agent 8 adds what happened in `prompts` to memory."""

    kind: ClassVar[RequestKind] = RequestKind.SUMMARY

    priority: int = KIND_SPECS[RequestKind.SUMMARY].priority
    prompts: PromptRange
    model: str = ""
    """The model for this request alone; empty for the one that the agent has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrativeRequest(RequestBase):
    """Agent 9 writes the chapter's prose."""

    kind: ClassVar[RequestKind] = RequestKind.NARRATIVE

    priority: int = KIND_SPECS[RequestKind.NARRATIVE].priority
    viewpoint: Slot | None = None
    """The character whose viewpoint and knowledge it uses; None for the GM's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCallRequest(RequestBase):
    """A test call of a model: made outside the queue, and stored with its outcome."""

    kind: ClassVar[RequestKind] = RequestKind.TEST

    priority: int = KIND_SPECS[RequestKind.TEST].priority


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundRequest(RequestBase):
    """Work beside the play, of any background kind; each kind uses the fields that it needs."""

    kind: RequestKind
    slot: Slot | None = None
    text: str = ""
    """The payload in the form of its kind: of assist an `AssistRequest`, of gaps and ceremony a `Work`, of
    an afterthought its `Pause`, of a heartbeat the last prompt that was answered, of an extraction events."""
    prompts: PromptRange | None = None
    model: str = ""
    audience: Audience = EVERYONE
    """The label of its result."""


Request = LockRequest | ReplyRequest | SummaryRequest | NarrativeRequest | TestCallRequest | BackgroundRequest
AnyRequest = TypeVar("AnyRequest", bound=RequestBase)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """A request of any kind as a flat record, for rows and exports."""

    id: RequestId
    session_id: SessionId
    kind: RequestKind
    state: RequestState = RequestState.PENDING
    slot: Slot | None = None
    """The character that is asked; of a narrative the viewpoint."""
    text: str = ""
    prompts: PromptRange | None = None
    model: str = ""
    continues: bool = False
    audience: Audience = EVERYONE
    then: tuple[Slot, ...] = ()
    follows: bool = False
    attempts: int = 0
    retry_after: datetime | None = None
    error_code: ErrorCode | None = None
    error_message: str = ""
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, request: Request) -> "RequestRecord":
        """Return the record of a request, without its priority and what counts as a try."""
        values = {name: getattr(request, own) for own, name in _RECORDED[type(request)]}
        return cls(**{"kind": request.kind, **values})

    def request(self, priority: int | None = None, uncounted: int = 0) -> Request:
        """Return the request; `priority` defaults to that of its kind.

        Raises ValueError when a field of another kind is set, or one of its own is missing.
        """
        spec, made = KIND_SPECS[self.kind], _CLASSES.get(self.kind, BackgroundRequest)
        is_foreign = any(getattr(self, name) != unset for name, unset in _OF_OTHERS[made])
        if is_foreign or (made is ReplyRequest and self.slot is None):
            raise ValueError("a call has the text or the character of another kind")
        if spec.names_prompts and self.prompts is None:
            raise ValueError("a call that covers prompts has none")
        values: dict[str, Any] = {own: getattr(self, name) for own, name in _RECORDED[made]}
        return made(priority=spec.priority if priority is None else priority, uncounted=uncounted, **values)


_OF_REPLIES: Final = ("slot", "text", "prompts", "model", "audience", "continues", "then", "follows")
_OF_THE_PLAY: Final = (LockRequest, ReplyRequest, SummaryRequest, NarrativeRequest, TestCallRequest)
_CLASSES: Final[Mapping[RequestKind, type[Request]]] = {made.kind: made for made in _OF_THE_PLAY}
_RECORDED: Final = {
    made: [
        (field.name, "slot" if field.name == "viewpoint" else field.name)
        for field in fields(made)
        if field.name not in ("priority", "uncounted")
    ]
    for made in (*_OF_THE_PLAY, BackgroundRequest)
}
"""The fields of each class that are recorded, each with its name in a record."""
_OF_OTHERS: Final = {
    made: [
        (field.name, field.default)
        for field in fields(RequestRecord)
        if field.name in _OF_REPLIES and field.name not in dict(recorded).values()
    ]
    for made, recorded in _RECORDED.items()
}
"""The fields of a record that a class does not have, each with its value then."""


@dataclass(frozen=True, slots=True)
class Content:
    """A text that was sent or received, stored once by its hash."""

    hash: str
    text: str

    @classmethod
    def of(cls, text: str) -> "Content":
        """Return the content with the SHA-256 of its UTF-8 bytes, in hexadecimal."""
        return cls(hashlib.sha256(text.encode("utf-8")).hexdigest(), text)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None when the provider did not report them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


NO_TOKENS: Final = Usage(input_tokens=0, output_tokens=0)
"""Tokens of a call that no model was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """The provenance of one call: its input, output, tokens and times.

    `attempt` numbers the attempts of a request from 1; `call` numbers the calls of one attempt, which has
    more than one when JSON had to be repaired or a chapter is built part by part.
    """

    id: ArtifactId
    session_id: SessionId
    request_id: RequestId
    attempt: int
    call: int
    agent_id: int
    provider: str
    model: str
    prompt_version: str
    input_hash: str
    input_ref: str
    """Hash of the content that lists the input's parts, which are contents too."""
    output_ref: str | None
    """Hash of the content that was received; None without any."""
    usage: Usage = Usage()
    first_token_ms: int | None = None
    total_ms: int | None = None
    finish_reason: str = ""
    error_code: ErrorCode | None = None
    error_message: str = ""
    left_out: tuple[str, ...] = ()
    """Parts of the input that the token budget omitted, in words."""
    cost: Cost | None = None
    """The cost of the call; None where it is unknown, or nothing was sent."""
    created_at: datetime

    @property
    def is_mark(self) -> bool:
        """Whether it is no call, but says that the answer of a stored one was refused by the store."""
        return not self.provider and self.input_hash != self.input_ref  # a failed attempt has one input


def total_cost(artifacts: Iterable[Artifact]) -> Decimal:
    """Return what calls cost together, in US dollars, as far as it is known."""
    return sum((one.cost.amount or FREE for one in artifacts if one.cost is not None), FREE)
