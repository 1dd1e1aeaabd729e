"""Encodes the hearers of unsent texts as a text that is kept until the next start."""

import json
from collections.abc import Mapping

from core.domain.audience import Audience
from core.domain.slot import Slot


def as_text(chosen: Mapping[Slot, Audience]) -> str:
    """Return the choices of the panels as JSON; empty without any."""
    rows = {str(int(slot)): [int(hearer) for hearer in audience] for slot, audience in chosen.items()}
    return json.dumps(rows) if rows else ""


def read_hearers(text: str) -> dict[Slot, Audience]:
    """Return the choices in a kept text; what cannot be read has none."""
    try:
        rows = json.loads(text)
        return {
            Slot(int(slot)): Audience.of(Slot(hearer) for hearer in hearers) for slot, hearers in rows.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
