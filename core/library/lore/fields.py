"""Names of the fields of an entry in the formats that are read and written: one table for both ways."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeVar

from core.library.json_document import Path
from core.library.lore.book import GREATEST_DEPTH, MOST_KEYS_OF_BOOK, Logic, LoreEntry, Position, Role
from core.text.cleaning import clean
from core.text.numbers import number_of

GREATEST_NUMBER: Final = 1_000_000_000
Decode = Callable[[Any], Any]
Encode = Callable[[Any], Any]
Member = TypeVar("Member", bound=IntEnum)


@dataclass(frozen=True, slots=True)
class Row:
    """A field of an entry: its name here, its places in the format (the first that has a value counts).

    `decode` returns None for a value that it cannot read, which then counts as missing.
    """

    attribute: str
    places: tuple[Path, ...]
    decode: Decode
    encode: Encode = lambda value: value


def text_of(value: object) -> str | None:
    """Return a text, cleaned; a number as its digits; None for anything else."""
    if isinstance(value, str):
        return clean(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else None


def texts_of(value: object) -> tuple[str, ...] | None:
    """Return a list of texts without blank ones; one text is a list separated by commas."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return None
    # A book with more is refused; none is left out, because an edit writes the whole list again.
    found = (text_of(one) for one in value[: MOST_KEYS_OF_BOOK + 1])
    return tuple(text.strip() for text in found if text and text.strip())


def switch_of(value: object) -> bool | None:
    """Return a switch, also from a number or a word; None for anything else."""
    if isinstance(value, str):
        return {"true": True, "false": False, "1": True, "0": False}.get(value.strip().lower())
    return bool(value) if isinstance(value, bool | int | float) else None


def whole_of(value: object) -> int | None:
    """Return a whole number between the greatest ones; None for anything else."""
    number = number_of(value, -GREATEST_NUMBER, GREATEST_NUMBER)
    return None if number is None else int(number)


def count_of(value: object) -> int | None:
    """Return a whole number that is not negative; None for anything else."""
    number = whole_of(value)
    return None if number is None else max(number, 0)


def depth_of(value: object) -> int | None:
    """Return a depth in messages within its bounds."""
    number = count_of(value)
    return None if number is None else min(number, GREATEST_DEPTH)


def percent_of(value: object) -> float | None:
    """Return a probability in percent."""
    return number_of(value, 0.0, 100.0)


def _not(value: object) -> bool | None:
    switch = switch_of(value)
    return None if switch is None else not switch


def _level(value: object) -> int | None:
    return int(value) if isinstance(value, bool) else count_of(value)


def _member(kind: type[Member], value: object) -> Member | None:
    number = whole_of(value)
    try:
        return None if number is None else kind(number)
    except ValueError:
        return None


def _logic(value: object) -> Logic | None:
    return _member(Logic, value)


def _role(value: object) -> Role | None:
    words = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    return _member(Role, value)


def _position(value: object) -> Position | None:
    if isinstance(value, str) and value.endswith("_char"):
        return Position.BEFORE_CHARACTER if value == "before_char" else Position.AFTER_CHARACTER
    return _member(Position, value)


