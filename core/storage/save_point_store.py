"""The Protocol of the save points of chapters; `db` implements it."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from core.domain.ids import SessionId
from core.domain.story.save_point import SavePoint


class SavePointStore(Protocol):
    """The save points of sessions; none needs the writer's lock. Every method raises `StorageError`."""

    async def listed(self, session_id: SessionId) -> Sequence[SavePoint]:
        """Return the save points of a session, by number."""

    async def put(self, point: SavePoint, *, taken: Iterable[SavePoint]) -> None:
        """Store a save point in place of an earlier one with its number.

        Raises ChangedElsewhereError where the number has another one by now than the caller knows, `taken`.
        """

    async def delete(self, point: SavePoint) -> None:
        """Delete this save point, if it exists; another one with its number stays."""
