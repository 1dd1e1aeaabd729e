"""Traits and topics of a character as the GM types them: their fields as texts, and one item among others."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from core.domain.errors import ChangedElsewhereError, IllegalCommandError
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.library.characters.checks import BOUNDS
from core.text.name_list import name_key

Nature = Trait | Topic
TITLES: Final[Mapping[str, str]] = {
    "name": "Name",
    "description": "Description",
    "perspective": "Perspective",
    "approach": "Approach",
    "personal_stake": "Personal stake",
    "strength": "Strength",
    "sentiment": "Sentiment",
    "exposure_now": "Exposure now",
    "exposure_desired": "Exposure wanted",
}


def kind_of(item: Nature) -> str:
    """Return what an item is, in a word."""
    return "trait" if isinstance(item, Trait) else "topic"


def shown_fields(item: Nature) -> dict[str, str]:
    """Return each field as it is shown, in order."""
    found = {field.name: getattr(item, field.name) for field in fields(item)}
    return {name: value if isinstance(value, str) else f"{value:g}" for name, value in found.items()}


def is_number(item: Nature, field: str) -> bool:
    """Whether a field holds a number."""
    return not isinstance(getattr(item, field), str)


def typed(item: Nature, texts: Mapping[str, str]) -> Nature:
    """Return an item with the texts typed in its fields; unchanged fields keep their exact values.

    Raises IllegalCommandError, with the bounds, for a text that should be a number.
    """
    shown, values = shown_fields(item), dict[str, Any]()
    for name, text in texts.items():
        if text != shown[name]:
            values[name] = _number(item, text) if is_number(item, name) else text
    return replace(item, **values)


def _number(item: Nature, text: str) -> float:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError as error:
        raise IllegalCommandError(f"{BOUNDS[type(item)]} Nothing was saved.") from error


def items_of(character: LibraryCharacter) -> tuple[Nature, ...]:
    """Return the traits of a character, and then its topics."""
    return (*character.traits, *character.topics)


def called(items: Sequence[Nature], name: str) -> Nature | None:
    """Return the item with this name, whatever its capitals; None if it does not exist."""
    return next((one for one in items if name_key(one.name) == name_key(name)), None)


def with_item(character: LibraryCharacter, item: Nature, begun: Nature | None) -> LibraryCharacter:
    """Return the character with an item in place of the one that was begun with; behind all others if None.

    Raises ChangedElsewhereError if that one is not there as it was.
    """
    items = _list_of(character, item)
    if begun is None:
        return _with_list(character, item, [*items, item])
    if begun not in items:
        raise ChangedElsewhereError
    return _with_list(character, item, [item if one == begun else one for one in items])


def without_item(character: LibraryCharacter, item: Nature) -> LibraryCharacter:
    """Return the character without an item; raise ChangedElsewhereError if it is not there as it was."""
    items = _list_of(character, item)
    if item not in items:
        raise ChangedElsewhereError
    return _with_list(character, item, [one for one in items if one != item])


def _list_of(character: LibraryCharacter, item: Nature) -> Sequence[Nature]:
    return character.traits if isinstance(item, Trait) else character.topics


def _with_list(character: LibraryCharacter, item: Nature, items: Sequence[Nature]) -> LibraryCharacter:
    changed: dict[str, Any] = {"traits" if isinstance(item, Trait) else "topics": tuple(items)}
    return replace(character, **changed)
