"""Amounts of money: as they are read, and the maximum of a call before it is made (design 18)."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from core.domain.requests.cost import FREE
from core.domain.requests.request import Usage
from core.ledger.prices import Quote
from core.ledger.sums import Sum

NO_CALL: Final = "No model has been called yet."
_CENT: Final = Decimal("0.01")
_SMALL: Final = Decimal("0.0001")


def dollars(amount: Decimal) -> str:
    """Return an amount such as `$0.31`; one below a cent has four decimals, and is not shown as nothing."""
    if amount == 0 or amount >= _CENT:
        return f"${amount.quantize(_CENT, rounding=ROUND_HALF_UP):,f}"
    if amount >= _SMALL:
        return f"${amount.quantize(_SMALL, rounding=ROUND_HALF_UP):f}"
    return f"<${_SMALL:f}"


def total_text(total: Sum) -> str:
    """Return what calls cost together, such as `$0.31 and 3 calls of unknown price`."""
    known = total.calls - total.unknown
    beside = f"{total.unknown:,} {'call' if total.unknown == 1 else 'calls'} of unknown price"
    if not total.unknown:
        return dollars(total.amount)
    return f"{dollars(total.amount)} and {beside}" if known else beside


def cost_text(total: Sum) -> str:
    """Return what calls cost together, as `total_text`, and whether all were answered on this machine."""
    if total.calls and total.local == total.calls:
        return f"{dollars(total.amount)} (local)"
    return total_text(total)


def forecast_of(quote: Quote | None, input_tokens: int, max_output_tokens: int) -> Decimal | None:
    """Return what a call costs at most: nothing of its input cached, all of its room used; None if unknown.

    The input is estimated, rather too long than too short.
    """
    if quote is None:
        return None
    whole = Usage(input_tokens=input_tokens, output_tokens=max_output_tokens)
    amount = quote.cost(whole).amount
    prices = quote.prices
    if prices is None or prices.reasoning is None or amount is None:
        return amount
    thought = Usage(
        input_tokens=input_tokens, output_tokens=max_output_tokens, reasoning_tokens=max_output_tokens
    )
    return max(amount, quote.cost(thought).amount or FREE)
