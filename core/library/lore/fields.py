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


def list_of_texts(value: object) -> tuple[str, ...] | None:
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


def _same(value: Any) -> Any:
    return value


_IN_BOTH: Final[tuple[tuple[str, str, str, Decode, Encode], ...]] = (
    ("logic", "selectiveLogic", "selectiveLogic", _logic, int),
    ("depth", "depth", "depth", depth_of, _same),
    ("role", "role", "role", _role, int),
    ("outlet", "outlet_name", "outletName", text_of, _same),
    ("probability", "probability", "probability", percent_of, _tidy),
    ("uses_probability", "useProbability", "useProbability", switch_of, _same),
    ("scan_depth", "scan_depth", "scanDepth", depth_of, _same),
    ("whole_words", "match_whole_words", "matchWholeWords", switch_of, _same),
    ("ignores_budget", "ignore_budget", "ignoreBudget", switch_of, _same),
    ("excludes_recursion", "exclude_recursion", "excludeRecursion", switch_of, _same),
    ("prevents_recursion", "prevent_recursion", "preventRecursion", switch_of, _same),
    ("delay_until_recursion", "delay_until_recursion", "delayUntilRecursion", _level, _same),
    ("groups", "group", "group", list_of_texts, ", ".join),
    ("is_group_override", "group_override", "groupOverride", switch_of, _same),
    ("group_weight", "group_weight", "groupWeight", count_of, _same),
    ("group_scoring", "use_group_scoring", "useGroupScoring", switch_of, _same),
    ("sticky", "sticky", "sticky", count_of, _same),
    ("cooldown", "cooldown", "cooldown", count_of, _same),
    ("delay", "delay", "delay", count_of, _same),
    ("matches_persona", "match_persona_description", "matchPersonaDescription", switch_of, _same),
    ("matches_description", "match_character_description", "matchCharacterDescription", switch_of, _same),
    ("matches_personality", "match_character_personality", "matchCharacterPersonality", switch_of, _same),
    ("matches_depth_prompt", "match_character_depth_prompt", "matchCharacterDepthPrompt", switch_of, _same),
    ("matches_scenario", "match_scenario", "matchScenario", switch_of, _same),
    ("matches_notes", "match_creator_notes", "matchCreatorNotes", switch_of, _same),
    ("triggers", "triggers", "triggers", list_of_texts, list),
)
"""The fields that SillyTavern adds: their names here, in the extensions of a book, and in world info."""

BOOK_ROWS: Final = (
    Row("keys", (("keys",),), list_of_texts, list),
    Row("secondary", (("secondary_keys",),), list_of_texts, list),
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
    *(Row(field, (("extensions", name),), decode, encode) for field, name, _, decode, encode in _IN_BOTH),
    Row("filter_names", (("extensions", "character_filter", "names"),), list_of_texts, list),
    Row("filter_tags", (("extensions", "character_filter", "tags"),), list_of_texts, list),
    Row("filter_excludes", (("extensions", "character_filter", "isExclude"),), switch_of),
)
"""`character_book` of a card and `lorebook_v3`; what SillyTavern adds is in `extensions`."""

WORLD_ROWS: Final = (
    Row("keys", (("key",),), list_of_texts, list),
    Row("secondary", (("keysecondary",),), list_of_texts, list),
    Row("name", (("comment",),), text_of),
    Row("content", (("content",),), text_of),
    Row("is_enabled", (("disable",),), _not, lambda value: not value),
    Row("is_constant", (("constant",),), switch_of),
    Row("is_selective", (("selective",),), switch_of),
    Row("order", (("order",),), whole_of),
    Row("priority", (("priority",),), whole_of),
    Row("position", (("position",),), _position, int),
    Row("case_sensitive", (("caseSensitive",),), switch_of),
    *(Row(field, ((name,),), decode, encode) for field, _, name, decode, encode in _IN_BOTH),
    Row("filter_names", (("characterFilter", "names"),), list_of_texts, list),
    Row("filter_tags", (("characterFilter", "tags"),), list_of_texts, list),
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
