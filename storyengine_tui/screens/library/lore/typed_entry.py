"""The fields of an entry of a lorebook as a GM reads and writes them, and what they make of the entry."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from typing import Any, Final, Self

from core.library.lore.book import GREATEST_DEPTH, MATCHES, MOST_KEYS, Logic, LoreEntry, Position
from core.library.lore.key_line import shown_keys, typed_keys
from core.text.cleaning import clean, clean_line

UNUSED: Final = "unused"
"""Word for secondary keys that do not count."""
LOGICS: Final[Mapping[str, str]] = {
    Logic.AND_ANY.name: "and any of them",
    Logic.AND_ALL.name: "and all of them",
    Logic.NOT_ANY.name: "and none of them",
    Logic.NOT_ALL.name: "and not all of them",
    UNUSED: "(not used)",
}
POSITIONS: Final[Mapping[str, str]] = {
    Position.BEFORE_CHARACTER.name: "before the character",
    Position.AFTER_CHARACTER.name: "after the character",
    Position.NOTE_TOP.name: "above the note",
    Position.NOTE_BOTTOM.name: "below the note",
    Position.AT_DEPTH.name: "at a depth",
    Position.EXAMPLES_TOP.name: "above the examples",
    Position.EXAMPLES_BOTTOM.name: "below the examples",
    Position.OUTLET.name: "at its outlet",
}
SWITCHES: Final[Mapping[str, bool | None]] = {"as set": None, "yes": True, "no": False}
"""A switch that may leave it to the book or the settings."""
TICKS: Final = (
    "is_enabled",
    "is_constant",
    "ignores_budget",
    "excludes_recursion",
    "prevents_recursion",
    "is_group_override",
    "filter_excludes",
    *MATCHES,
)
"""Switches that are on or off, as they are in an entry."""
KEYS: Final = ("keys", "secondary", "filter_names", "filter_tags", "triggers")
"""Fields with several keys or names, with commas between."""
GREATEST: Final = 1_000_000
GREATEST_LEVEL: Final = 1_000
NUMBERS: Final[Mapping[str, tuple[str, int, int]]] = {
    "order": ("The order", -GREATEST, GREATEST),
    "depth": ("The depth", 0, GREATEST_DEPTH),
    "scan_depth": ("The scan depth", 0, GREATEST_DEPTH),
    "delay_until_recursion": ("The level of recursion", 0, GREATEST_LEVEL),
    "group_weight": ("The weight", 0, GREATEST),
    "sticky": ("Sticky", 0, GREATEST),
    "cooldown": ("The cooldown", 0, GREATEST),
    "delay": ("The delay", 0, GREATEST),
}
"""Each number: how a sentence calls it, and its bounds."""
OPTIONAL: Final = ("scan_depth",)
"""Numbers that may be left blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedEntry:
    """The fields of an entry as they were typed or chosen."""

    name: str
    keys: str
    secondary: str
    logic: str
    content: str
    is_enabled: bool
    is_constant: bool
    order: str
    probability: str
    position: str
    depth: str
    outlet: str
    ignores_budget: bool
    scan_depth: str
    case_sensitive: str
    whole_words: str
    excludes_recursion: bool
    prevents_recursion: bool
    delay_until_recursion: str
    groups: str
    group_weight: str
    is_group_override: bool
    group_scoring: str
    sticky: str
    cooldown: str
    delay: str
    filter_names: str
    filter_tags: str
    filter_excludes: bool
    triggers: str
    matches_description: bool
    matches_personality: bool
    matches_scenario: bool
    matches_persona: bool
    matches_depth_prompt: bool
    matches_notes: bool

    @classmethod
    def of(cls, entry: LoreEntry) -> Self:
        """Return the fields that show an entry."""
        is_used = entry.is_selective or not entry.secondary
        numbers = {name: getattr(entry, name) for name in NUMBERS}
        alike: dict[str, Any] = {
            **{name: getattr(entry, name) for name in TICKS},
            **{name: "" if number is None else str(number) for name, number in numbers.items()},
            **{name: shown_keys(getattr(entry, name)) for name in KEYS},
        }
        return cls(
            **alike,
            name=clean_line(entry.name),
            logic=entry.logic.name if is_used else UNUSED,
            content=entry.content,
            probability=f"{entry.probability:g}" if entry.uses_probability else "",
            position=entry.position.name,
            outlet=clean_line(entry.outlet),
            case_sensitive=_word(entry.case_sensitive),
            whole_words=_word(entry.whole_words),
            groups=", ".join(map(clean_line, entry.groups)),
            group_scoring=_word(entry.group_scoring),
        )

    def with_values(self, values: Mapping[str, str | bool]) -> "TypedEntry":
        """Return the same with these values of fields, by their names."""
        found: dict[str, Any] = dict(values)
        return replace(self, **found)

    def put_into(self, entry: LoreEntry) -> tuple[LoreEntry, str]:
        """Return the entry with every field that was changed and can be stored.

        What is wrong with the first other is said in a sentence. A field that shows what the entry has stays
        as it is there, whatever cannot be shown of it.
        """
        shown = TypedEntry.of(entry)
        changes: dict[str, Any] = {}
        problems: list[str] = []
        for field in fields(TypedEntry):
            if getattr(self, field.name) != getattr(shown, field.name):
                problem = self._read(field.name, changes)
                problems += [problem] if problem else []
        if (self.logic, self.secondary) != (shown.logic, shown.secondary):
            changes |= self._selection(entry)
        return replace(entry, **changes), next(iter(problems), "")

    def _selection(self, entry: LoreEntry) -> dict[str, Any]:
        """Return whether secondary keys count, and how, once one of both was changed."""
        logic = entry.logic if self.logic == UNUSED else Logic[self.logic]
        return {"is_selective": self.logic != UNUSED, "logic": logic}

    def _read(self, name: str, changes: dict[str, Any]) -> str:
        """Add what a field says to `changes`; return what is wrong with it."""
        value = getattr(self, name)
        match name:
            case "name" | "outlet":
                changes[name] = clean_line(value)
            case "content":
                changes[name] = clean(value)
            case _ if name in KEYS:
                keys = typed_keys(clean(value))
                if len(keys) > MOST_KEYS:
                    return f"A field of an entry has at most {MOST_KEYS:,} keys or names."
                changes[name] = keys
            case "groups":
                changes[name] = tuple(filter(None, map(clean_line, value.split(","))))
            case "logic":
                pass  # Together with the keys that it is about.
            case "position":
                changes[name] = Position[value]
            case "case_sensitive" | "whole_words" | "group_scoring":
                changes[name] = SWITCHES[value]
            case "probability":
                return _read_percent(value, changes)
            case _ if name in NUMBERS:
                return _read_number(name, value, changes)
            case _:
                changes[name] = value
        return ""


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """The fields of an entry that is not stored as it was typed."""

    uid: str
    before: str
    """The mark of the entry as it was stored then."""
    typed: TypedEntry


