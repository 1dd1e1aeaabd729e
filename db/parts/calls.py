"""`CallStore` on PostgreSQL (design 4 and 18)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial

from sqlalchemy import func

from core.domain.ids import ArtifactId, RequestId, SessionId
from core.domain.requests.cost import FREE
from core.domain.requests.request import Artifact, Content, Request
from core.domain.requests.request_kinds import RequestKind
from db.errors import LOAD, guarded
from db.reads import queries as reads
from db.reads.chapter_lists import spent_by
from db.reads.streamed import LARGE_ROWS
from db.rows import mapping
from db.tables import LLM_ARTIFACT, LLM_CONTENT, LLM_REQUEST
from db.transactions import Transactions
from db.writes.commit_connection import CommitConnection
from db.writes.open_costs import tell_open_costs


@dataclass(frozen=True, slots=True)
class PostgresCalls:
    """The record of calls of one database; what calls of this window may cost is told on its connection."""

    _database: Transactions
    _commit_connection: CommitConnection

    async def requests(self, session_id: SessionId, *, kind: RequestKind | None = None) -> Sequence[Request]:
        """Return every request, or every one of a kind, oldest first, whatever its state."""
        query = reads.requests_of(session_id, kind).order_by(LLM_REQUEST.c.request_id)
        return await self._database.mapped(session_id, query, mapping.to_request, LARGE_ROWS)

    async def artifacts(
        self,
        session_id: SessionId,
        *,
        request_id: RequestId | None = None,
        agent_id: int | None = None,
        kind: RequestKind | None = None,
        input_hash: str | None = None,
        newest: int | None = None,
    ) -> Sequence[Artifact]:
        """Return the artifacts of a session, or some of them, oldest first; see `CallStore.artifacts`."""
        wanted = {"request_id": request_id, "agent_id": agent_id, "input_hash": input_hash}
        are_wanted = (LLM_ARTIFACT.c[name] == value for name, value in wanted.items() if value is not None)
        query = reads.rows_of(LLM_ARTIFACT, session_id).where(*are_wanted)
        query = query.order_by(LLM_ARTIFACT.c.artifact_id.desc())
        if kind is not None:
            of_kind = reads.requests_of(session_id, kind).with_only_columns(LLM_REQUEST.c.request_id)
            query = query.where(LLM_ARTIFACT.c.request_id.in_(of_kind))
        at_once = LARGE_ROWS if request_id is None and input_hash is None and newest is None else 0
        query = query.limit(newest)
        newest_first = await self._database.mapped(session_id, query, mapping.to_artifact, at_once)
        return newest_first[::-1]

    async def spent(
        self,
        session_id: SessionId | None = None,
        *,
        since: datetime | None = None,
        but_for: Collection[ArtifactId] = (),
    ) -> Decimal:
        """Return what calls cost together; see `CallStore.spent`."""
        [row] = await self._database.rows(spent_by(session_id, since, but_for))
        return Decimal(row[0])

    async def tell_open_costs(self, ended: Decimal, day: date, running: Decimal = FREE) -> Decimal:
        """Tell other windows what calls of this one may cost; see `CallStore.tell_open_costs`."""
        async with guarded(LOAD):
            told = partial(tell_open_costs, ended=ended, day=day, running=running)
            return await self._commit_connection.run(told)

    async def contents(self, session_id: SessionId, hashes: Collection[str]) -> Mapping[str, str]:
        """Return the texts of these hashes; unknown hashes are left out."""
        query = reads.rows_of(LLM_CONTENT, session_id).where(LLM_CONTENT.c.hash == func.any_(list(hashes)))
        return {row.hash: row.text for row in await self._database.rows(query)}

    async def contents_after(self, session_id: SessionId, hash: str, *, most: int) -> Sequence[Content]:
        """Return the next contents by their hashes; see `CallStore.contents_after`."""
        query = reads.rows_of(LLM_CONTENT, session_id).where(LLM_CONTENT.c.hash > hash)
        rows = await self._database.rows(query.order_by(LLM_CONTENT.c.hash).limit(most))
        return [Content(row.hash, row.text) for row in rows]
