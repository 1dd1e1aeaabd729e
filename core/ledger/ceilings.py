"""Ceilings: how much a chapter, or a day, may cost before the GM is asked (design 18)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import ROUND_CEILING, Decimal
from typing import Final

from core.domain.clock import Clock
from core.domain.errors import ErrorCode, StorageError, StoryEngineError
from core.domain.ids import ArtifactId, RequestId, SessionId
from core.domain.requests.cost import FREE
from core.domain.requests.request import Artifact, Request
from core.ledger.prices import plain
from core.ledger.spending import CountedCall, Spending
from core.ledger.sums import dollars

log = logging.getLogger(__name__)

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


Spent = Callable[..., Awaitable[Decimal]]
"""Sums the stored costs; see `CallStore.spent`."""
TellOthers = Callable[[Decimal, date, Decimal], Awaitable[Decimal]]
"""Exchanges what calls may cost that are not stored yet; see `CallStore.tell_open_costs`."""


async def no_others(*_: object) -> Decimal:
    """Return that calls of other windows cost nothing."""
    return FREE


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A call that was refused: it could have passed a ceiling, or one is passed and its price is unknown."""

    request_id: RequestId
    what: str
    """`chapter` or `day`."""
    limit: Decimal
    """The current limit, in US dollars."""
    spent: Decimal
    uncertain: Decimal
    """Maximum cost of calls that run, or that have not told their cost."""
    forecast: Decimal | None
    """Maximum cost of the call, with those that follow it; None where that is unknown."""
    replies: int = 1
    """Number of calls that this is about: all replies to one prompt."""
    next_limit: Decimal
    """The limit once the GM has agreed to go on."""

    @property
    def sentence(self) -> str:
        """The refusal and its reason."""
        spent, ceiling = f"the {dollars(self.spent)} spent {_WHEN[self.what]}", dollars(self.limit)
        if self.uncertain:
            spent += f", and up to {dollars(self.uncertain)} for calls that run or have not told their cost"
        if self.forecast is None:
            return (
                f"The price of this call is unknown, and with {spent}, your ceiling of {ceiling} is passed; "
                "nothing was sent."
            )
        what, they = ("This call", "it") if self.replies == 1 else (f"These {self.replies} replies", "they")
        return (
            f"{what} may cost up to {dollars(self.forecast)}. With {spent}, {they} could pass your ceiling "
            f"of {ceiling}; nothing was sent."
        )


@dataclass(frozen=True, slots=True)
class _Open:
    """The amounts of calls that are not stored yet, or have not told their cost."""

    running: Decimal = FREE
    """They may end on another day, on which they count then."""
    ended: Decimal = FREE
    day: date | None = None
    """The day on which calls have ended; None where none has."""


