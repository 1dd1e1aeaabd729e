"""Computes the strength of an item: the share of its importance that has not faded (design 15)."""

from datetime import datetime, timedelta
from math import exp

from core.domain.bank.details import Exposed
from core.domain.bank.item import Item


def strength_of(
    item: Item, prompt_index: int, last_accessed: int | None = None, at: datetime | None = None
) -> float:
    """Return the importance that an item has at a prompt, 0 to 1.

    It decays by the prompts since it was drawn from play, or recalled last; with a time `at` by the hours
    instead, at the same rate. Pinned and confirmed items keep theirs.
    """
    return item.importance * (_left(item, prompt_index, last_accessed, at) if item.is_fading else 1.0)


def exposure_of(
    item: Item, prompt_index: int, last_accessed: int | None = None, at: datetime | None = None
) -> float | None:
    """Return how much play spoke of a thread or a person lately, 0 to 1; None where nothing is known of it.

    It falls as importance does, and what the GM keeps falls too: to be kept is not to be spoken of.
    """
    exposure = item.details.exposure_current if isinstance(item.details, Exposed) else None
    return None if exposure is None else exposure * _left(item, prompt_index, last_accessed, at)


def faded_since(item: Item, newer: Item) -> float:
    """Return the share of an item that is left at the prompt of a newer one, 0 to 1."""
    return _left(item, newer.prompt_index, None, None)


def _left(item: Item, prompt_index: int, last_accessed: int | None, at: datetime | None) -> float:
    """Return the share that is left after all that passed since an item was drawn, or recalled last."""
    passed: float = max(0, prompt_index - max(item.prompt_index, last_accessed or 0))
    if at is not None:
        passed = _hours_of(item, prompt_index, passed, at)
    return exp(-item.decay_rate * passed)


def _hours_of(item: Item, prompt_index: int, prompts: float, at: datetime) -> float:
    """Return the hours that so many of the last prompts took.

    When an item was recalled is known by its prompt alone, so it is as if play had gone on evenly.
    """
    since = max(0, prompt_index - item.prompt_index)
    share = prompts / since if since else 1.0
    return max(0.0, (at - item.created_at) / timedelta(hours=1)) * share


def has_expired(item: Item, prompt_index: int) -> bool:
    """Whether it is no longer recalled at a prompt; a pinned or confirmed item always is."""
    return item.expires_at is not None and prompt_index > item.expires_at and item.is_fading
