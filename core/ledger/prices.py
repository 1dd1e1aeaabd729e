"""Prices of models, the GM's own before those of the library, and what calls cost by them (design 18)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from core.config.models.accounts import labelled
from core.domain.requests.cost import FREE, LOCAL, PROVIDER, YOURS, Cost, UnitPrices
from core.domain.requests.request import Usage
from core.ledger.price_list import kept_prices

_ONE: Final = Decimal(1)
_MILLION: Final = 6
"""Prices are for ten to the power of this many tokens."""


def amount_of(usage: Usage, prices: UnitPrices) -> Decimal | None:
    """Return the cost in US dollars; None where the tokens were not reported.

    Input tokens include the cached ones, and output tokens include those for reasoning. A part that is said
    to be larger than the whole counts as the whole.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    reasoned = min(usage.reasoning_tokens or 0, usage.output_tokens)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    reasoning_price = prices.output if prices.reasoning is None else prices.reasoning
    total = (
        (usage.input_tokens - cached) * prices.input
        + cached * cached_price
        + (usage.output_tokens - reasoned) * prices.output
        + reasoned * reasoning_price
    )
    return plain(total.scaleb(-_MILLION))


def plain(amount: Decimal) -> Decimal:
    """Return an amount without zeros at its end, and without an exponent: equal ones are written alike."""
    normal = amount.normalize()
    return normal.quantize(_ONE) if normal == normal.to_integral_value() else normal


@dataclass(frozen=True, slots=True)
class Quote:
    """The prices of a model, and who says so."""

    source: str
    prices: UnitPrices | None = None
    """None for a model of this machine, which costs nothing."""

    def cost(self, usage: Usage) -> Cost:
        """Return what a call cost that used so many tokens."""
        if self.prices is None:
            return Cost(amount=FREE, source=self.source)
        return Cost(amount=amount_of(usage, self.prices), source=self.source, prices=self.prices)


ON_THIS_MACHINE = Quote(LOCAL)


class PriceBook:
    """Looks up what models cost. `own` are the GM's prices by `account:model`, as models are chosen."""

    def __init__(self, own: Mapping[str, UnitPrices] | None = None) -> None:
        self._own = {name.lower(): prices for name, prices in (own or {}).items()}

    def own(self, account: str, model: str) -> UnitPrices | None:
        """Return the GM's own prices of a model."""
        return self._own.get(labelled(account, model).lower()) if self._own else None

    async def quote(
        self,
        address: str | None,
        account: str,
        models: tuple[str, ...],
        at: datetime,
        input_tokens: int,
        max_output_tokens: int,
    ) -> Quote | None:
        """Return what the first of `models` with known prices costs; None where none has any.

        `address` is where the text goes; None when it stays on this machine. The GM's own prices count there
        too: a proxy on this machine may lead to a service that is paid.
        """
        for model in models:
            if own := self.own(account, model):
                return Quote(YOURS, own)
        if address is None:
            return ON_THIS_MACHINE
        for model in models:
            kept = await asyncio.to_thread(kept_prices, address, model, at, input_tokens, max_output_tokens)
            if kept is not None:
                return Quote(kept[1], kept[0])
        return None


def cost_of(quote: Quote | None, usage: Usage, billed: Decimal | None) -> Cost | None:
    """Return what a call cost: what the service itself billed, else what its tokens cost; None if unknown."""
    computed = None if quote is None else quote.cost(usage)
    if billed is None or quote is ON_THIS_MACHINE:
        return computed
    if computed is None:
        return Cost(amount=plain(billed), source=PROVIDER)
    # The prices stay with the call: they say what it would have cost by the list.
    return replace(computed, amount=plain(billed), source=PROVIDER)


def forecast_of(quote: Quote | None, input_tokens: int, max_output_tokens: int) -> Decimal | None:
    """Return what a call costs at most, with all of its room used; None if unknown.

    Each token counts at its highest price. The input is estimated, rather too long than too short.
    """
    if quote is None:
        return None
    if quote.prices is None:
        return FREE
    prices = quote.prices
    dearest = UnitPrices(
        input=max(prices.input, prices.cached_input or FREE),
        output=max(prices.output, prices.reasoning or FREE),
    )
    return amount_of(Usage(input_tokens=input_tokens, output_tokens=max_output_tokens), dearest)
