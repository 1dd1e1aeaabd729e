"""The cost of a call in US dollars, as decimals, with the prices used to compute it (design 18)."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

FREE: Final = Decimal(0)
LOCAL: Final = "local"
"""Source of the cost of a model on this machine, which is nothing."""
PROVIDER: Final = "provider"
"""Source of a cost that the service itself has named."""
YOURS: Final = "yours"
"""Source of prices that the GM has set."""
MOST_DOLLARS: Final = Decimal(1_000_000)
"""Upper bound of a plausible price or bill; larger numbers are refused."""
MOST_FOR_A_CALL: Final = 10_000 * MOST_DOLLARS
"""More than the most tokens cost that a service may report, at the highest prices."""
LONGEST_SOURCE: Final = 100
"""Characters of the name and the version of a library."""
_MOST_DECIMALS: Final = 24


def is_amount(value: Decimal, most: Decimal = MOST_DOLLARS) -> bool:
    """Whether a value from outside can be a price or a bill: within bounds, and without endless digits."""
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and -_MOST_DECIMALS <= exponent <= 0 and 0 <= value <= most


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPrices:
    """Prices in US dollars for a million tokens.

    Cached input without a price of its own costs what input does, and reasoning what output does.
    """

    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    reasoning: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of a call and its source. A call whose price is unknown has no `Cost`."""

    amount: Decimal | None
    """US dollars; None where the prices are known and the tokens were not reported."""
    source: str
    """`provider`, `yours`, `local`, or the name and the version of the library of prices."""
    prices: UnitPrices | None = None
    """The prices used to compute the amount; None where it was not computed."""
