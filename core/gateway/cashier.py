"""What a call may cost before it is made, and what it did cost afterwards (design 18)."""

import asyncio
import logging
from decimal import Decimal

from core.config.models import ModelConfig
from core.context.segments import Context
from core.domain.clock import Clock
from core.domain.ids import ArtifactId
from core.domain.requests.cost import Cost
from core.domain.requests.request import Artifact, Request
from core.ledger.ceilings import CeilingGuard
from core.ledger.forecast import forecast_of
from core.ledger.prices import PriceBook, Quote, cost_of

log = logging.getLogger(__name__)


class Cashier:
    """Prices calls. Without `prices` every cost is unknown; without `ceilings` every call may be made."""

    def __init__(self, prices: PriceBook | None, ceilings: CeilingGuard | None, clock: Clock) -> None:
        self._prices = prices
        self._ceilings = ceilings
        self._clock = clock
        self._loading: asyncio.Task[Quote | None] | None = None

    async def admit(
        self, context: Context, choice: ModelConfig, address: str | None, request: Request, id: ArtifactId
    ) -> None:
        """Refuse a call that could pass a ceiling.

        Raises StoryEngineError with CEILING_REACHED, and StorageError. Without a ceiling it does not wait for
        the prices, which are slow to load at first: that is done while the model answers.
        """
        if self._prices is None:
            return
        if address is None and self._prices.own(choice.account, choice.model) is None:
            return
        if self._ceilings is not None:
            await self._ceilings.admit(request, id, await self.forecast(context, choice, address))
        elif self._loading is None:
            self._loading = asyncio.create_task(self._quote(choice, address, (), context.tokens))

    async def forecast(self, context: Context, choice: ModelConfig, address: str | None) -> Decimal | None:
        """Return what a call with this input costs at most; None if its price is unknown."""
        quote = await self._quote(choice, address, (), context.tokens)
        return forecast_of(quote, context.tokens, choice.max_output_tokens)

    async def cost(
        self,
        artifact: Artifact,
        context: Context,
        choice: ModelConfig,
        address: str | None,
        answered: str,
        billed: Decimal | None,
    ) -> Cost | None:
        """Return what a call cost that was made; None if that is unknown."""
        if self._loading is not None:
            await self._loading
        tokens = artifact.usage.input_tokens
        quote = await self._quote(choice, address, (answered,), context.tokens if tokens is None else tokens)
        cost = None if self._prices is None else cost_of(quote, artifact.usage, billed)
        if self._ceilings is not None:
            self._ceilings.settle(artifact.id, cost.amount if cost else None)
        return cost

    def forget(self, id: ArtifactId) -> None:
        """Count a call no longer that ended without an artifact."""
        if self._ceilings is not None:
            self._ceilings.forget(id)

    async def _quote(
        self, choice: ModelConfig, address: str | None, answered: tuple[str, ...], input_tokens: int
    ) -> Quote | None:
        if self._prices is None:
            return None
        models = tuple(dict.fromkeys((*answered, choice.model)))
        try:
            return await self._prices.quote(address, choice.account, models, self._clock(), input_tokens)
        except Exception:
            # The answer was paid for, and is worth more than its price: it is kept, at an unknown cost.
            log.exception("the price of %s could not be looked up", choice.label)
            return None
