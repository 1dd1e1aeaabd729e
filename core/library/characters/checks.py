"""Validates characters before they are stored: bounds of texts, lists and numbers (design 14)."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Final, TypeVar

from core.domain.errors import ChangedElsewhereError
from core.domain.session.limits import LONGEST_NAME, is_storable_time
from core.domain.session.profile import cleaned_profile, problems_of_profile
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.text.cleaning import clean, clean_line, is_blank
from core.text.name_list import name_key

MOST_TRAITS: Final = 50
MOST_TOPICS: Final = 50
LONGEST_TEXT: Final = 2_000
"""Characters of one text of a trait or a topic."""
LONGEST_IDENTITY: Final = 1_000_000
"""Far more than a chapter takes: a card is kept whole, and the GM chooses what goes into a chapter."""
BOUNDS: Final[Mapping[type, str]] = {
    Trait: "A trait has a strength from 0 to 1 and a sentiment from -1 to 1.",
    Topic: "A topic has a sentiment from -1 to 1, and exposures from 0 to 1.",
}
"""The ranges of the numbers, as the GM is told them."""
Item = TypeVar("Item", Trait, Topic)


def cleaned_character(character: LibraryCharacter) -> LibraryCharacter:
    """Return the same with every text cleaned, and each list without blanks and repetitions."""
    name = clean_line(character.name)
    taken = name_key(name)
    shared = cleaned_profile(character.profile)
    return replace(
        character,
        name=name,
        aliases=tuple(alias for alias in shared.aliases if name_key(alias) != taken),
        short_description=shared.short_description,
        identity=clean(character.identity),
        traits=tuple(
            replace(one, name=clean_line(one.name), description=clean(one.description))
            for one in character.traits
        ),
        topics=tuple(
            replace(
                one,
                name=clean_line(one.name),
                perspective=clean(one.perspective),
                approach=clean(one.approach),
                personal_stake=clean(one.personal_stake),
            )
            for one in character.topics
        ),
        model=shared.model,
        group=shared.group,
        groups_visible=shared.groups_visible,
        paused_until=character.paused_until if character.is_paused else None,
    )


def merged(begun: LibraryCharacter, made: LibraryCharacter, now: LibraryCharacter) -> LibraryCharacter:
    """Return `now` with the fields in which `made` differs from `begun`.

    Raises ChangedElsewhereError where one of them is not what it was.
    """
    changed = {
        one.name: getattr(made, one.name)
        for one in fields(made)
        if getattr(made, one.name) != getattr(begun, one.name)
    }
    if any(getattr(now, name) not in (getattr(begun, name), value) for name, value in changed.items()):
        raise ChangedElsewhereError
    return replace(now, **changed)


def problems_of_character(character: LibraryCharacter) -> Iterator[str]:
    """Yield, in sentences, what keeps a character from being stored; it is cleaned before."""
    if is_blank(character.name) or len(character.name) > LONGEST_NAME:
        yield f"A character has a name of 1 to {LONGEST_NAME} characters."
    yield from problems_of_profile(character.profile)
    if (length := len(character.identity)) > LONGEST_IDENTITY:
        yield (
            f"The identity of a character has at most {LONGEST_IDENTITY:,} characters; "
            f"this one has {length:,}."
        )
    if character.paused_until is not None and not is_storable_time(character.paused_until):
        yield "The end of a pause is a time that cannot be."
    yield from _problems_of_traits(character.traits)
    yield from _problems_of_topics(character.topics)


def _problems_of_traits(traits: tuple[Trait, ...]) -> Iterator[str]:
    yield from _problems_of_list("traits", traits, MOST_TRAITS)
    for one in traits:
        if len(one.description) > LONGEST_TEXT:
            yield f"The description of a trait has at most {LONGEST_TEXT:,} characters."
        if not (0 <= one.strength <= 1 and -1 <= one.sentiment <= 1):
            yield BOUNDS[Trait]


def _problems_of_topics(topics: tuple[Topic, ...]) -> Iterator[str]:
    yield from _problems_of_list("topics", topics, MOST_TOPICS)
    for one in topics:
        if max(len(one.perspective), len(one.approach), len(one.personal_stake)) > LONGEST_TEXT:
            yield f"Each text of a topic has at most {LONGEST_TEXT:,} characters."
        exposures = (one.exposure_now, one.exposure_desired)
        if not (-1 <= one.sentiment <= 1 and all(0 <= exposure <= 1 for exposure in exposures)):
            yield BOUNDS[Topic]


def _problems_of_list(what: str, items: tuple[Item, ...], most: int) -> Iterator[str]:
    if len(items) > most:
        yield f"A character has at most {most} {what}."
    names = [name_key(one.name) for one in items]
    if len(set(names)) < len(names):
        yield f"Two {what} of a character have the same name."
    if any(is_blank(one.name) or len(one.name) > LONGEST_NAME for one in items):
        yield f"Each of the {what} has a name of 1 to {LONGEST_NAME} characters."
