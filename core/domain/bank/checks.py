"""Validates items of the memory bank, whether of a model, a file or the GM; problems are sentences."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from core.domain.bank.details import (
    LONGEST_MS,
    MOST_LISTED,
    MOST_PROVED,
    Details,
    EventDetails,
    Exposed,
    QuoteDetails,
    TraitDetails,
    texts_of,
)
from core.domain.bank.evidence import LONGEST_WORDS
from core.domain.bank.item import LONGEST_ITEM_NAME, LONGEST_TEXT, MOST_EVIDENCE, MOST_PARTICIPANTS, Item
from core.text.cleaning import is_blank

LAST_PROMPT = 1_000_000_000
"""The greatest number of a prompt up to which an item is recalled."""
LONGEST_DETAIL = 500
"""Characters of one field of an item's details."""
NO_SHARE: Final = "Importance, confidence, fading, strength and exposure are 0 to 1, a sentiment is -1 to 1."
"""The refusal of a number that is no share."""
_MOST_COUNTED = 2**31 - 1


def problems_of_item(item: Item) -> Iterator[str]:
    """Yield, in sentences, what keeps an item from being stored."""
    if is_blank(item.name) or len(item.name) > LONGEST_ITEM_NAME:
        yield f"An item has a name of 1 to {LONGEST_ITEM_NAME} characters."
    if is_blank(item.text) or len(item.text) > LONGEST_TEXT:
        yield f"An item has a text of 1 to {LONGEST_TEXT:,} characters."
    shares = (item.importance, item.confidence, item.decay_rate, *_shares(item.details))
    if not all(0 <= share <= 1 for share in shares) or not -1 <= item.sentiment <= 1:
        yield NO_SHARE
    if len(item.evidence) > MOST_EVIDENCE or any(
        not 0 < len(one.words) <= LONGEST_WORDS or not 0 <= one.start < one.end for one in item.evidence
    ):
        yield f"An item has at most {MOST_EVIDENCE} quotations of at most {LONGEST_WORDS} characters."
    if any(one.prompt_index > item.prompt_index for one in item.evidence):
        yield "An item is proved by prompts up to its own."
    if item.prompt_index < 0 or (item.take is not None and item.take < 1) or item.version < 1:
        yield "Prompts, takes and versions are counted from 1."
    if item.undoes is not None and not 1 <= item.undoes < item.version:
        yield "A version takes back one that is older."
    if item.expires_at is not None and not 0 <= item.expires_at <= LAST_PROMPT:
        yield f"An item is recalled up to a prompt from 0 to {LAST_PROMPT:,}."
    if item.id in (item.supersedes, item.merged_into):
        yield "An item does not replace itself."
    yield from _problems_of_details(item)


def _problems_of_details(item: Item) -> Iterator[str]:
    details = item.details
    if any(len(text) > LONGEST_DETAIL for text in texts_of(details)):
        yield f"A field of an item has at most {LONGEST_DETAIL} characters."
    if isinstance(details, EventDetails) and len(details.participants) > MOST_PARTICIPANTS:
        yield f"An event has at most {MOST_PARTICIPANTS} participants."
    lists = (value for one in fields(details) if isinstance(value := getattr(details, one.name), tuple))
    if not isinstance(details, EventDetails | QuoteDetails) and any(len(one) > MOST_LISTED for one in lists):
        yield f"An item has at most {MOST_LISTED} attributes, relationships, steps and the like of each."
    if isinstance(details, QuoteDetails):
        proved = details.data_item_ids
        if len(proved) > MOST_PROVED or len(set(proved)) < len(proved) or item.id in proved:
            yield f"A quote proves at most {MOST_PROVED} other items, each once."
    counts, times = _counts(details)
    if any(one is not None and not 1 <= one <= _MOST_COUNTED for one in counts):
        yield "Uses, their prompts and events are counted from 1."
    if any(one is not None and not 0 < one <= LONGEST_MS for one in times):
        yield "A time in the story is more than nothing, and at most a hundred years."


def _shares(details: Details) -> Iterator[float]:
    """Yield the numbers of details that are 0 to 1."""
    shares: tuple[float | None, ...] = ()
    if isinstance(details, Exposed):
        shares = details.exposure_current, details.exposure_desired
    elif isinstance(details, TraitDetails):
        made = details.performance
        shares = details.strength, None if made is None else made.success_rate
    yield from (one for one in shares if one is not None)


def _counts(details: Details) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
    """Return the numbers of details that count from 1, and the times in milliseconds."""
    if isinstance(details, EventDetails):
        return (details.sequence_number,), (details.duration_ms,)
    if isinstance(details, TraitDetails) and (made := details.performance) is not None:
        return (made.execution_count, made.last_execution), (made.average_duration_ms,)
    return (), ()
