"""Requests, stored before they are tried, and artifacts, the provenance of each try (design 2, 4 and 6)."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.domain.errors import ErrorCode
from core.domain.ids import ArtifactId, RequestId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.slot import Slot


class RequestKind(StrEnum):
    """What a model is asked for."""

    LOCK = "lock"
    REPLY = "reply"
    SUMMARY = "summary"
    NARRATIVE = "narrative"
    TEST = "test"
    """A test call: made outside the queue, and stored once it is settled."""

    @property
    def priority(self) -> int:
        """Lower goes first: a due summary is made before a queued prompt is sent."""
        return _PRIORITIES[self]


_PRIORITIES = {
    RequestKind.LOCK: 0,
    RequestKind.SUMMARY: 10,
    RequestKind.REPLY: 20,
    RequestKind.NARRATIVE: 30,
    RequestKind.TEST: 40,
}


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
class Request:
    """One unit of work for a model."""

    id: RequestId
    session_id: SessionId
    kind: RequestKind
    state: RequestState = RequestState.PENDING
    slot: Slot | None = None
    text: str = ""
    """The GM's text of a reply request; empty for the other kinds."""
    prompts: PromptRange | None = None
    """The prompts that a summary covers, or the prompt that a reply became."""
    attempts: int = 0
    retry_after: datetime | None = None
    """When a failed summary is tried again by itself."""
    error_code: ErrorCode | None = None
    error_message: str = ""
    created_at: datetime
    updated_at: datetime

    @property
    def order(self) -> tuple[int, RequestId]:
        """The key by which open requests take their turn: priority, then age."""
        return (self.kind.priority, self.id)


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
