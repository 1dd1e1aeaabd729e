"""`SavePointStore` on PostgreSQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.errors import ChangedElsewhereError
from core.domain.ids import SessionId
from core.domain.story.save_point import SavePoint
from db.reads import queries as reads
from db.rows import mapping
from db.tables import SAVE_SLOT
from db.transactions import Transactions


@dataclass(frozen=True, slots=True)
class PostgresSavePoints:
    """The save points of the sessions of one database."""

    _database: Transactions

    async def listed(self, session_id: SessionId) -> Sequence[SavePoint]:
        """Return the save points of a session, by number."""
        query = reads.rows_of(SAVE_SLOT, session_id).order_by(SAVE_SLOT.c.number)
        return await self._database.mapped(session_id, query, mapping.SAVE_POINTS.record)

    async def put(self, point: SavePoint, *, taken: Iterable[SavePoint]) -> None:
        """Store a save point in place of an earlier one; see `SavePointStore.put`."""
        statement = insert(SAVE_SLOT).values(mapping.SAVE_POINTS.values(point))
        fresh = {item.name: statement.excluded[item.name] for item in SAVE_SLOT.c if not item.primary_key}
        known = [one.sha256 for one in taken if one.number == point.number]
        # Its own: what was stored and is sent again, because the answer was lost.
        is_known = SAVE_SLOT.c.sha256.in_([*known, point.sha256])
        statement = statement.on_conflict_do_update(
            index_elements=list(SAVE_SLOT.primary_key), set_=fresh, where=is_known
        )

        async def work(connection: AsyncConnection) -> None:
            stored = await connection.execute(statement.returning(SAVE_SLOT.c.number))
            if stored.one_or_none() is None:
                raise ChangedElsewhereError

        await self._database.change(work)

    async def delete(self, point: SavePoint) -> None:
        """Delete this save point, if it exists; another one with its number stays."""
        has_its_number = (SAVE_SLOT.c.session_id == point.session_id) & (SAVE_SLOT.c.number == point.number)
        gone = delete(SAVE_SLOT).where(has_its_number, SAVE_SLOT.c.sha256 == point.sha256)
        await self._database.change(lambda connection: connection.execute(gone))
