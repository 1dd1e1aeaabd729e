"""Forecasts the cost of an open session's next calls, and keeps the ceiling that one reached (design 18)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from core.agents.context_builder import Context, ContextBuilder
from core.domain.agent_role import AgentRole
from core.domain.bank.item import Item
from core.domain.errors import ErrorCode
from core.domain.requests.cost import FREE
from core.domain.requests.request import BackgroundRequest
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.engine.kinds.bank.extraction import scans_of
from core.engine.kinds.narrative import kept_quotes
from core.engine.recall.asking import RecallRequest
from core.engine.recall.reading import BankReader
from core.engine.sync.session_writer import SessionWriter
from core.gateway.model_gateway import ModelGateway
from core.ledger.ceilings import CeilingGuard, Reached
from core.ledger.sums import dollars
from core.storage.snapshot import Snapshot
from core.text.numbers import counted

MOST_LOOKED_AT: Final = 32
"""Parts whose inputs are made for the forecast of a reading; each may have the memory of a long chapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingForecast:
    """Cost of reading parts of a chapter, without the questions about the findings."""

    parts: int
    tokens: int
    """Of all inputs together."""
    amount: Decimal | None
    """US dollars at most; None where the price is unknown."""

    @property
    def question(self) -> str:
        """Question for the GM where this costs money."""
        return f"Keep a memory bank, and read {counted(self.parts, 'part')} of the chapter now?"

    @property
    def costs(self) -> str:
        """Parts, tokens and money, in sentences."""
        money = "the price of the model is unknown"
        if self.amount is not None:
            money = f"costs up to {dollars(self.amount)}"
        return (
            f"Reading {counted(self.parts, 'part')} sends about {self.tokens:,} tokens, and {money}. "
            "The findings are then compared with the items, which takes further calls."
        )


async def forecast_of_reading(
    gateway: ModelGateway,
    snapshot: Snapshot,
    canon: Sequence[Event],
    requests: Sequence[BackgroundRequest],
) -> ReadingForecast:
    """Return what it costs at most to read parts of a chapter, whose memory is known, for its memory bank.

    Of many parts some are looked at, from the first to the last, and stand for those beside them.
    """
    choices = gateway.choices.for_cast(snapshot.tab1.profiles)
    choice = choices[AgentRole.CONTEXT_SUMMARY]
    step = -(-len(requests) // MOST_LOOKED_AT) or 1
    looked_at = requests[::step]

    def made() -> list[Context]:
        return [one for request in looked_at for one in scans_of(snapshot, request, choice, canon)]

    contexts = await asyncio.to_thread(made)
    amounts = [await gateway.forecast(context, choices=choices) for context in contexts]
    known = [amount for amount in amounts if amount is not None]
    share = Decimal(len(requests)) / (len(looked_at) or 1)
    return ReadingForecast(
        parts=len(requests),
        tokens=round(sum(context.tokens for context in contexts) * share),
        amount=sum(known, FREE) * share if len(known) == len(amounts) else None,
    )


@dataclass(eq=False)
class Money:
    """Forecasts and ceilings of one session. Forecasts are of the very inputs that would be sent."""

    _writer: SessionWriter
    _builder: ContextBuilder
    _gateway: ModelGateway
    _guard: CeilingGuard | None
    _bank: BankReader
    _spend_more: Callable[[], None]
    """Takes up the work beside the play that a ceiling refused."""

    @property
    def reached(self) -> Reached | None:
        """The call that was refused because it could pass a ceiling, where it still waits for the GM."""
        snapshot = self._writer.snapshot
        found = None if self._guard is None else self._guard.reached(snapshot.session.id)
        refused = {one.id for one in snapshot.requests if one.error_code is ErrorCode.CEILING_REACHED}
        return found if found is not None and found.request_id in refused else None

    def go_on(self) -> None:
        """Raise the ceiling that was reached, as the GM has agreed."""
        if self._guard is not None:
            self._guard.go_on(self._writer.snapshot.session.id)
            self._spend_more()

    async def of_prompt(self, slot: Slot, text: str, then: Sequence[Slot] = ()) -> Decimal | None:
        """Return what a prompt costs at most, with the replies of all who are called; None if unknown.

        Raises StoryEngineError when the input does not fit, and StorageError.
        """
        snapshot = await self._writer.know_memory(is_patient=False)
        profiles = snapshot.tab1.profiles
        await self._gateway.look_up_models(profiles)
        choices = self._gateway.choices.for_cast(profiles)
        builder = self._builder.for_chapter(snapshot.prompt_blocks, profiles)
        # By words alone: a service that makes vectors is not asked for a forecast.
        asked = RecallRequest(text=text, recent_from=builder.recent_from(snapshot.session))
        banks = [(one, await self._bank.read(snapshot, one, asked)) for one in (slot, *then)]
        called = [snapshot.known_to(one, bank) for one, bank in banks]
        contexts = await asyncio.to_thread(lambda: [builder.character(known, text) for known in called])
        return await self._gateway.forecast(*contexts, choices=choices)

    async def of_build(self) -> Decimal | None:
        """Return what the chapter's text costs at most, all parts together; None if that is unknown.

        Each part is given the end of the one before, which is not written yet and is left out here. Raises
        StoryEngineError when the input does not fit, and StorageError.
        """
        snapshot = self._writer.snapshot
        session_id = snapshot.session.id
        events, blocks = (
            await self._writer.store.canon(session_id),
            await self._writer.store.blocks(session_id),
        )
        quotes = await kept_quotes(self._writer.store.bank, snapshot.session)
        contexts = await asyncio.to_thread(self._parts, snapshot, events, blocks, quotes)
        total = FREE
        for context in contexts:
            forecast = await self._gateway.forecast(context, choices=self._gateway.choices)
            if forecast is None:
                return None
            total += forecast
        return total

    async def of_reading(self, requests: Sequence[BackgroundRequest]) -> ReadingForecast:
        """Return what it costs at most to read parts of the chapter for its memory bank."""
        snapshot = await self._writer.know_memory(is_patient=False)
        canon = await self._writer.store.canon(snapshot.session.id)
        return await forecast_of_reading(self._gateway, snapshot, canon, requests)

    def _parts(
        self,
        snapshot: Snapshot,
        events: Sequence[Event],
        blocks: Sequence[MemoryBlock],
        quotes: Sequence[Item],
    ) -> list[Context]:
        session = snapshot.session
        knowledge = snapshot.chapter_known_to(None, blocks, events, quotes)
        builder = self._builder.with_prompt_blocks(snapshot.prompt_blocks)
        plan = builder.plan_narrative(knowledge, session.definition, session.target_words)
        return [builder.narrative_part(knowledge, part, session.definition) for part in plan]