@dataclass(slots=True)
class CeilingGuard:
    """Refuses a call that could pass a ceiling, until the GM has agreed to go on.

    The calls of all chapters of this window are counted while they run and until they are stored, so that two
    of them cannot pass a ceiling together; other windows are told. Agreement lasts until the program ends, as
    does the count of a call that has not told its cost.
    """

    ceilings: Ceilings
    spent: Spent
    clock: Clock
    tell_others: TellOthers = no_others
    _spending: Spending = field(default_factory=Spending)
    _reached: dict[SessionId, tuple[object, Reached]] = field(default_factory=dict)
    """Refused calls of the play, which the GM is asked about; work beside it goes without."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a call is checked, until it is counted, and while other windows are told."""
    _told: _Open | None = _Open()
    """The amounts that other windows know of; None where that is uncertain."""
    _telling: asyncio.Task[None] | None = None

    async def admit(
        self, request: Request, artifact_id: ArtifactId, forecasts: Sequence[Decimal | None]
    ) -> None:
        """Count a call that is about to begin; raise StoryEngineError with CEILING_REACHED instead.

        `forecasts` are of the call and of those that follow it, as further replies to a prompt. What costs
        nothing is not checked; what has no known price is refused where a ceiling is passed already. Raises
        StorageError.
        """
        known = [amount for amount in forecasts if amount is not None]
        forecast = sum(known, FREE) if known else None
        entry = CountedCall(request.session_id, amount=forecast or FREE, most=forecasts[0] or FREE)
        if forecast == FREE:  # it waits for nothing, and is counted: what answers may have a price after all
            self._count(request, artifact_id, entry)
            return
        async with self._turn:
            try:
                asked = (forecast, request, len(forecasts))
                await self._check(CHAPTER, self.ceilings.chapter, request.session_id, *asked)
                await self._check(DAY, self.ceilings.day, self._midnight().date(), *asked)
            except BaseException:  # cancelled too: other windows may know of a cost that does not come now
                self.tell_soon()
                raise
            self._count(request, artifact_id, entry)

    def _count(self, request: Request, artifact_id: ArtifactId, entry: CountedCall) -> None:
        if (reached := self.reached(request.session_id)) and reached.request_id == request.id:
            del self._reached[request.session_id]
        self._spending.entries[artifact_id] = entry

    async def _check(
        self,
        what: str,
        ceiling: Decimal | None,
        key: object,
        forecast: Decimal | None,
        request: Request,
        replies: int,
    ) -> None:
        if ceiling is None:
            return
        amount = forecast or FREE
        mine = self._counted(request.session_id if what == CHAPTER else None)
        certain = sum((one.amount for one in mine.values() if one.is_known), FREE)
        uncertain = sum((one.amount for one in mine.values() if not one.is_known), FREE)
        if what == CHAPTER:
            stored = await self.spent(request.session_id, but_for=tuple(mine))
        else:
            # Others first: what they store meanwhile is then counted twice at most, and never left out.
            uncertain += await self._tell(amount)
            before = self._spending.stored.get(key, FREE)
            found = await self.spent(None, since=self._midnight(), but_for=tuple(mine))
            stored = max(found, before)
            self._spending.stored[key] = max(stored, self._spending.stored.get(key, FREE))
        spent = stored + certain + uncertain
        limit = self._limit(key, ceiling)
        if spent + amount <= limit:
            return
        steps = ((spent + amount) / ceiling).quantize(_ONE, rounding=ROUND_CEILING)
        reached = Reached(
            request_id=request.id,
            what=what,
            limit=limit,
            spent=plain(stored + certain),
            uncertain=plain(uncertain),
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

    def _midnight(self) -> datetime:
        # Without an offset: that of now is not that of midnight on a day when the clocks change.
        return datetime.combine(self.clock().astimezone().date(), time()).astimezone()

    def _counted(self, session_id: SessionId | None) -> dict[ArtifactId, CountedCall]:
        """Return the calls of a session, or those of today, that are counted here."""
        since = None if session_id else self._midnight()
        return {
            id: entry
            for id, entry in self._spending.entries.items()
            if session_id in (None, entry.session_id)
            and (since is None or entry.ended is None or entry.ended >= since)
        }

    def settle(self, artifact_id: ArtifactId, amount: Decimal | None) -> None:
        """Count a call that has ended at its cost; None where it has not told that."""
        entry = self._spending.entries.get(artifact_id)
        if entry is not None:
            cost, is_known = (entry.most, False) if amount is None else (amount, True)
            ended = replace(entry, amount=cost, is_known=is_known, ended=self.clock())
            self._spending.entries[artifact_id] = ended
            if not is_known:  # it counts until the program ends, and on this day alone
                self.tell_soon()

    def forget(self, artifact_id: ArtifactId) -> None:
        """Count a call no longer."""
        self._spending.entries.pop(artifact_id, None)
        self.tell_soon()

    def forget_stored(self, artifacts: Sequence[Artifact]) -> None:
        """Count calls no longer that are stored now, but for those that have not told their cost."""
        for id in {one.id for one in artifacts}:
            entry = self._spending.entries.get(id)
            if entry is not None and entry.ended and (entry.is_known or not entry.amount):
                day = entry.ended.astimezone().date()
                self._spending.stored[day] = self._spending.stored.get(day, FREE) + entry.amount
                self.forget(id)

    def tell_soon(self) -> None:
        """Tell other windows what calls of this one may cost now, where that has changed."""
        if self.ceilings.day is not None and self._telling is None:
            self._telling = asyncio.create_task(self._tell_changes(), name="tell open costs")

    async def _tell_changes(self) -> None:
        try:
            async with self._turn:
                while self._open() != self._told:
                    await self._tell()
        except StorageError as error:
            log.warning("other windows could not be told of open costs", exc_info=error)
        finally:
            self._telling = None

    def _open(self, more: Decimal = FREE) -> _Open:
        entries = self._counted(None).values()
        ended = sum((entry.amount for entry in entries if entry.ended), FREE)
        running = sum((entry.amount for entry in entries if not entry.ended), more)
        return _Open(running, ended, self._midnight().date() if ended else None)

    async def _tell(self, more: Decimal = FREE) -> Decimal:
        """Tell other windows what is open, with `more` of a call that is about to begin; return theirs."""
        told = self._open(more)
        self._told = None  # until the answer is here: its wait may be cancelled
        of_others = await self.tell_others(told.ended, self._midnight().date(), told.running)
        self._told = told
        return of_others

    def reached(self, session_id: SessionId) -> Reached | None:
        """Return why a call of the play of a session was refused that was not made since; None for none."""
        found = self._reached.get(session_id)
        return None if found is None else found[1]

    def told(self, session_id: SessionId | None) -> tuple[str, ...]:
        """Return the ceilings of a session, or of all together, with the limits that were agreed to."""
        set_for: dict[str, tuple[Decimal | None, object]] = {
            DAY: (self.ceilings.day, self._midnight().date())
        }
        if session_id is not None:
            set_for = {CHAPTER: (self.ceilings.chapter, session_id), **set_for}
        limits = {what: self._limit(key, ceiling or FREE) for what, (ceiling, key) in set_for.items()}
        return tuple(
            f"{dollars(ceiling)} {_WHEN[what]}"
            + (f" ({dollars(limits[what])} until you quit)" if limits[what] > ceiling else "")
            for what, (ceiling, _) in set_for.items()
            if ceiling is not None
        )

    def _limit(self, key: object, ceiling: Decimal) -> Decimal:
        """Return what may be spent; the setting may have become more than the GM had agreed to."""
        return max(ceiling, self._spending.limits.get(key, ceiling))

    def go_on(self, session_id: SessionId) -> None:
        """Raise the ceiling that was reached, as the GM has agreed."""
        found = self._reached.pop(session_id, None)
        if found is not None:
            self._spending.limits[found[0]] = found[1].next_limit

    async def aclose(self) -> None:
        """Tell nothing any more."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.wait({self._telling})
