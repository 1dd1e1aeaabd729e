"""The Protocol of the list of chapters; `db` implements it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from core.domain.ids import SessionId
from core.domain.session.session import SessionSummary
from core.storage.changes import Changes


class ChapterStore(Protocol):
    """The list of chapters, with those of scripts. Every method raises `StorageError`."""

    async def create(self, changes: Changes) -> None:
        """Store a new session; `changes.session` and `changes.tab1` are required."""

    async def find_or_create(self, changes: Changes) -> tuple[SessionId, bool]:
        """Return the newest session, not archived, of the script of `changes.session`, else store that.

        The second value is whether it was stored. Concurrent calls create one session only.
        """

    async def listed(self, *, is_archived: bool = False) -> Sequence[SessionSummary]:
        """Return the chapter list, last played first."""

    async def find_script(self, script_key: str) -> SessionId | None:
        """Return the newest session, not archived, of the chapter script with this key."""

    async def archive(self, session_id: SessionId, at: datetime | None) -> None:
        """Archive a session at that time, or restore it (None)."""

    async def purge(self, session_id: SessionId) -> None:
        """Delete an archived session with all its data; raise StorageError for one that is not archived."""
