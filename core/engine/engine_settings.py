"""The settings of an engine: the conditions of its calls, and of the play."""

from dataclasses import dataclass, field

from core.config.consent import Consent
from core.domain.requests.retry_policy import Backoffs
from core.engine.services.speaking.afterthoughts import IdleClock
from core.engine.services.speaking.hints import USUAL_HINTS, HintRules
from core.ledger.ceilings import Ceilings
from core.ledger.prices import PriceBook
from core.ledger.spending import Spending


@dataclass(frozen=True, slots=True)
class CallRules:
    """The conditions of a call: consent, without which no text leaves this machine, and money."""

    consent: Consent | None = None
    prices: PriceBook | None = None
    """Without it, no cost is known."""
    ceilings: Ceilings | None = None
    spending: Spending = field(default_factory=Spending)
    """Amounts remembered from an engine before this one."""


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """The settings of retries, afterthoughts and hints."""

    backoffs: Backoffs = field(default_factory=Backoffs)
    afterthoughts: int = 2
    """Maximum number of additions of a character to one reply."""
    hints: HintRules = USUAL_HINTS
    idle_clock: IdleClock = field(default_factory=IdleClock)
