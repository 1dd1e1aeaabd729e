"""The Protocol of the requests of chapters and of the calls that were made for them; `db` implements it."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Protocol

from core.domain.ids import ArtifactId, RequestId, SessionId
from core.domain.requests.cost import FREE
from core.domain.requests.request import Artifact, Content, Request
from core.domain.requests.request_kinds import RequestKind


class CallStore(Protocol):
    """The record of calls, which `SessionStore.commit` adds to. Every method raises `StorageError`."""

    async def requests(self, session_id: SessionId, *, kind: RequestKind | None = None) -> Sequence[Request]:
        """Return every request, or every one of a kind, oldest first, whatever its state."""

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
        """Return the artifacts of a session, of one request, one agent or one kind of request, oldest first.

        `input_hash` limits them to those of one input. `newest` limits them to that many, the last ones.
        """

    async def spent(
        self,
        session_id: SessionId | None = None,
        *,
        since: datetime | None = None,
        but_for: Collection[ArtifactId] = (),
    ) -> Decimal:
        """Return what calls cost together as far as it is known, in US dollars.

        Those of one session, or of all; from a time on; without the ones in `but_for`.
        """

    async def tell_open_costs(self, ended: Decimal, day: date, running: Decimal = FREE) -> Decimal:
        """Tell other windows what calls of this one may cost that are not stored yet; return theirs together.

        Those that have ended count on this day alone, those that run on any: they may end on the next one.
        They count until the next amounts, or until this window ends in any way.
        """

    async def contents(self, session_id: SessionId, hashes: Collection[str]) -> Mapping[str, str]:
        """Return the texts of these hashes."""

    async def contents_after(self, session_id: SessionId, hash: str, *, most: int) -> Sequence[Content]:
        """Return at most that many of the contents of a session that follow `hash`, by their hashes."""