def mark_of(entry: LoreEntry | None) -> str:
    """Return a mark that is another one once a field is; empty for an entry that is not stored."""
    if entry is None:
        return ""
    return sha256(json.dumps(asdict(TypedEntry.of(entry))).encode()).hexdigest()


def to_json(kept: Iterable[KeptEntry]) -> str:
    """Return entries as a text to keep; empty for none."""
    rows = [{"uid": one.uid, "before": one.before, **asdict(one.typed)} for one in kept]
    return json.dumps(rows) if rows else ""


def from_json(text: str) -> list[KeptEntry]:
    """Return the entries in a text that was kept; none of any other text.

    Earlier versions kept one entry, without its mark.
    """
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(rows, dict):
        rows = [rows]
    found = map(_read_kept, rows) if isinstance(rows, list) else ()
    return [one for one in found if one is not None]


def _read_kept(row: object) -> KeptEntry | None:
    if not isinstance(row, dict):
        return None
    uid, before = row.pop("uid", None), row.pop("before", "")
    if not isinstance(uid, str) or not isinstance(before, str):
        return None
    kinds = {field.name: bool if field.type in (bool, "bool") else str for field in fields(TypedEntry)}
    if row.keys() != kinds.keys() or any(type(row[name]) is not kind for name, kind in kinds.items()):
        return None
    chosen = (
        ("logic", LOGICS),
        ("position", POSITIONS),
        ("case_sensitive", SWITCHES),
        ("whole_words", SWITCHES),
        ("group_scoring", SWITCHES),
    )
    if any(row[name] not in known for name, known in chosen):
        return None
    return KeptEntry(uid, before, TypedEntry(**row))


def _word(switch: bool | None) -> str:
    return next(word for word, value in SWITCHES.items() if value is switch)


def _read_number(name: str, text: str, changes: dict[str, Any]) -> str:
    called, least, most = NUMBERS[name]
    text = text.strip()
    if not text and name in OPTIONAL:
        changes[name] = None
        return ""
    digits = text.removeprefix("-")
    if (
        digits.isascii()
        and digits.isdecimal()
        and len(digits) <= len(str(most))
        and least <= int(text) <= most
    ):
        changes[name] = int(text)
        return ""
    return f"{called} is a whole number from {least:,} to {most:,}."


def _read_percent(text: str, changes: dict[str, Any]) -> str:
    text = text.strip()
    changes["uses_probability"] = bool(text)
    if not text:
        return ""
    whole, _, part = text.partition(".")
    is_number = f"{whole}{part or 0}".isdecimal() and text.isascii() and len(text) <= 8
    if not is_number or float(text) > 100:
        del changes["uses_probability"]
        return "The chance is 0 to 100 percent; blank means always."
    changes["probability"] = float(text)
    return ""
