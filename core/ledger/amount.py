"""Computes the exact cost of tokens at given prices."""

from decimal import Decimal
from typing import Final

from core.domain.requests.cost import UnitPrices
from core.domain.requests.request import Usage

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
