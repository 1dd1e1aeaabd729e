"""How much of its importance an item still has (design 15)."""

from math import exp

from core.domain.bank.item import Item


def strength_of(item: Item, prompt_index: int, last_accessed: int | None = None) -> float:
    """Return the importance that an item has at a prompt, 0 to 1.

    It decays by the prompts since it was drawn from play, or recalled last. Pinned and confirmed items keep
    theirs.
    """
    if not item.is_fading:
        return item.importance
    passed = prompt_index - max(item.prompt_index, last_accessed or 0)
    return item.importance * exp(-item.decay_rate * max(0, passed))


def has_expired(item: Item, prompt_index: int) -> bool:
    """Whether it is no longer recalled at a prompt; a pinned or confirmed item always is."""
    return item.is_fading and item.expires_at is not None and prompt_index > item.expires_at
