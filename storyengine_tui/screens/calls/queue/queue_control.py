"""The Protocol of the engine's queue that the queue view uses (design 17)."""

from collections.abc import Sequence
from typing import Protocol

from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import Request


class QueueEntry(Protocol):
    """A request that waits, runs, or has failed."""

    @property
    def request(self) -> Request:
        """The request."""

    @property
    def session_title(self) -> str:
        """The title of its chapter."""

    @property
    def lane(self) -> str:
        """The account and the model that answer it."""

    @property
    def waits_for(self) -> str:
        """Its reason for waiting, in plain words; empty while it runs."""


class QueueControl(Protocol):
    """The one queue of all chapters of this database. Commands raise StoryEngineError when refused."""

    @property
    def is_paused(self) -> bool:
        """Whether nothing new begins."""

    async def entries(self) -> Sequence[QueueEntry]:
        """Return the requests that wait, run or have failed, in the order in which they run."""

    async def pause(self) -> None:
        """Begin nothing new; running calls finish."""

    async def resume(self) -> None:
        """Go on."""

    async def stop(self, request_id: RequestId) -> object:
        """Stop a request that runs."""

    async def drop(self, request_id: RequestId) -> object:
        """Take a request out of the queue."""

    async def retry(self, request_id: RequestId) -> object:
        """Try a failed request again."""

    async def move_up(self, request_id: RequestId) -> object:
        """Let a request be taken before the one in front of it."""

    async def edit(self, request_id: RequestId, text: str) -> None:
        """Change the text of a prompt that waits."""

    async def clear_background(self) -> int:
        """Drop all background work that waits, and return how much it was."""

    async def recall(self, session_id: SessionId) -> object:
        """Return all waiting prompts of a chapter to their panels."""
