"""Requests, stored before they are tried, and artifacts, the provenance of each try (design 2, 4 and 6)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Final, TypeVar

from core.domain.errors import ErrorCode
from core.domain.ids import ArtifactId, RequestId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.request_kinds import KIND_SPECS, KindSpec, RequestKind
from core.domain.slot import Slot


class RequestState(StrEnum):
    """How far a request has come."""

    PENDING = "pending"
    PROCESSING = "processing"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Whether it waits for a model or is with one."""
        return self in (RequestState.PENDING, RequestState.PROCESSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBase:
    """What every unit of work for a model has; each kind adds what only it has."""

    kind: ClassVar[RequestKind]

    id: RequestId
    session_id: SessionId
    state: RequestState = RequestState.PENDING
    priority: int
    """Lower goes first. It is stored with the request; its kind says it when the request is made."""
    attempts: int = 0
    retry_after: datetime | None = None
    """When a failed request is tried again by itself, or may be tried again at the earliest."""
    error_code: ErrorCode | None = None
    error_message: str = ""
    created_at: datetime
    updated_at: datetime

    @property
    def order(self) -> tuple[int, RequestId]:
        """The key by which open requests take their turn: priority, then age."""
        return (self.priority, self.id)

    @property
    def spec(self) -> KindSpec:
        """The facts of its kind."""
        return KIND_SPECS[self.kind]

    @property
    def has_failed(self) -> bool:
        """Whether it failed and was not given up."""
        return self.state is RequestState.FAILED

    @property
    def is_processing(self) -> bool:
        """Whether a model has it."""
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
    """The prompt that it became, once it is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest(RequestBase):
    """Agent 8 adds what happened in `prompts` to memory."""

    kind: ClassVar[RequestKind] = RequestKind.SUMMARY

    priority: int = KIND_SPECS[RequestKind.SUMMARY].priority
    prompts: PromptRange


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrativeRequest(RequestBase):
    """Agent 9 writes the chapter's prose."""

    kind: ClassVar[RequestKind] = RequestKind.NARRATIVE

    priority: int = KIND_SPECS[RequestKind.NARRATIVE].priority


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRequest(RequestBase):
    """A test call of a model: made outside the queue, and stored once it is settled."""

    kind: ClassVar[RequestKind] = RequestKind.TEST

    priority: int = KIND_SPECS[RequestKind.TEST].priority


Request = LockRequest | ReplyRequest | SummaryRequest | NarrativeRequest | TrialRequest
AnyRequest = TypeVar("AnyRequest", bound=RequestBase)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """A request of any kind as one flat record: a row, and an entry of an export."""

    id: RequestId
    session_id: SessionId
    kind: RequestKind
    state: RequestState = RequestState.PENDING
    slot: Slot | None = None
    text: str = ""
    prompts: PromptRange | None = None
    attempts: int = 0
    retry_after: datetime | None = None
    error_code: ErrorCode | None = None
    error_message: str = ""
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, request: Request) -> "RequestRecord":
        """Return the record of a request; its priority is not part of it."""
        shared: dict[str, Any] = {name: getattr(request, name) for name in _SHARED}
        own: dict[str, Any]
        match request:
            case ReplyRequest():
                own = {"slot": request.slot, "text": request.text, "prompts": request.prompts}
            case SummaryRequest():
                own = {"prompts": request.prompts}
            case LockRequest() | NarrativeRequest() | TrialRequest():
                own = {}
        return cls(kind=request.kind, **shared, **own)

    def request(self, priority: int | None = None) -> Request:
        """Return the request, with the priority of its kind where none is given.

        Raises ValueError where a field of another kind is set, or one of its own is missing.
        """
        shared = {name: getattr(self, name) for name in _SHARED}
        shared["priority"] = KIND_SPECS[self.kind].priority if priority is None else priority
        if self.kind is RequestKind.REPLY and self.slot is not None:
            return ReplyRequest(slot=self.slot, text=self.text, prompts=self.prompts, **shared)
        if self.slot is not None or self.text or self.kind is RequestKind.REPLY:
            raise ValueError("a call has the text or the character of another kind")
        if self.kind is RequestKind.SUMMARY and self.prompts is not None:
            return SummaryRequest(prompts=self.prompts, **shared)
        if self.prompts is not None or self.kind is RequestKind.SUMMARY:
            raise ValueError("a call covers prompts, and is no summary, or is one and covers none")
        return _PLAIN[self.kind](**shared)


_SHARED: Final = tuple(field.name for field in fields(RequestBase) if field.name != "priority")
_PLAIN: Final[Mapping[RequestKind, type[LockRequest | NarrativeRequest | TrialRequest]]] = {
    kind.kind: kind for kind in (LockRequest, NarrativeRequest, TrialRequest)
}


@dataclass(frozen=True, slots=True)
class Content:
    """A text that was sent or received, stored once under its hash."""

    hash: str
    text: str

    @classmethod
    def of(cls, text: str) -> "Content":
        """Return the content with the SHA-256 of its UTF-8 bytes, in hexadecimal."""
        return cls(hashlib.sha256(text.encode("utf-8")).hexdigest(), text)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None where the provider did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """The provenance of one call: what went out, what came back, what it took.

    `attempt` counts the tries of a request from 1; `call` counts the calls within one try, which has
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
    """Hash of the content that lists the parts of the input, themselves contents."""
    output_ref: str | None
    """Hash of the content that came back; None when nothing did."""
    usage: Usage = Usage()
    first_token_ms: int | None = None
    total_ms: int | None = None
    finish_reason: str = ""
    error_code: ErrorCode | None = None
    error_message: str = ""
    left_out: tuple[str, ...] = ()
    """What the budget left out of the input, in words."""
    created_at: datetime
