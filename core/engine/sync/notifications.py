"""What listeners of a session hear: frozen notices with just enough to know what to read again."""

from dataclasses import dataclass

from core.domain.draft import NarrativeDraft
from core.domain.errors import StoryEngineError
from core.domain.event import Event
from core.domain.ids import RequestId, SessionId
from core.domain.memory import MemoryBlock
from core.domain.request import Request
from core.domain.session import Session
from core.domain.slot import Slot
from core.store import WriterInfo


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """State, pointer, names, definition or anything else of the session row is new."""

    session: Session


@dataclass(frozen=True, slots=True)
class RequestQueued:
    """A request is stored and waits for its turn."""

    request: Request


@dataclass(frozen=True, slots=True)
class RequestBegun:
    """It is a request's turn: it is stored as processing, which other windows hear as well."""

    request: Request


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A request is with the model now."""

    request: Request
    agent_id: int
    model: str
    call: int
    left_out: tuple[str, ...]
    is_local: bool = False
    """Whether the model runs on this machine, where it takes what the machine gives."""


@dataclass(frozen=True, slots=True)
class TextArrived:
    """The next piece of a streaming answer; a slow listener gets several joined."""

    request_id: RequestId
    text: str


@dataclass(frozen=True, slots=True)
class StreamRestarted:
    """What streamed so far for this request is void: another call for it begins."""

    request_id: RequestId


@dataclass(frozen=True, slots=True)
class EventsAppended:
    """The GM's text and its reply are stored."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class MemoryAppended:
    """A block is stored; with a delta, the boundary moved."""

    block: MemoryBlock


@dataclass(frozen=True, slots=True)
class DraftStored:
    """A new version of the narrative is stored."""

    draft: NarrativeDraft


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request failed or was cancelled and is settled so; its text is safe."""

    request: Request
    error: StoryEngineError


@dataclass(frozen=True, slots=True)
class RequestSettled:
    """A request left the queue: it is done, or was cancelled."""

    request: Request


@dataclass(frozen=True, slots=True)
class UnsentChanged:
    """Text came back to, or left, the composer of a slot other than by typing."""

    slot: Slot
    text: str


@dataclass(frozen=True, slots=True)
class StorageTrouble:
    """The store cannot be reached; the engine keeps what it has and tries again."""

    error: StoryEngineError


@dataclass(frozen=True, slots=True)
class StorageRecovered:
    """The store is back, and what waited is stored."""


@dataclass(frozen=True, slots=True)
class WriterChanged:
    """Who may write here changed: None means this window; a holder means another one."""

    holder: WriterInfo | None


@dataclass(frozen=True, slots=True)
class WriterGone:
    """The window that wrote here is gone; there is no writer until a window takes over."""


@dataclass(frozen=True, slots=True)
class SessionReplaced:
    """The session was reset: it is archived, and `new_id` goes on in its place."""

    new_id: SessionId


Notification = (
    SessionChanged
    | RequestQueued
    | RequestBegun
    | CallStarted
    | TextArrived
    | StreamRestarted
    | EventsAppended
    | MemoryAppended
    | DraftStored
    | RequestFailed
    | RequestSettled
    | UnsentChanged
    | StorageTrouble
    | StorageRecovered
    | WriterChanged
    | WriterGone
    | SessionReplaced
)
