"""What keeps an item from being stored, in words; for answers of models, files and the GM's own."""

from collections.abc import Iterator
from dataclasses import fields

from core.domain.bank.details import EventDetails, TraitDetails
from core.domain.bank.evidence import LONGEST_WORDS
from core.domain.bank.item import LONGEST_NAME, LONGEST_TEXT, MOST_EVIDENCE, MOST_PARTICIPANTS, Item
from core.text.cleaning import is_blank

LAST_PROMPT = 1_000_000_000
"""The greatest number of a prompt up to which an item is recalled."""
LONGEST_DETAIL = 500
"""Characters of one field of an item's details."""


def problems_of(item: Item) -> Iterator[str]:
    """Yield, in sentences, what keeps an item from being stored."""
    if is_blank(item.name) or len(item.name) > LONGEST_NAME:
        yield f"An item has a name of 1 to {LONGEST_NAME} characters."
    if is_blank(item.text) or len(item.text) > LONGEST_TEXT:
        yield f"An item has a text of 1 to {LONGEST_TEXT:,} characters."
    shares = (item.importance, item.confidence, item.decay_rate)
    strength = item.details.strength if isinstance(item.details, TraitDetails) else 0.0
    if not all(0 <= share <= 1 for share in (*shares, strength)) or not -1 <= item.sentiment <= 1:
        yield "Importance, confidence, decay and strength are 0 to 1, a sentiment is -1 to 1."
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
    if any(len(text) > LONGEST_DETAIL for text in _texts(item)):
        yield f"A field of an item has at most {LONGEST_DETAIL} characters."
    if isinstance(item.details, EventDetails) and len(item.details.participants) > MOST_PARTICIPANTS:
        yield f"An event has at most {MOST_PARTICIPANTS} participants."


def _texts(item: Item) -> Iterator[str]:
    for one in fields(item.details):
        value = getattr(item.details, one.name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from value
