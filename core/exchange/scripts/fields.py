"""Fields of a chapter script: types and lengths are checked, and every problem is noted with its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from core.domain.audience import Audience, audience_of
from core.domain.session.cast import slot_called
from core.domain.session.profile import NO_PROFILE, Profile, lines_of
from core.domain.slot import Slot
from core.text.cleaning import clean, clean_line, is_blank


@dataclass(frozen=True, slots=True)
class ScriptProblem:
    """One problem to fix: `location` is a field, a line or the file, `message` describes it."""

    location: str
    message: str

    def __str__(self) -> str:
        return f"{self.location} {self.message}"


class FieldReader:
    """Reads fields and collects problems; a faulty field reads as empty, so that the reader can go on."""

    def __init__(self) -> None:
        self.problems: list[ScriptProblem] = []
        self.profiles: dict[Slot, Profile] = {}
        """Data of characters besides name and identity."""

    def report(self, location: str, message: str) -> None:
        """Note a problem, and go on."""
        self.problems.append(ScriptProblem(location, message))

    def refuse_unknown(self, table: Mapping[str, object], known: tuple[str, ...], owner: str) -> None:
        """Report every key that is not known, with the one that was meant."""
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                advice = f"did you mean {near[0]}?" if near else f"the keys here are {', '.join(known)}."
                self.report(f"{owner}{quoted(key)}", f"is not a known key; {advice}")

    def tables(self, document: Mapping[str, object], key: str) -> list[Mapping[str, object]] | None:
        """Return the tables under a key; None, reported, where it is something else."""
        value = document.get(key, [])
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            return value
        self.report(key, f"must be written as a table for each one, headed [[{key}]].")
        return None

    def lines(
        self, table: Mapping[str, object], key: str, owner: str, default: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the names in a list, each on one line; the default where there is no list."""
        found = [one for one in self.listed(table, key, owner) if isinstance(one, str)]
        if key in table and len(found) < len(self.listed(table, key, owner)):
            self.report(f"{owner}{key}", "must be a list of texts in quotes.")
        return lines_of(tuple(found)) if key in table else tuple(default)

    def text(
        self, table: Mapping[str, object], key: str, location: str, limit: int, *, is_required: bool = False
    ) -> str:
        """Return a text, cleaned and without white space around it; empty, reported, where it cannot be."""
        value = table.get(key, "")
        if not isinstance(value, str):
            self.report(location, f"must be text in quotes, not {kind_of(value)}.")
            return ""
        text = clean(value).strip()
        if is_blank(text):
            if is_required:
                self.report(location, "is missing." if key not in table else "is blank.")
            return ""
        if len(text) > limit:
            self.report(location, f"has {len(text):,} characters, and {limit:,} fit.")
        return text

    def number(
        self, table: Mapping[str, object], key: str, location: str, bounds: tuple[int, int], default: int
    ) -> int:
        """Return a whole number within `bounds`, both included; the default, reported, for another value."""
        if key not in table:
            return default
        value, (least, most) = table[key], bounds
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self.report(location, f"must be a whole number from {least:,} to {most:,}.")
        return default

    def switch(self, table: Mapping[str, object], key: str, location: str, *, is_on: bool) -> bool:
        """Return whether something is on; the default `is_on`, reported, where it is neither on nor off."""
        value = table.get(key, is_on)
        if isinstance(value, bool):
            return value
        self.report(location, f"must be true or false, not {kind_of(value)}.")
        return is_on

    def listed(self, table: Mapping[str, object], key: str, owner: str) -> list[object]:
        """Return the entries of a list; none, reported, where it is something else."""
        value = table.get(key, [])
        if isinstance(value, list):
            return value
        self.report(f"{owner}{key}", f"must be a list in brackets, not {kind_of(value)}.")
        return []

    def characters(
        self, table: Mapping[str, object], key: str, cast: Mapping[Slot, str], owner: str
    ) -> Audience | None:
        """Return the characters of a list of names and slot numbers; None where there is no such list.

        All of the cast are everyone, as in a session.
        """
        if key not in table:
            return None
        slots = (self.slot_of(one, cast, f"{owner}{key}") for one in self.listed(table, key, owner))
        return audience_of([slot for slot in slots if slot is not None], cast)

    def slot_of(self, to: object, cast: Mapping[Slot, str], location: str) -> Slot | None:
        """Return the character that a name or a slot number means; None, reported, where it means none."""
        if isinstance(to, int) and not isinstance(to, bool):
            slot = next((slot for slot in cast if slot == to), None)
        elif isinstance(to, str):
            profiles = self.profiles
            called = {slot: (name, *profiles.get(slot, NO_PROFILE).aliases) for slot, name in cast.items()}
            slot = slot_called(to, called)
        else:
            self.report(location, f"must be a name or a slot number, not {kind_of(to)}.")
            return None
        if slot is None and cast:
            names = ", ".join(cast.values())
            # Python refuses to print numbers with very many digits.
            shown = quoted(to) if isinstance(to, str) else str(to) if abs(to) < 1_000_000 else "that number"
            self.report(location, f"= {shown} names no character; the cast is {names}.")
        return slot


_KINDS: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}


def kind_of(value: object) -> str:
    """Name the type of a TOML value for the GM."""
    return _KINDS.get(type(value), "a date or time")


def quoted(text: str) -> str:
    """Return the beginning of a text of the file, in quotes and on one line."""
    line = clean_line(text)
    shown = line if len(line) <= 60 else line[:59] + "…"
    return f'"{shown}"'
