"""The proposals after a chapter that need no model: exposure, fading, and what says the same (design 17)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import combinations
from typing import Any, Final, TypeVar

from core.domain.proposal import Occasion, Proposal, ProposedPart
from core.library.characters.character import Topic, Trait, record_of
from core.library.characters.checks import LONGEST_TEXT
from core.library.proposals.exposure import after_mentions, faded, mentions
from core.library.proposals.making import ProposalMaker
from core.library.proposals.taking import change_of
from core.text.analysis.repetition import words_of
from core.text.letters import LETTER

SAME_FROM: Final = 0.85
_RUN: Final = 3
_LEAST: Final = 20
"""Letters of a text whose runs say something; a shorter one is compared by its name alone."""
_TEXTS: Final = ("description", "perspective", "approach", "personal_stake")
_HIGHEST: Final = ("strength", "exposure_now", "exposure_desired")
Item = TypeVar("Item", Trait, Topic)
_Signs = tuple[set[str], set[str]]


def duplicates(items: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    """Yield the pairs that say the same, each item in one pair at most and in the order of the list.

    Two are the same where their names have the same words, in any order, or where their texts are similar:
    names and texts together, of at least twenty letters, are cut into runs of three letters, and twice the
    runs that both have, over the runs of both, is at least 0.85. Neither needs a model; it finds the same
    words, not the same meaning.
    """
    gone: set[str] = set()
    signs = {item.name: _signs(item) for item in items}
    for one, other in combinations(items, 2):
        is_free = not {one.name, other.name} & gone
        if is_free and _similarity(signs[one.name], signs[other.name]) >= SAME_FROM:
            gone |= {one.name, other.name}
            yield one, other


def merged(one: Item, other: Item) -> Item | None:
    """Return what takes the place of two: the first name, every text once, the mean of how it feels.

    Of strength and exposure the higher counts. None where a text would be too long.
    """
    values: dict[str, Any] = {"sentiment": round((one.sentiment + other.sentiment) / 2, 2)}
    for name in (field.name for field in fields(one)):
        first, second = getattr(one, name), getattr(other, name)
        if name in _TEXTS:
            values[name] = _joined(first, second)
            if len(values[name]) > LONGEST_TEXT:
                return None
        elif name in _HIGHEST:
            values[name] = max(first, second)
    return replace(one, **values)


def _joined(first: str, second: str) -> str:
    if _has(first, second):
        return first
    return second if _has(second, first) else f"{first}\n{second}"


def _has(text: str, part: str) -> bool:
    """Whether a text has another one in it, and not only within a word: “kind” is not in “unkind”."""
    part = part.strip()
    return not part or re.search(rf"(?<!{LETTER}){re.escape(part)}(?!{LETTER})", text) is not None


def _signs(item: Trait | Topic) -> _Signs:
    """Return the words of the name, and the runs of all texts."""
    text = " ".join(words_of(" ".join([item.name, *(getattr(item, name, "") for name in _TEXTS)])))
    runs = range(len(text) - _RUN + 1) if len(text) >= _LEAST else ()
    return set(words_of(item.name)), {text[start : start + _RUN] for start in runs}


def _similarity(one: _Signs, other: _Signs) -> float:
    if one[0] and one[0] == other[0]:
        return 1.0
    runs, others = one[1], other[1]
    return 2 * len(runs & others) / (len(runs) + len(others)) if runs and others else 0.0


def of_exposure(maker: ProposalMaker, texts: Sequence[str]) -> Iterator[Proposal]:
    """Yield a higher exposure for each topic that the texts mention."""
    character = maker.character
    for topic in character.topics:
        count = mentions(topic, texts)
        exposure = after_mentions(topic.exposure_now, count)
        if count and exposure != topic.exposure_now:
            why = f"The chapter mentions it in {count:,} of {character.name}'s prompts and replies."
            before, after = change_of(topic, exposure_now=exposure)
            yield maker.made(ProposedPart.TOPIC, (before,), (after,), why, Occasion.EXPOSURE)


def of_fading(maker: ProposalMaker, texts: Sequence[str]) -> Iterator[Proposal]:
    """Yield a lower exposure for each topic that the texts do not mention."""
    character = maker.character
    for topic in character.topics:
        exposure = faded(topic.exposure_now)
        if exposure != topic.exposure_now and not mentions(topic, texts):
            why = f"None of {character.name}'s prompts and replies in the chapter mentions it."
            before, after = change_of(topic, exposure_now=exposure)
            yield maker.made(ProposedPart.TOPIC, (before,), (after,), why, Occasion.FADE)


def of_merging(maker: ProposalMaker) -> Iterator[Proposal]:
    """Yield one trait or topic in the place of each two that say the same."""
    yield from _merged(maker, ProposedPart.TRAIT, maker.character.traits)
    yield from _merged(maker, ProposedPart.TOPIC, maker.character.topics)


def _merged(maker: ProposalMaker, part: ProposedPart, items: Sequence[Item]) -> Iterator[Proposal]:
    for one, other in duplicates(items):
        if (made := merged(one, other)) is not None:
            why = f"“{one.name}” and “{other.name}” say the same in almost the same words."
            before = (record_of(one), record_of(other))
            yield maker.made(part, before, (record_of(made),), why, Occasion.MERGE)
