"""Forecasts the cost of a call before it is made, and computes it afterwards (design 18)."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from core.config.models.accounts import labelled
from core.config.models.model_config import ModelConfig
from core.context.segments import Context
from core.context.tokens import estimate_tokens
from core.domain.clock import Clock
from core.domain.ids import ArtifactId
from core.domain.requests.cost import FREE, Cost
from core.domain.requests.request import Artifact, Request
from core.ledger.ceilings import CeilingGuard
from core.ledger.prices import PriceBook, Quote, cost_of, dearest_of, forecast_of
from core.ledger.sums import may_have_cost

log = logging.getLogger(__name__)


_MOST_NAMES: Final = 8
"""Names that are remembered of a model, the last ones: a router may answer under any number of them."""

Following = Callable[[], Sequence[tuple[Context, ModelConfig]]]
"""Makes the inputs of the calls that follow one, as further replies to a prompt. Slow; any thread may ask."""


def nothing_follows() -> tuple[()]:
    """Return that no call follows."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call that is about to be made, or that follows it; no address means this machine."""

    account: str
    model: str
    address: str | None
    tokens: int
    """Of its input, as they are estimated."""
    max_input_tokens: int
    max_output_tokens: int

    @classmethod
    def of(cls, context: Context, choice: ModelConfig, address: str | None) -> "PlannedCall":
        """Return the call of an agent with this input, and with the form of its answer beside it."""
        form = 0 if context.schema is None else estimate_tokens(json.dumps(context.schema.schema))
        return cls(
            account=choice.account,
            model=choice.model,
            address=address,
            tokens=context.tokens + form,
            max_input_tokens=context.max_input_tokens + form,
            max_output_tokens=choice.max_output_tokens,
        )


class Cashier:
    """Prices calls. Without `prices` every cost is unknown; without `ceilings` every call may be made."""

    def __init__(self, prices: PriceBook | None, ceilings: CeilingGuard | None, clock: Clock) -> None:
        self._prices = prices
        self._ceilings = ceilings
        self._clock = clock
        self._loading: asyncio.Task[Quote | None] | None = None
        self._heard: dict[tuple[str, str], tuple[str, ...]] = {}
        """The names under which models have answered, by account and by the name that was asked for."""

    async def admit(
        self,
        call: PlannedCall,
        following: Callable[[], Awaitable[Sequence[PlannedCall]]],
        request: Request,
        id: ArtifactId,
    ) -> None:
        """Refuse a call that could pass a ceiling, alone or with the calls that follow it.

        Raises StoryEngineError with CEILING_REACHED, and StorageError. Without a ceiling it does not wait for
        the prices, which are slow to load at first: that is done while the model answers.
        """
        if self._prices is None:
            return
        if self._ceilings is not None:
            calls = [call, *await following()]
            await self._ceilings.admit(request, id, await self.forecasts(calls))
        elif self._loading is None and self._is_priced(call):
            self._loading = asyncio.create_task(self._quote(call, call.tokens))

    def _is_priced(self, call: PlannedCall) -> bool:
        prices, names = self._prices, (*self._names(call), call.model)
        return call.address is not None or any(prices and prices.own(call.account, one) for one in names)

    def _names(self, call: PlannedCall) -> tuple[str, ...]:
        """Return the names under which the model may answer: as it did before, or else as it may be dated."""
        if heard := self._heard.get((call.account, call.model)):
            return heard
        dated = self._prices.dated(call.account, call.model) if self._prices else ()
        return (call.model, *dated)

    def _hear(self, call: PlannedCall, answered: str) -> None:
        known = self._heard.get((call.account, call.model), ())
        names = dict.fromkeys((answered, *known))
        self._heard[call.account, call.model] = tuple(names)[:_MOST_NAMES]

    async def forecasts(self, calls: Sequence[PlannedCall]) -> list[Decimal | None]:
        """Return what each of these calls costs at most; None where its price is unknown.

        Each is given the answers of those before it, which may be as long as they can be.
        """
        amounts: list[Decimal | None] = []
        said = 0
        for call in calls:
            tokens = min(call.tokens + said, max(call.tokens, call.max_input_tokens))
            quote = await self._quote(call, tokens)
            amounts.append(forecast_of(quote, tokens, call.max_output_tokens))
            said += call.max_output_tokens
        return amounts

    async def cost(
        self,
        artifact: Artifact,
        call: PlannedCall,
        answered: str,
        billed: Decimal | None,
        *,
        is_begun: bool = False,
    ) -> Cost | None:
        """Return what a call cost that was made; None if that is unknown.

        `answered` is the name that the model gave itself; empty where it gave none. A call whose model
        `is_begun` may have cost something without a word of an answer.
        """
        if answered:
            self._hear(call, answered)
        try:
            if self._loading is not None:
                await asyncio.shield(self._loading)  # for all calls: a cancelled one must not end it
            tokens = artifact.usage.input_tokens
            quote = await self._quote(call, call.tokens if tokens is None else tokens, answered)
        except BaseException:  # cancelled: it is not written down, so nothing would settle it
            self.forget(artifact.id)
            raise
        cost = None if self._prices is None else cost_of(quote, artifact.usage, billed)
        if self._ceilings is not None:
            amount = cost.amount if cost else None
            if amount is None and not (is_begun or may_have_cost(artifact)):
                amount = FREE
            self._ceilings.settle(artifact.id, amount)
        return cost

    def forget(self, id: ArtifactId) -> None:
        """Count a call no longer that ended without an artifact."""
        if self._ceilings is not None:
            self._ceilings.forget(id)

    async def _quote(self, call: PlannedCall, input_tokens: int, answered: str = "") -> Quote | None:
        """Return the prices of a call, before it and after it: of several names it may have, the dearest."""
        if self._prices is None:
            return None
        room = input_tokens, call.max_output_tokens
        quotes = []
        try:
            for name in (answered,) if answered else self._names(call):
                models = tuple(dict.fromkeys((name, call.model)))
                quotes.append(
                    await self._prices.quote(call.address, call.account, models, self._clock(), *room)
                )
        except Exception:  # of a library: an answer that was paid for is kept, at an unknown cost
            log.exception("the price of %s could not be looked up", labelled(call.account, call.model))
            return None  # the name that could not be looked up may be the dearest
        return dearest_of(quotes, *room)
