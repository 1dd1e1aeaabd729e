"""The prices of services, as a library keeps them: the only file that imports `genai_prices`.

The import takes a third of a second, and the first lookup as long again, so both happen in a thread, at the
first call of a service. Nothing is fetched: the prices are those of the installed version.
"""

import logging
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from core.domain.requests.cost import FREE, UnitPrices, is_amount

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

log = logging.getLogger(__name__)


def kept_prices(
    address: str, model: str, at: datetime, input_tokens: int, max_output_tokens: int
) -> tuple[UnitPrices, str] | None:
    """Return the prices of a model at that time, and the name and version of the library; None if unknown.

    A model of vectors, which writes no tokens, needs no price for them. Some services have other prices for
    long inputs, so the number of input tokens decides too. Slow; call it in a thread.
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
