"""The Protocol of the queue that the windows of one database share; `db` implements it (design 17)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol
from uuid import UUID

from core.domain.ids import RequestId
from core.domain.requests.request import Request
from core.domain.session.session_state import SessionState

MAX_MESSAGE_CHARACTERS: Final = 100
"""Characters of a message between windows; anything longer is not ours."""


class QueueSignal(StrEnum):
    """Subject of a message between windows."""

    PAUSED = "paused"
    RESUMED = "resumed"
    FREE = "free"
    """A place of an account is free."""
    BACK = "back"
    """A call beside the play is to make room."""
    STOP = "stop"
    DROP = "drop"
    RETRY = "retry"
    UP = "up"
    CLEAR = "clear"
    """All work beside the play that waits is to be given up."""


_OF_REQUESTS: Final = frozenset(
    {QueueSignal.BACK, QueueSignal.STOP, QueueSignal.DROP, QueueSignal.RETRY, QueueSignal.UP}
)


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """A message between windows: what, and of which request or account."""

    signal: QueueSignal
    request_id: RequestId | None = None
    account: str = ""

    @property
    def payload(self) -> str:
        """The message as it is sent."""
        about = self.account or (str(self.request_id) if self.request_id else "")
        return f"{self.signal}:{about}" if about else str(self.signal)


def parse_message(payload: str) -> QueueMessage | None:
    """Return the message of a payload, which any program can send; None for one that is not ours."""
    if len(payload) > MAX_MESSAGE_CHARACTERS:
        return None
    name, _, about = payload.partition(":")
    if name not in list(QueueSignal):
        return None
    signal = QueueSignal(name)
    if signal in _OF_REQUESTS:
        try:
            return QueueMessage(signal, request_id=RequestId(UUID(about)))
        except ValueError:
            return None
    return QueueMessage(signal, account=about) if signal is QueueSignal.FREE else QueueMessage(signal)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRequest:
    """A request that is open, failed or dead, and what is known of its chapter."""

    request: Request
    session_title: str
    session_state: SessionState
    is_open: bool
    """Whether a window has the chapter open for writing."""
    model: str = ""
    """The model that the character in the slot of the request brings from the library."""


class SharedPlaces(Protocol):
    """The places of accounts that take only so many calls at a time, over all windows."""

    async def take_place(self, account: str, most: int, request: Request) -> bool:
        """Take a place for the call of a request, and return whether it has one.

        One that has none waits from its first try on: nothing of lower priority, or that waits since later,
        goes before it.
        """

    async def leave_place(self, account: str, request: Request) -> None:
        """Leave the place, or stop waiting; other windows are told."""


class SharedRates(Protocol):
    """The calls that began within the last minute, over all windows."""

    async def begin_call(self, name: str, most: int) -> float:
        """Count a call that begins now under a name, and return 0.

        Where `most` have begun within a minute nothing is counted; return the seconds until one may begin.
        """


class SharedLanes(SharedPlaces, SharedRates, Protocol):
    """The places and the rates that windows share."""


class QueueStore(SharedLanes, Protocol):
    """The queue of one database. Every method raises `StorageError` when it cannot be reached."""

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with each message between windows, while a chapter is open for writing here.

        In a window that only reads, those of a pause alone. Each begins with whether the queue is paused.
        """

    async def is_paused(self) -> bool:
        """Whether the queue is paused."""

    async def set_paused(self, *, is_paused: bool) -> None:
        """Pause or resume the queue, and tell all windows."""

    async def requests(self) -> Sequence[QueuedRequest]:
        """Return every request that is open, failed or dead, of the chapters that are not archived."""

    async def send(self, message: QueueMessage) -> None:
        """Send a message to all windows."""
