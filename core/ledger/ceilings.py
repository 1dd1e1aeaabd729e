"""Ceilings: how much a chapter, or a day, may cost before the GM is asked (design 18)."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from decimal import ROUND_CEILING, Decimal
from typing import Final, Protocol

from core.domain.clock import Clock
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import ArtifactId, RequestId, SessionId
from core.domain.requests.cost import FREE
from core.domain.requests.request import Request
from core.ledger.prices import plain
from core.ledger.sums import dollars

CHAPTER: Final = "chapter"
DAY: Final = "day"
_WHEN: Final = {CHAPTER: "in this chapter", DAY: "today"}
_ONE: Final = Decimal(1)


@dataclass(frozen=True, slots=True)
class Ceilings:
    """US dollars that may be spent without asking; None sets no ceiling."""

    chapter: Decimal | None = None
    day: Decimal | None = None

    def __bool__(self) -> bool:
        return self.chapter is not None or self.day is not None


class Spent(Protocol):
    """Sums the stored costs; see `SessionStore.spent`."""

    async def __call__(
        self,
        session_id: SessionId | None = None,
        *,
        since: datetime | None = None,
        but_for: Collection[ArtifactId] = (),
    ) -> Decimal:
        """Return what calls cost together, as far as it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A call that was refused: it could have passed a ceiling."""

    request_id: RequestId
    what: str
    """`chapter` or `day`."""
    limit: Decimal
    """The current limit, in US dollars."""
    spent: Decimal
    forecast: Decimal
    """Maximum cost of the call, with those that follow it."""
    replies: int = 1
    """Number of calls that this is about: all replies to one prompt."""
    next_limit: Decimal
    """The limit once the GM has agreed to go on."""

    @property
    def sentence(self) -> str:
        """The refusal and its reason."""
        what, they = ("This call", "it") if self.replies == 1 else (f"These {self.replies} replies", "they")
        return (
            f"{what} may cost up to {dollars(self.forecast)}. With the {dollars(self.spent)} spent "
            f"{_WHEN[self.what]}, {they} could pass your ceiling of {dollars(self.limit)}; nothing was sent."
        )


@dataclass(frozen=True, slots=True)
class _Entry:
    """A call that runs at its forecast, or that has ended at its cost and may not be stored yet."""

    session_id: SessionId
    attempt: tuple[RequestId, int]
    is_background: bool
    amount: Decimal
    ended: datetime | None = None
    """None while it runs."""


@dataclass(slots=True)
class CeilingGuard:
    """Refuses a call that could pass a ceiling, until the GM has agreed to go on.

    The calls of all chapters of this window are counted while they run and until they are stored, so that two
    of them cannot pass a ceiling together. Agreement lasts until the program ends.
    """

    ceilings: Ceilings
    spent: Spent
    clock: Clock
    _entries: dict[ArtifactId, _Entry] = field(default_factory=dict)
    _limits: dict[object, Decimal] = field(default_factory=dict)
    """Limits that the GM has agreed to, by session and by day."""
    _stored: dict[object, Decimal] = field(default_factory=dict)
    """The largest stored sum of a day: what is purged was paid for all the same."""
    _reached: dict[SessionId, tuple[object, Reached]] = field(default_factory=dict)
    """Refused calls of the play, which the GM is asked about; work beside it goes without."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a call is checked, until it is counted."""

    async def admit(
        self, request: Request, artifact_id: ArtifactId, forecast: Decimal | None, *, replies: int = 1
    ) -> None:
        """Count a call that is about to begin; raise StoryEngineError with CEILING_REACHED instead.

        `forecast` is of so many replies to one prompt, of which this call is the next. A call whose price is
        unknown counts nothing. Raises StorageError.
        """
        amount = FREE if forecast is None else forecast
        async with self._turn:
            self._forget_stored(request)
            if amount > FREE:
                # Without an offset: that of now is not that of midnight on a day when the clocks change.
                midnight = datetime.combine(self.clock().astimezone().date(), time()).astimezone()
                asked = (amount, request, replies)
                await self._check(CHAPTER, self.ceilings.chapter, request.session_id, *asked)
                await self._check(DAY, self.ceilings.day, midnight.date(), *asked, midnight)
            if (known := self.reached(request.session_id)) is not None and known.request_id == request.id:
                del self._reached[request.session_id]
            attempt, is_background = (request.id, request.attempts), request.spec.is_background
            self._entries[artifact_id] = _Entry(request.session_id, attempt, is_background, amount)

    async def _check(
        self,
        what: str,
        ceiling: Decimal | None,
        key: object,
        forecast: Decimal,
        request: Request,
        replies: int,
        since: datetime | None = None,
    ) -> None:
        if ceiling is None:
            return
        of = request.session_id if what == CHAPTER else None
        mine = {
            id: entry
            for id, entry in self._entries.items()
            if of in (None, entry.session_id)
            and (since is None or entry.ended is None or entry.ended >= since)
        }
        spent = await self.spent(of, since=since, but_for=tuple(mine))
        if since is not None:
            spent = self._stored[key] = max(spent, self._stored.get(key, FREE))
        spent += sum((entry.amount for entry in mine.values()), FREE)
        limit = self._limits.get(key, ceiling)
        if spent + forecast <= limit:
            return
        steps = ((spent + forecast) / ceiling).quantize(_ONE, rounding=ROUND_CEILING)
        reached = Reached(
            request_id=request.id,
            what=what,
            limit=limit,
            spent=plain(spent),
            forecast=forecast,
            replies=replies,
            next_limit=plain(ceiling * steps),
        )
        if not request.spec.is_background:
            self._reached[request.session_id] = (key, reached)
        raise StoryEngineError(
            ErrorCode.CEILING_REACHED,
            reached.sentence,
            f"Raise `{what}` under [ceilings] in config.toml, or STORYENGINE_CEILINGS__{what.upper()}.",
        )

    def settle(self, artifact_id: ArtifactId, amount: Decimal | None) -> None:
        """Count a call that has ended at its cost; one of unknown cost counts nothing."""
        entry = self._entries.get(artifact_id)
        if entry is not None:
            self._entries[artifact_id] = replace(entry, amount=amount or FREE, ended=self.clock())

    def forget(self, artifact_id: ArtifactId) -> None:
        """Count a call no longer."""
        self._entries.pop(artifact_id, None)

    def _forget_stored(self, request: Request) -> None:
        """Forget the calls of earlier attempts in this session: an attempt is stored before the next.

        Those of work beside the play are stored before the next such work, and of the play before its next.
        """
        attempt, line = (request.id, request.attempts), (request.session_id, request.spec.is_background)
        self._entries = {
            id: entry
            for id, entry in self._entries.items()
            if (entry.session_id, entry.is_background) != line
            or entry.ended is None
            or entry.attempt == attempt
        }

    def reached(self, session_id: SessionId) -> Reached | None:
        """Return why a call of the play of a session was refused that was not made since; None for none."""
        found = self._reached.get(session_id)
        return None if found is None else found[1]

    def go_on(self, session_id: SessionId) -> None:
        """Raise the ceiling that was reached, as the GM has agreed."""
        found = self._reached.pop(session_id, None)
        if found is not None:
            self._limits[found[0]] = found[1].next_limit
