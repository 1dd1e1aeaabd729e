"""Macros in the texts of cards and lorebooks: `{{char}}`, `{{user}}`, `{{random:a,b}}` and their kin.

A text is expanded once, from the inside out, and what was put in is never read again: a name or a reply that
contains a macro stays as it is. A macro that is not known is left alone, and so is one within too many.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

MOST_NESTED: Final = 20
"""Macros that one may be in. Each reads all of its text, so their work grows with its square otherwise."""
MOST_DICE: Final = 100
MOST_SIDES: Final = 100_000

_MARKS = re.compile(r"\{\{(?!\{)|\}\}|<(?:user|char|bot)>", re.IGNORECASE)
_COMMA = re.compile(r"(?<!\\),")
_NAME = re.compile(r"\s*(//|[a-z_]+)", re.IGNORECASE)
_DICE = re.compile(r"(\d{0,3})[dD](\d{1,6})(?:([+-])(\d{1,6}))?\Z")
_LEGACY: Final = {"<user>": "user", "<char>": "char", "<bot>": "char"}


@dataclass(frozen=True, slots=True)
class MacroNames:
    """Values of macros. `values` has more of them, such as `original`, by their names in lower case."""

    char: str = "{{char}}"
    user: str = "{{user}}"
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draws:
    """Source of random choices. `pick` stays the same as long as `lasting` does; `random` and `roll` also
    depend on `turn`, so the same input can be made again exactly."""

    lasting: str
    turn: str = ""


@dataclass(slots=True)
class _Piece:
    text: str
    is_raw: bool
    """Whether the text is the template's own, in which commas and colons mean something."""


_Pieces = list[_Piece]


def has_macros(text: str) -> bool:
    """Whether `expand` could change a text."""
    return "{{" in text or "<" in text


def expand(text: str, names: MacroNames, draws: Draws, *, shows_hidden: bool = False) -> str:
    """Return `text` with its macros expanded; `shows_hidden` keeps the text of `{{hidden_key:…}}`."""
    if not has_macros(text):
        return text
    expansion = _Expansion(names, draws, shows_hidden)
    frames: list[_Pieces] = [[]]
    at = too_deep = 0
    for mark in _MARKS.finditer(text):
        if mark.start() < at:
            continue
        token = mark.group()
        if (token == "{{" and len(frames) > MOST_NESTED) or (token == "}}" and too_deep):
            too_deep += 1 if token == "{{" else -1
            continue
        frames[-1].append(_Piece(text[at : mark.start()], True))
        at = mark.end()
        if token == "{{":
            frames.append([])
        elif token != "}}":
            frames[-1].append(_Piece(expansion.name_of(_LEGACY[token.lower()]), False))
        elif len(frames) > 1:
            body = frames.pop()
            frames[-1] += expansion.evaluated(body)
        else:
            frames[-1].append(_Piece("}}", True))
    frames[-1].append(_Piece(text[at:], True))
    return "{{".join("".join(piece.text for piece in frame) for frame in frames)


class _Expansion:
    """Evaluates the macros of one text; counts them, so that two equal ones draw for themselves."""

    def __init__(self, names: MacroNames, draws: Draws, shows_hidden: bool) -> None:
        self._names = names
        self._draws = draws
        self._shows_hidden = shows_hidden
        self._drawn = 0

    def name_of(self, macro: str) -> str:
        """Return the name for `char` or `user`."""
        return self._names.char if macro == "char" else self._names.user

    def evaluated(self, body: _Pieces) -> _Pieces:
        """Return what a macro becomes; the macro itself when it is not known."""
        found = _NAME.match(body[0].text) if body and body[0].is_raw else None
        value = None
        if found is not None:
            rest = body[0].text[found.end() :]
            arguments = [_Piece(rest, True), *body[1:]]
            value = self._value(found.group(1).lower(), arguments)
        if value is None:
            return [_Piece("{{", False), *body, _Piece("}}", False)]
        return [_Piece(value, False)]

    def _value(self, name: str, arguments: _Pieces) -> str | None:
        plain = "".join(piece.text for piece in arguments)
        if name in ("//", "comment"):
            return "" if name == "//" or plain.lstrip().startswith(":") else None
        if not plain.strip():
            if name in ("char", "user"):
                return self.name_of(name)
            return self._names.values.get(name)
        if not (plain[0] == ":" or (name == "roll" and plain[0] == " ")):
            return None
        return self._with_arguments(name, arguments, plain.lstrip(": "))

    def _with_arguments(self, name: str, arguments: _Pieces, plain: str) -> str | None:
        match name:
            case "random" | "pick":
                choices = _choices(arguments)
                turn = self._draws.turn if name == "random" else ""
                return choices[int(self._drawn_from(name, turn) * len(choices))]
            case "roll":
                return self._roll(plain.strip())
            case "reverse":
                return plain[::-1]
            case "hidden_key":
                return plain if self._shows_hidden else ""
            case _:
                return None

    def _roll(self, dice: str) -> str | None:
        found = _DICE.match(f"1d{dice}" if dice.isdecimal() else dice)
        if found is None:
            return None
        count, sides = int(found.group(1) or 1), int(found.group(2))
        if not (1 <= count <= MOST_DICE and 1 <= sides <= MOST_SIDES):
            return None
        total = sum(int(self._drawn_from("roll", self._draws.turn) * sides) + 1 for _ in range(count))
        change = int(found.group(4) or 0)
        return str(total - change if found.group(3) == "-" else total + change)

    def _drawn_from(self, name: str, turn: str) -> float:
        self._drawn += 1
        return drawn(self._draws.lasting, turn, name, str(self._drawn))


def drawn(*parts: str) -> float:
    """Return a number from 0 up to, but not including, 1 that depends on `parts` alone."""
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=6).digest(), "big") / 2**48


def _choices(arguments: _Pieces) -> list[str]:
    """Return the choices, which `::` separates where it is used, else commas; `\\,` is a comma."""
    first = arguments[0].text
    doubled = first.startswith("::")
    pieces = [_Piece(first[2 if doubled else 1 :], True), *arguments[1:]]
    separator = "::" if any("::" in piece.text for piece in pieces if piece.is_raw) else ","
    choices = [""]
    for piece in pieces:
        if not piece.is_raw:
            choices[-1] += piece.text
            continue
        parts = piece.text.split("::") if separator == "::" else _COMMA.split(piece.text)
        parts = [part.replace("\\,", ",") for part in parts]
        choices[-1] += parts[0]
        choices += parts[1:]
    return [choice.strip() for choice in choices]
