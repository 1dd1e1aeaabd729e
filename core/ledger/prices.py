"""Prices of models, the GM's own before those of the library, and what calls cost by them (design 18)."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from core.config.models.accounts import labelled
from core.domain.requests.cost import FREE, LOCAL, PROVIDER, YOURS, Cost, UnitPrices, is_amount
from core.domain.requests.request import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

log = logging.getLogger(__name__)
_ONE: Final = Decimal(1)
_DATED: Final = re.compile(r"[-@][0-9][0-9-]*")
"""Ending that a service may put behind the name of a model that it answers with, as `-2026-01`."""
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

    def dated(self, account: str, model: str) -> tuple[str, ...]:
        """Return the names with prices of the GM's own that are this model's with a date or a number behind.

        Services answer under such names where the model alone is asked for.
        """
        asked = labelled(account, model).lower()
        behind = [name.removeprefix(asked) for name in self._own if name.startswith(asked)]
        return tuple(model + one for one in behind if _DATED.fullmatch(one))

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


def dearest_of(quotes: Sequence[Quote | None], input_tokens: int, max_output_tokens: int) -> Quote | None:
    """Return the prices by which a call may cost the most; None if none are known."""
    known = [quote for quote in quotes if quote is not None]
    most = [forecast_of(quote, input_tokens, max_output_tokens) or FREE for quote in known]
    return known[most.index(max(most))] if known else None


def kept_prices(
    address: str, model: str, at: datetime, input_tokens: int, max_output_tokens: int
) -> tuple[UnitPrices, str] | None:
    """Return the library's prices of a model at that time, and its name and version; None if unknown.

    A model of vectors, which writes no tokens, needs no price for them. Some services have other prices for
    long inputs, so the number of input tokens decides too. Nothing
    is fetched. Call it in a thread: the import takes a third of a second, and the first lookup as long again.
    """
    import genai_prices

    try:
        # The usage only has to be one that the library can count: of its answer only the prices are used.
        found = genai_prices.calc_price(
            genai_prices.Usage(), model, provider_api_url=address, genai_request_timestamp=at
        )
    except LookupError:
        return None
    except ValueError:
        log.warning("the library of prices has none that can be used for %s", model, exc_info=True)
        return None
    prices = _unit_prices(found.model_price, input_tokens, max_output_tokens)
    return None if prices is None else (prices, f"genai-prices {genai_prices.__version__}")


def _unit_prices(kept: "ModelPrice", input_tokens: int, max_output_tokens: int) -> UnitPrices | None:
    """Return the prices of tokens; None for a model that is paid for otherwise too, by call or by minute."""
    read = {
        name: _price(getattr(kept, key), input_tokens)
        for name, key in (
            ("input", "input_mtok"),
            ("output", "output_mtok"),
            ("cached_input", "cache_read_mtok"),
            ("reasoning", "output_reasoning_mtok"),
        )
    }
    if read["input"] is None or kept.requests_kcount is not None:
        return None
    if read["output"] is None and max_output_tokens:
        return None
    if any(price is not None and not is_amount(price) for price in read.values()):
        return None
    return UnitPrices(
        input=read["input"],
        output=read["output"] or FREE,
        cached_input=read["cached_input"],
        reasoning=read["reasoning"],
    )


def _price(kept: object, input_tokens: int) -> Decimal | None:
    """Return a price; of one that depends on the length of the input, the one for that length."""
    from genai_prices.types import TieredPrices

    if isinstance(kept, TieredPrices):
        beyond = [tier.price for tier in kept.tiers if input_tokens > tier.start]
        return beyond[-1] if beyond else kept.base
    return kept if isinstance(kept, Decimal) else None
