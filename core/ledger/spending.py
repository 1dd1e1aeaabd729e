"""Amounts that a program remembers until it ends (design 18)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the settings have it, which are read before anything is drawn
    from datetime import datetime
    from decimal import Decimal

    from core.domain.ids import ArtifactId, SessionId


@dataclass(frozen=True, slots=True)
class CountedCall:
    """A call that runs at its forecast, or that has ended at its cost and may not be stored yet."""

    session_id: "SessionId"
    amount: "Decimal"
    most: "Decimal"
    """Maximum cost of this call alone: where it does not tell its cost, it is counted at that."""
    is_known: bool = False
    ended: "datetime | None" = None
    """None while it runs."""


@dataclass(slots=True)
class Spending:
    """Amounts that the ceilings count beside the store, also when the engine starts again."""

    entries: "dict[ArtifactId, CountedCall]" = field(default_factory=dict)
    limits: "dict[object, Decimal]" = field(default_factory=dict)
    """Limits that the GM has agreed to, by session and by day."""
    stored: "dict[object, Decimal]" = field(default_factory=dict)
    """The largest stored sum of a day: what is purged was paid for all the same."""
