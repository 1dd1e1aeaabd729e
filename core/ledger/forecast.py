"""Computes the maximum cost of a call before it is made (design 18)."""

from decimal import Decimal

from core.domain.requests.cost import FREE
from core.domain.requests.request import Usage
from core.ledger.prices import Quote


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
