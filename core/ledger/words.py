"""Amounts of money, as they are read."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from core.ledger.sums import Sum
from core.text.numbers import counted

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
    beside = f"{counted(total.unknown, 'call')} of unknown price"
    if not total.unknown:
        return dollars(total.amount)
    return f"{dollars(total.amount)} and {beside}" if known else beside


def cost_text(total: Sum) -> str:
    """Return what calls cost together, as `total_text`, and whether all were answered on this machine."""
    if total.calls and total.local == total.calls:
        return f"{dollars(total.amount)} (local)"
    return total_text(total)
