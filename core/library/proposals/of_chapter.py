"""The proposals after a chapter that need no model: exposure, fading, and what says the same (design 17)."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime
from itertools import combinations
from typing import Any, Final, TypeVar

from core.domain.ids import ProposalId, SessionId, new_uuid
from core.domain.proposal import Occasion, Part, Proposal
from core.library.characters.character import LibraryCharacter, Topic, Trait, record_of
from core.library.characters.checks import LONGEST_TEXT
from core.library.proposals.exposure import after_mentions, faded, mentions
from core.library.proposals.taking import change_of
from core.text.analysis.repetition import words_of

SAME_FROM: Final = 0.85
_RUN: Final = 3
_LEAST: Final = 20
"""Letters of a text whose runs say something; a shorter one is compared by its name alone."""
_TEXTS: Final = ("description", "perspective", "approach", "personal_stake")
_HIGHEST: Final = ("strength", "exposure_now", "exposure_desired")
Alike = TypeVar("Alike", Trait, Topic)


def similarity(one: Trait | Topic, other: Trait | Topic) -> float:
    """Return how similar two traits or two topics are, from 0 to 1; they say the same from `SAME_FROM` on.

    That is where their names have the same words, in any order, or where their texts are similar: names and
    texts together, of at least twenty letters, are cut into runs of three letters, and twice the runs that
    both have are divided by the runs of both. Neither needs a model; it finds the same words, not the same
    meaning.
    """
    names = set(words_of(one.name)), set(words_of(other.name))
    if names[0] and names[0] == names[1]:
        return 1.0
    runs, others = _runs(one), _runs(other)
    return 2 * len(runs & others) / (len(runs) + len(others)) if runs and others else 0.0


def duplicates(items: Sequence[Alike]) -> Iterator[tuple[Alike, Alike]]:
    """Yield the pairs that say the same, each item in one pair at most and in the order of the list."""
    gone: set[str] = set()
    for one, other in combinations(items, 2):
        if not {one.name, other.name} & gone and similarity(one, other) >= SAME_FROM:
            gone |= {one.name, other.name}
            yield one, other


def merged(one: Alike, other: Alike) -> Alike | None:
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
    if second.strip() in first:
        return first
    return second if first.strip() in second else f"{first}\n{second}"


def _runs(item: Trait | Topic) -> set[str]:
    text = " ".join(words_of(" ".join([item.name, *(getattr(item, name, "") for name in _TEXTS)])))
    runs = range(len(text) - _RUN + 1) if len(text) >= _LEAST else ()
    return {text[start : start + _RUN] for start in runs}


Item = TypeVar("Item", Trait, Topic)


def of_exposure(
    character: LibraryCharacter, texts: Sequence[str], session_id: SessionId, now: datetime
) -> Iterator[Proposal]:
    """Yield a higher exposure for each topic that the texts mention."""
    for topic in character.topics:
        count = mentions(topic, texts)
        exposure = after_mentions(topic.exposure_now, count)
        if count and exposure != topic.exposure_now:
            why = f"The chapter mentions it in {count:,} of {character.name}'s prompts and replies."
            yield _exposure(character, topic, exposure, why, Occasion.EXPOSURE, session_id, now)


def of_fading(
    character: LibraryCharacter, texts: Sequence[str], session_id: SessionId, now: datetime
) -> Iterator[Proposal]:
    """Yield a lower exposure for each topic that the texts do not mention."""
    for topic in character.topics:
        exposure = faded(topic.exposure_now)
        if exposure != topic.exposure_now and not mentions(topic, texts):
            why = f"None of {character.name}'s prompts and replies in the chapter mentions it."
            yield _exposure(character, topic, exposure, why, Occasion.FADE, session_id, now)


def of_merging(character: LibraryCharacter, session_id: SessionId, now: datetime) -> Iterator[Proposal]:
    """Yield one trait or topic in the place of each two that say the same."""
    yield from _merged(character, Part.TRAIT, character.traits, session_id, now)
    yield from _merged(character, Part.TOPIC, character.topics, session_id, now)


def _merged(
    character: LibraryCharacter, part: Part, items: Sequence[Item], session_id: SessionId, now: datetime
) -> Iterator[Proposal]:
    for one, other in duplicates(items):
        made = merged(one, other)
        if made is not None:
            yield Proposal(
                id=ProposalId(new_uuid()),
                character_id=character.id,
                part=part,
                before=(record_of(one), record_of(other)),
                after=(record_of(made),),
                why=f"“{one.name}” and “{other.name}” say the same in almost the same words.",
                occasion=Occasion.MERGE,
                session_id=session_id,
                created_at=now,
            )


def _exposure(
    character: LibraryCharacter,
    topic: Topic,
    exposure: float,
    why: str,
    occasion: Occasion,
    session_id: SessionId,
    now: datetime,
) -> Proposal:
    before, after = change_of(topic, exposure_now=exposure)
    return Proposal(
        id=ProposalId(new_uuid()),
        character_id=character.id,
        part=Part.TOPIC,
        before=(before,),
        after=(after,),
        why=why,
        occasion=occasion,
        session_id=session_id,
        created_at=now,
    )
