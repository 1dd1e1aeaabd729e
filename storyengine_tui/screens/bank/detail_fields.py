"""The details of an item as lines of text, and what the GM types for them; pure (design 15).

What the program counts itself, such as the uses of a skill, is shown and not typed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from core.domain.bank.details import (
    LONGEST_MS,
    Aspect,
    Attribute,
    Details,
    Performance,
    Relationship,
    ThreadCategory,
)
from core.domain.bank.item import Item
from core.domain.errors import IllegalCommandError
from core.domain.ids import ItemId
from core.text.cleaning import clean_line
from core.text.name_list import shown_names, typed_names
from storyengine_tui.screens.bank.item_numbers import (
    read_items,
    read_number,
    read_share,
    shown_items,
    shown_share,
)

NO_TIME: Final = "A time in the story is a number with d, h, min or s, such as “1 h 30 min”."
NO_PAIR: Final = "Attributes and relationships are pairs with a colon, and a semicolon between two of them."
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "category": tuple(one.value for one in ThreadCategory),
    "aspect": tuple(one.value for one in Aspect),
}
"""The fields of details that have one of a few values."""
MADE_OF: Final[dict[str, Callable[[str], object]]] = {"category": ThreadCategory, "aspect": Aspect}
_PAIRS: Final[dict[str, Callable[[str, str], object]]] = {
    "attributes": lambda name, value: Attribute(name=name, value=value),
    "relationships": lambda relation, target: Relationship(relation=relation, target=target),
}
_EXPOSURES: Final = ("exposure_current", "exposure_desired")
_COUNTED: Final = ("kind", "sequence_number", "performance")
_TOLD_APART: Final = ("kind", "exposure_current")
"""Fields shown with their values after fading."""
_LABELS: Final = {
    "participants": "Took part",
    "other": "Toward",
    "category": "Kind of topic",
    "attributes": "Qualities",
    "relationships": "Relations",
    "exposure_current": "Exposure",
    "exposure_desired": "Exposure wanted",
    "duration_ms": "Lasted",
    "sequence_number": "Event number",
    "data_item_ids": "Proves",
    "performance": "Used",
}
_UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1_000}
_TIME: Final = re.compile(r"([0-9]{1,6}(?:[.,][0-9]{1,3})?)\s*(d|h|min|s)\s*", re.IGNORECASE)


def label_of(name: str) -> str:
    """Return what a field of details is called."""
    return _LABELS.get(name, name.replace("_", " ").removeprefix("is ").capitalize())


def typed_fields(details: Details) -> Iterator[tuple[str, object]]:
    """Yield the fields of details that can be edited, with their values."""
    for one in fields(details):
        value = getattr(details, one.name)
        if one.name not in _COUNTED:
            yield one.name, value


def lines_of(details: Details, names: Mapping[ItemId, str]) -> Iterator[str]:
    """Yield a line for each field of details that says something; `names` are those of items."""
    for one in fields(details):
        value = getattr(details, one.name)
        if one.name in _TOLD_APART or value is None or value is False or value in ("", ()):
            continue
        if one.name == "data_item_ids":
            # An item that is no longer there has no name.
            found = [f"“{clean_line(names[item_id])}”" for item_id in value if item_id in names]
            value = ", ".join(found)
            if not value:
                continue
        elif one.name == "participants":
            value = ", ".join(value)
        yield f"{label_of(one.name)}: {'yes' if value is True else clean_line(shown(one.name, value))}"


def shown(name: str, value: object) -> str:
    """Return the value of a field on one line, as it is typed."""
    if value is None:
        return ""
    if name == "data_item_ids" and isinstance(value, tuple):
        return shown_items(value)
    if name == "duration_ms" and isinstance(value, int):
        return _time(value)
    if isinstance(value, Performance):
        return _uses(value)
    if isinstance(value, tuple):
        return shown_names(map(_shown_part, value))
    return shown_share(value) if isinstance(value, float) else clean_line(str(value))


def read(name: str, typed: str, before: Any, items: Sequence[Item] = ()) -> object:
    """Return what was typed for a field that had `before`; raise IllegalCommandError if it is not valid.

    A field that was not edited is as exact as it was. `items` are those that a quote can prove.
    """
    if typed == shown(name, before):
        return before
    if name in MADE_OF:
        return MADE_OF[name](typed)
    if name == "duration_ms":
        return _read_time(typed)
    if name == "data_item_ids":
        return read_items(typed, before, items)
    if name in _PAIRS:
        made = _PAIRS[name]
        parts = typed_names(typed, tuple(map(_shown_part, before)))
        known = {_shown_part(one): one for one in before}
        return tuple(known[part] if part in known else made(*_pair(part)) for part in parts)
    if isinstance(before, tuple):
        return typed_names(typed, before)
    if name in _EXPOSURES:
        return read_number(typed) if typed.strip() else None
    return read_share(typed, before) if isinstance(before, float) else typed


def _shown_part(part: object) -> str:
    if isinstance(part, Attribute):
        return f"{part.name}: {part.value}"
    if isinstance(part, Relationship):
        return f"{part.relation}: {part.target}"
    return str(part)


def _pair(part: str) -> tuple[str, str]:
    left, right = (text.strip() for text in [*re.split("[:：]", part, maxsplit=1), ""][:2])
    if not (left and right):
        raise IllegalCommandError(NO_PAIR)
    return left, right


def _time(milliseconds: int) -> str:
    """Return a time in the story in its units, to the second; “0.5 s” for less than one."""
    said, rest = list[str](), milliseconds
    for unit, length in _UNITS.items():
        count, rest = divmod(rest, length)
        if count:
            said.append(f"{count} {unit}")
    return " ".join(said) or f"{milliseconds / 1000:g} s"


def _read_time(typed: str) -> int | None:
    found = list(_TIME.finditer(typed.strip()))
    if not typed.strip():
        return None
    if "".join(one[0] for one in found) != typed.strip():
        raise IllegalCommandError(NO_TIME)
    time = round(sum(float(one[1].replace(",", ".")) * _UNITS[one[2].lower()] for one in found))
    if not 0 < time <= LONGEST_MS:
        raise IllegalCommandError(NO_TIME)
    return time


def _uses(made: Performance) -> str:
    count = made.execution_count
    said = ["once" if count == 1 else f"{count:,} times"]
    if made.success_rate is not None:
        said.append(f"{made.success_rate:.0%} went well")
    if made.last_execution is not None:
        said.append(f"last at prompt {made.last_execution:,}")
    if made.average_duration_ms is not None:
        said.append(f"{_time(made.average_duration_ms)} each")
    return ", ".join(said)
