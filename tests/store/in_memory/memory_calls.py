"""The record of calls of a store in memory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from core.domain.ids import ArtifactId, RequestId, SessionId
from core.domain.requests.cost import FREE
from core.domain.requests.request import Artifact, Content, Request, total_cost
from core.domain.requests.request_kinds import RequestKind
from tests.store.in_memory.memory_database import MemoryDatabase, give_way


@dataclass(eq=False)
class MemoryCalls:
    """One window's `CallStore`."""

    database: MemoryDatabase

    async def requests(self, session_id: SessionId, *, kind: RequestKind | None = None) -> Sequence[Request]:
        requests = (await self.database.found(session_id)).requests.values()
        wanted = (request for request in requests if kind in (None, request.kind))
        return sorted(wanted, key=lambda request: request.id)

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
        rows = await self.database.found(session_id)
        artifacts = rows.artifacts.values()
        chosen = [
            artifact
            for artifact in sorted(artifacts, key=lambda artifact: artifact.id)
            if request_id in (None, artifact.request_id)
            and agent_id in (None, artifact.agent_id)
            and kind in (None, rows.requests[artifact.request_id].kind)
            and input_hash in (None, artifact.input_hash)
        ]
        return chosen if newest is None else chosen[len(chosen) - min(newest, len(chosen)) :]

    async def spent(
        self,
        session_id: SessionId | None = None,
        *,
        since: datetime | None = None,
        but_for: Collection[ArtifactId] = (),
    ) -> Decimal:
        await give_way()
        chosen = [rows for id, rows in self.database.sessions.items() if session_id in (None, id)]
        artifacts = {artifact.id: artifact for rows in chosen for artifact in rows.artifacts.values()}
        others = [artifact for artifact in artifacts.values() if artifact.id not in but_for]
        return total_cost([artifact for artifact in others if since is None or artifact.created_at >= since])

    async def tell_open_costs(self, ended: Decimal, day: date, running: Decimal = FREE) -> Decimal:
        await give_way()
        told, me = self.database.open_costs, id(self)
        told[me] = ended, running, day
        others = [amounts for window, amounts in told.items() if window != me]
        return sum((running + (ended if on == day else FREE) for ended, running, on in others), FREE)

    async def contents(self, session_id: SessionId, hashes: Collection[str]) -> Mapping[str, str]:
        contents = (await self.database.found(session_id)).contents
        return {key: contents[key] for key in hashes if key in contents}

    async def contents_after(self, session_id: SessionId, hash: str, *, most: int) -> Sequence[Content]:
        contents = (await self.database.found(session_id)).contents
        return [Content(key, contents[key]) for key in sorted(contents) if key > hash][:most]
