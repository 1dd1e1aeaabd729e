"""The save points of a store in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.domain.errors import ChangedElsewhereError
from core.domain.ids import SessionId
from core.domain.story.save_point import SavePoint
from tests.store.in_memory.memory_database import MemoryDatabase


@dataclass
class MemorySavePoints:
    """The `SavePointStore` of every window."""

    database: MemoryDatabase

    async def listed(self, session_id: SessionId) -> Sequence[SavePoint]:
        points = (await self.database.found(session_id)).save_points
        return [points[number] for number in sorted(points)]

    async def put(self, point: SavePoint, *, taken: Iterable[SavePoint]) -> None:
        there = (await self.database.rows(point.session_id)).save_points
        if there.get(point.number) not in (None, point, *taken):
            raise ChangedElsewhereError
        there[point.number] = point

    async def delete(self, point: SavePoint) -> None:
        there = (await self.database.found(point.session_id)).save_points
        if there.get(point.number) == point:
            del there[point.number]
