"""Notifications of an open session: frozen values with just enough to know what to read again."""

from dataclasses import dataclass

from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import ReplyRequest, Request
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.storage.session_store import WriterInfo


class Notification:
    """Something that listeners of a session are told."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SessionChanged(Notification):
    """A field of the session row changed."""

    session: Session


@dataclass(frozen=True, slots=True)
class QueuePaused(Notification):
    """The queue is paused, for all windows: running calls finish, and nothing new begins."""


@dataclass(frozen=True, slots=True)
class QueueResumed(Notification):
    """The queue is no longer paused."""


@dataclass(frozen=True, slots=True)
class RequestQueued(Notification):
    """A request is stored and queued."""

    request: Request


@dataclass(frozen=True, slots=True)
class PromptReturned(Notification):
    """A waiting prompt was taken back from elsewhere than its panel, where its text belongs now."""

    request: ReplyRequest


@dataclass(frozen=True, slots=True)
class RequestBegun(Notification):
    """A request is stored as processing; other windows are told as well."""

    request: Request


@dataclass(frozen=True, slots=True)
class CallStarted(Notification):
    """A call of a request has been sent to the model."""

    request: Request
    agent_id: int
    model: str
    call: int
    left_out: tuple[str, ...]
    is_local: bool = False
    """Whether the model runs on this machine."""


@dataclass(frozen=True, slots=True)
class TextArrived(Notification):
    """The next piece of a streaming answer; a slow listener receives several joined."""

    request_id: RequestId
    text: str


@dataclass(frozen=True, slots=True)
class StreamRestarted(Notification):
    """Discard what has streamed for this request: another call for it begins."""

    request_id: RequestId


@dataclass(frozen=True, slots=True)
class EventsAppended(Notification):
    """The GM's text and its reply are stored."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class CanonChanged(Notification):
    """Canon and its memory are not what they were from prompt `first` on: read them again."""

    first: int


@dataclass(frozen=True, slots=True)
class MemoryAppended(Notification):
    """A block is stored; with a delta, the boundary moved."""

    block: MemoryBlock


@dataclass(frozen=True, slots=True)
class BankChanged(Notification):
    """Items were added to the memory bank, or the GM changed some: read them again."""


@dataclass(frozen=True, slots=True)
class DraftStored(Notification):
    """A new draft is stored."""

    draft: NarrativeDraft


@dataclass(frozen=True, slots=True)
class RequestFailed(Notification):
    """A request failed or was cancelled while a model had it; its text is safe."""

    request: Request
    error: StoryEngineError


@dataclass(frozen=True, slots=True)
class RequestSettled(Notification):
    """A request left the queue: done, or withdrawn."""

    request: Request


@dataclass(frozen=True, slots=True)
class UnsentChanged(Notification):
    """The stored text of a slot's composer changed other than by typing."""

    slot: Slot
    text: str


@dataclass(frozen=True, slots=True)
class PromptBlocksChanged(Notification):
    """The prompt blocks of the chapter, its variants or the active one were edited."""


@dataclass(frozen=True, slots=True)
class StorageTrouble(Notification):
    """The store cannot be reached; the engine keeps its changes and retries."""

    error: StoryEngineError


@dataclass(frozen=True, slots=True)
class StorageRecovered(Notification):
    """The store can be reached again, and pending changes are stored."""


@dataclass(frozen=True, slots=True)
class WriterChanged(Notification):
    """Another window became the writer, or this one did (None)."""

    holder: WriterInfo | None


@dataclass(frozen=True, slots=True)
class WriterGone(Notification):
    """The window that wrote is gone; the session has no writer until a window takes over."""


@dataclass(frozen=True, slots=True)
class SessionReplaced(Notification):
    """The session was reset: it is archived, and `new_id` replaces it."""

    new_id: SessionId
