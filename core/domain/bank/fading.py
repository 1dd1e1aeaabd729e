"""How much of its importance an item still has (design 15)."""

from datetime import datetime, timedelta
from math import exp

from core.domain.bank.item import Item


def strength_of(
    item: Item, prompt_index: int, last_accessed: int | None = None, at: datetime | None = None
) -> float:
    """Return the importance that an item has at a prompt, 0 to 1.

    It decays by the prompts since it was drawn from play, or recalled last; with a time `at` by the hours
    instead, at the same rate. Pinned and confirmed items keep theirs.
    """
    if not item.is_fading:
        return item.importance
    passed: float = max(0, prompt_index - max(item.prompt_index, last_accessed or 0))
    if at is not None:
        passed = _hours_of(item, prompt_index, passed, at)
    return item.importance * exp(-item.decay_rate * passed)


def _hours_of(item: Item, prompt_index: int, prompts: float, at: datetime) -> float:
    """Return the hours that so many of the last prompts took.

    When an item was recalled is known by its prompt alone, so it is as if play had gone on evenly.
    """
    since = max(0, prompt_index - item.prompt_index)
    share = prompts / since if since else 1.0
    return max(0.0, (at - item.created_at) / timedelta(hours=1)) * share


def has_expired(item: Item, prompt_index: int) -> bool:
    """Whether it is no longer recalled at a prompt; a pinned or confirmed item always is."""
    return item.is_fading and item.expires_at is not None and prompt_index > item.expires_at
