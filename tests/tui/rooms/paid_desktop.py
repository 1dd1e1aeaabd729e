"""A machine whose model is a service that bills every call: what the tests of money on the screen share."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal

from core.config.consent import Consent
from core.config.models.assignments import defaults_for
from core.domain.requests.cost import UnitPrices
from core.engine.engine import Engine
from core.engine.engine_settings import CallRules
from core.ledger.ceilings import Ceilings
from core.ledger.prices import PriceBook
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from tests.core.values.sessions import waiting
from tests.tui.engine_app import Desktop

ADDRESS = "https://api.example.com/v1"
BILL = Decimal("0.31")
PRICES = UnitPrices(input=Decimal(1), output=Decimal(10), cached_input=Decimal("0.1"))
"""A reply of o4-mini costs up to $0.08 for its 8,000 tokens, and the input on top."""


class Billed(ScriptedProvider):
    """The scripted model as a service elsewhere, with a bill of its own for every call."""

    bill: Decimal | None = BILL

    @property
    def name(self) -> str:
        return "openai"

    @property
    def base_url(self) -> str | None:
        return ADDRESS

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        async for item in super().stream(request):
            yield replace(item, billed=self.bill) if isinstance(item, Completion) else item


@dataclass
class PaidDesktop(Desktop):
    """A machine on which every call costs 31 cents."""

    ceilings: Ceilings = field(default_factory=Ceilings)
    prices: PriceBook = field(default_factory=lambda: PriceBook({"o4-mini": PRICES, "gpt-5.2": PRICES}))
    bill: Decimal | None = BILL

    @asynccontextmanager
    async def engine(self, label: str = "test") -> AsyncIterator[Engine]:
        provider = Billed(self.script)
        provider.bill = self.bill
        engine = Engine(
            await self.open_store(),
            provider,
            defaults_for("scripted"),
            label=label,
            clock=self.clock,
            rules=CallRules(Consent((ADDRESS,), self.paths.consent_file), self.prices, self.ceilings),
            play=waiting(self.backoff),
        )
        try:
            yield engine
        finally:
            await engine.aclose()