def _tidy(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _extensions(name: str, attribute: str, decode: Decode, encode: Encode = lambda value: value) -> Row:
    return Row(attribute, (("extensions", name),), decode, encode)


_MATCHES: Final = (
    ("matches_persona", "match_persona_description", "matchPersonaDescription"),
    ("matches_description", "match_character_description", "matchCharacterDescription"),
    ("matches_personality", "match_character_personality", "matchCharacterPersonality"),
    ("matches_depth_prompt", "match_character_depth_prompt", "matchCharacterDepthPrompt"),
    ("matches_scenario", "match_scenario", "matchScenario"),
    ("matches_notes", "match_creator_notes", "matchCreatorNotes"),
)

BOOK_ROWS: Final = (
    Row("keys", (("keys",),), texts_of, list),
    Row("secondary", (("secondary_keys",),), texts_of, list),
    Row("name", (("comment",), ("name",)), text_of),
    Row("content", (("content",),), text_of),
    Row("is_enabled", (("enabled",),), switch_of),
    Row("is_constant", (("constant",),), switch_of),
    Row("is_selective", (("selective",),), switch_of),
    Row("order", (("insertion_order",),), whole_of),
    Row("priority", (("priority",),), whole_of),
    Row("uses_regex", (("use_regex",),), switch_of),
    Row("position", (("extensions", "position"), ("position",)), _position, int),
    Row("case_sensitive", (("extensions", "case_sensitive"), ("case_sensitive",)), switch_of),
    _extensions("selectiveLogic", "logic", _logic, int),
    _extensions("depth", "depth", depth_of),
    _extensions("role", "role", _role, int),
    _extensions("outlet_name", "outlet", text_of),
    _extensions("probability", "probability", percent_of, _tidy),
    _extensions("useProbability", "uses_probability", switch_of),
    _extensions("scan_depth", "scan_depth", depth_of),
    _extensions("match_whole_words", "whole_words", switch_of),
    _extensions("ignore_budget", "ignores_budget", switch_of),
    _extensions("exclude_recursion", "excludes_recursion", switch_of),
    _extensions("prevent_recursion", "prevents_recursion", switch_of),
    _extensions("delay_until_recursion", "delay_until_recursion", _level),
    _extensions("group", "groups", texts_of, ", ".join),
    _extensions("group_override", "is_group_override", switch_of),
    _extensions("group_weight", "group_weight", count_of),
    _extensions("use_group_scoring", "group_scoring", switch_of),
    _extensions("sticky", "sticky", count_of),
    _extensions("cooldown", "cooldown", count_of),
    _extensions("delay", "delay", count_of),
    *(_extensions(snake, attribute, switch_of) for attribute, snake, _ in _MATCHES),
    _extensions("triggers", "triggers", texts_of, list),
    Row("filter_names", (("extensions", "character_filter", "names"),), texts_of, list),
    Row("filter_tags", (("extensions", "character_filter", "tags"),), texts_of, list),
    Row("filter_excludes", (("extensions", "character_filter", "isExclude"),), switch_of),
)
"""`character_book` of a card and `lorebook_v3`; what SillyTavern adds is in `extensions`."""

WORLD_ROWS: Final = (
    Row("keys", (("key",),), texts_of, list),
    Row("secondary", (("keysecondary",),), texts_of, list),
    Row("name", (("comment",),), text_of),
    Row("content", (("content",),), text_of),
    Row("is_enabled", (("disable",),), _not, lambda value: not value),
    Row("is_constant", (("constant",),), switch_of),
    Row("is_selective", (("selective",),), switch_of),
    Row("order", (("order",),), whole_of),
    Row("priority", (("priority",),), whole_of),
    Row("position", (("position",),), _position, int),
    Row("case_sensitive", (("caseSensitive",),), switch_of),
    Row("logic", (("selectiveLogic",),), _logic, int),
    Row("depth", (("depth",),), depth_of),
    Row("role", (("role",),), _role, int),
    Row("outlet", (("outletName",),), text_of),
    Row("probability", (("probability",),), percent_of, _tidy),
    Row("uses_probability", (("useProbability",),), switch_of),
    Row("scan_depth", (("scanDepth",),), depth_of),
    Row("whole_words", (("matchWholeWords",),), switch_of),
    Row("ignores_budget", (("ignoreBudget",),), switch_of),
    Row("excludes_recursion", (("excludeRecursion",),), switch_of),
    Row("prevents_recursion", (("preventRecursion",),), switch_of),
    Row("delay_until_recursion", (("delayUntilRecursion",),), _level),
    Row("groups", (("group",),), texts_of, ", ".join),
    Row("is_group_override", (("groupOverride",),), switch_of),
    Row("group_weight", (("groupWeight",),), count_of),
    Row("group_scoring", (("useGroupScoring",),), switch_of),
    Row("sticky", (("sticky",),), count_of),
    Row("cooldown", (("cooldown",),), count_of),
    Row("delay", (("delay",),), count_of),
    *(Row(attribute, ((camel,),), switch_of) for attribute, _, camel in _MATCHES),
    Row("triggers", (("triggers",),), texts_of, list),
    Row("filter_names", (("characterFilter", "names"),), texts_of, list),
    Row("filter_tags", (("characterFilter", "tags"),), texts_of, list),
    Row("filter_excludes", (("characterFilter", "isExclude"),), switch_of),
)
"""SillyTavern's world info."""


def read_fields(rows: tuple[Row, ...], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry that its format gives; the others have their defaults."""
    found: dict[str, Any] = {}
    for row in rows:
        for place in row.places:
            value = row.decode(_at(raw, place))
            if value is not None and (value != "" or place == row.places[-1]):
                found[row.attribute] = value
                break
    return found


def has(raw: Mapping[str, Any], place: Path) -> bool:
    """Whether there is a value at a place of an entry."""
    above: Any = raw
    for step in place[:-1]:
        above = above.get(step) if isinstance(above, Mapping) else None
    return isinstance(above, Mapping) and place[-1] in above


def _at(raw: Mapping[str, Any], place: Path) -> Any:
    value: Any = raw
    for step in place:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def changed_places(
    rows: tuple[Row, ...], raw: Mapping[str, Any], before: LoreEntry, after: LoreEntry
) -> dict[Path, Any]:
    """Return what of an entry's format changes when `before` becomes `after`.

    A value is written at every place that has one already and can say it, else at the first.
    """
    changes: dict[Path, Any] = {}
    for row in rows:
        value = getattr(after, row.attribute)
        if value == getattr(before, row.attribute):
            continue
        for place in _places_for(row, raw, value):
            changes[place] = None if value is None else _encoded(row, place, value)
    return changes


def _places_for(row: Row, raw: Mapping[str, Any], value: Any) -> list[Path]:
    present = [place for place in row.places if has(raw, place)]
    if row.attribute == "position" and len(row.places) > 1 and row.places[0] not in present:
        # The place of the format itself knows two values; the extension of SillyTavern knows all.
        is_plain = value in (Position.BEFORE_CHARACTER, Position.AFTER_CHARACTER)
        return [row.places[-1]] if is_plain else [row.places[0], *present]
    return present or list(row.places[:1])


def _encoded(row: Row, place: Path, value: Any) -> Any:
    if row.attribute == "position" and place == ("position",) and row.places[0] != place:
        return "before_char" if value is Position.BEFORE_CHARACTER else "after_char"
    return row.encode(value)


def all_places(rows: tuple[Row, ...], entry: LoreEntry) -> dict[Path, Any]:
    """Return every field of an entry at all its places, for an entry that is written for the first time."""
    found: dict[Path, Any] = {}
    for row in rows:
        value = getattr(entry, row.attribute)
        if value is None and row.places[0][0] == row.attribute:
            continue
        for place in row.places:
            found[place] = None if value is None else _encoded(row, place, value)
    return found
