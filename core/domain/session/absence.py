"""Characters that left the scene until a prompt, or until the GM brings them back (design 17)."""

from collections.abc import Mapping
from typing import Final

from core.domain.errors import IllegalCommandError
from core.domain.session.session import Session
from core.domain.slot import Slot

LATEST_RETURN: Final = 1_000_000
"""The last prompt at which a return can be planned."""
PAUSED: Final = -1
"""In the place of the prompt of a return: the character is paused in the library, and back when it is not."""
MOST_HINT_PROMPTS: Final = 1_000
"""The most prompts after which a silent character can be pointed out."""
USUAL_HINT_MINUTES: Final = 30
"""Minutes of play after which one is pointed out as well, unless the GM has set another number."""


def absence_text(back_at: int) -> str:
    """Return how long a character is away, such as `away until prompt 12`; 0 is until the GM says so."""
    if back_at == PAUSED:
        return "away while it is paused in the library"
    return f"away until prompt {back_at:,}" if back_at else "away"


def require_here(session: Session, slot: Slot) -> None:
    """Raise IllegalCommandError for a character that is away."""
    if session.is_away(slot):
        name = session.name_of(slot)
        raise IllegalCommandError(
            f"{name} is {absence_text(session.away[slot])}; bring {name} back first, or write to another."
        )


def read_away(stored: Mapping[str, object]) -> dict[Slot, int]:
    """Return who is away as JSON has it: the prompt of the return by slot; raise ValueError for another."""
    away: dict[Slot, int] = {}
    for slot, back_at in stored.items():
        if (
            not isinstance(back_at, int)
            or isinstance(back_at, bool)
            or not PAUSED <= back_at <= LATEST_RETURN
        ):
            raise ValueError("a character returns at a prompt")
        away[Slot(int(slot))] = back_at
    return away
