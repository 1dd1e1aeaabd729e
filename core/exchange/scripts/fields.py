"""Fields of a chapter script: types and lengths are checked, and every problem is noted with its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True, slots=True)
class FieldReader:
    """Reads the fields of one table; a faulty field is reported and reads as empty, so that reading goes on.

    The readers of all tables of a file share its problems and its cast.
    """

    table: Mapping[str, object]
    owner: str = ""
    """The beginning of each location, such as `prompt 4: `; empty for the file itself."""
    problems: list[ScriptProblem] = field(default_factory=list)
    cast: dict[Slot, str] = field(default_factory=dict)
    profiles: dict[Slot, Profile] = field(default_factory=dict)
    """Data of characters besides name and identity."""

    def report(self, key: str, message: str) -> None:
        """Note a problem of a field, and go on."""
        self.problems.append(ScriptProblem(f"{self.owner}{key}", message))

    def refuse_unknown(self, known: tuple[str, ...]) -> None:
        """Report every key that is not known, with the one that was meant."""
        for key in self.table:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                advice = f"did you mean {near[0]}?" if near else f"the keys here are {', '.join(known)}."
                self.report(quoted(key), f"is not a known key; {advice}")

    def tables(self, key: str) -> "list[FieldReader] | None":
        """Return readers of the tables under a key; None, reported, where it is something else."""
        value = self.table.get(key, [])
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            return [replace(self, table=one, owner=f"{key} {n}: ") for n, one in enumerate(value, start=1)]
        self.report(key, f"must be written as a table for each one, headed [[{key}]].")
        return None

    def lines(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the names in a list, each on one line; the default where there is no list."""
        if key not in self.table:
            return tuple(default)
        listed = self.listed(key)
        found = tuple(one for one in listed if isinstance(one, str))
        if len(found) < len(listed):
            self.report(key, "must be a list of texts in quotes.")
        return lines_of(found)

    def text(self, key: str, limit: int, *, is_required: bool = False) -> str:
        """Return a text, cleaned and without white space around it; empty, reported, where it cannot be."""
        value = self.table.get(key, "")
        if not isinstance(value, str):
            self.report(key, f"must be text in quotes, not {kind_of(value)}.")
            return ""
        text = clean(value).strip()
        if is_blank(text):
            if is_required:
                self.report(key, "is missing." if key not in self.table else "is blank.")
            return ""
        if len(text) > limit:
            self.report(key, f"has {len(text):,} characters, and {limit:,} fit.")
        return text

    def number(self, key: str, bounds: tuple[int, int], default: int) -> int:
        """Return a whole number within `bounds`, both included; the default, reported, for another value."""
        if key not in self.table:
            return default
        value, (least, most) = self.table[key], bounds
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self.report(key, f"must be a whole number from {least:,} to {most:,}.")
        return default

    def switch(self, key: str, *, is_on: bool) -> bool:
        """Return whether something is on; the default `is_on`, reported, where it is neither on nor off."""
        value = self.table.get(key, is_on)
        if isinstance(value, bool):
            return value
        self.report(key, f"must be true or false, not {kind_of(value)}.")
        return is_on

    def listed(self, key: str) -> list[object]:
        """Return the entries of a list; none, reported, where it is something else."""
        value = self.table.get(key, [])
        if isinstance(value, list):
            return value
        self.report(key, f"must be a list in brackets, not {kind_of(value)}.")
        return []

    def slots(self, key: str) -> list[Slot]:
        """Return the characters of a list of names and slot numbers, in its order."""
        slots = [self.slot_of(key, one) for one in self.listed(key)]
        return [slot for slot in slots if slot is not None]

    def characters(self, key: str) -> Audience | None:
        """Return the characters of a list, or None where the table has no such list."""
        return audience_of(self.slots(key), self.cast) if key in self.table else None

    def slot_of(self, key: str, to: object) -> Slot | None:
        """Return the character that a name or a slot number means; None, reported, where it means none."""
        cast = self.cast
        if isinstance(to, int) and not isinstance(to, bool):
            slot = next((slot for slot in cast if slot == to), None)
        elif isinstance(to, str):
            profiles = self.profiles
            called = {slot: (name, *profiles.get(slot, NO_PROFILE).aliases) for slot, name in cast.items()}
            slot = slot_called(to, called)
        else:
            self.report(key, f"must be a name or a slot number, not {kind_of(to)}.")
            return None
        if slot is None and cast:
            names = ", ".join(cast.values())
            # Python refuses to print numbers with very many digits.
            shown = quoted(to) if isinstance(to, str) else str(to) if abs(to) < 1_000_000 else "that number"
            self.report(key, f"= {shown} names no character; the cast is {names}.")
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
