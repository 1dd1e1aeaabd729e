"""Keys of entries: plain ones with their case and word boundaries, and regular expressions with a time limit.

A whole word ends where no letter, digit or underscore of any script follows. SillyTavern takes ASCII alone
for letters, so that there “caf” is a word in “café”; here it is not. Scripts without spaces have no
boundaries, so in them every place is one, as there.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

import regex

from core.text.repetition import UNSPACED

SECONDS: Final = 0.05
"""The time limit of one expression on one text."""
LONGEST_PATTERN: Final = 4_000
LARGEST_PATTERN: Final = 20_000
"""Parts of an expression once its counted repetitions are written out, as `regex` does in memory."""

_SLASHED = re.compile(r"/(.+?)/([gimsuy]*)\Z", re.DOTALL)
_BARE_SLASH = re.compile(r"(?:^|[^\\])/")
_UNSPACED = re.compile(UNSPACED)
# Choices, groups, classes; escapes that consume what follows them; counts that JavaScript does not have.
_UNCERTAIN = re.compile(r"[|(\[]|\\[xucpPNkgQELXR0-9]|\{(?!\d+(?:,\d*)?\})")
LEAST_NEEDED: Final = 3
"""Letters of a text that is looked for before an expression is tried."""
_LITERAL = re.compile(r"[^\\^$.|?*+()\[\]{}\x00-\x1f]+\Z")
_LINE_END = re.compile(r"\\[snrvf]|\n")
_FLAGS: Final = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\{\d+(?:,\d*)?\}|.", re.DOTALL)
# What could match the mark between two messages, or tell the edge of a message from that of all.
_CROSSING = re.compile(r"\[\^|\\[SWDBAzZGKXRxucpPN0-9]|\^|\$|\(\?(?!:)|\x01|&&|--")


@dataclass(frozen=True, slots=True)
class Term:
    """A plain key as it is looked for: in lower case unless its case counts."""

    text: str
    is_case_sensitive: bool
    is_whole_word: bool


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression."""

    shown: str
    pattern: str
    flags: str
    is_local: bool
    """Whether it can match only within one message, so that messages can be looked at one by one."""
    compiled: Any = field(compare=False, repr=False)


def read_key(
    key: str, *, uses_regex: bool, is_case_sensitive: bool, is_whole_word: bool
) -> Term | Expression | None:
    """Return how a key is looked for; None for a key that matches nothing.

    `uses_regex` takes a key for an expression also without slashes; an invalid one then matches nothing. A
    key in slashes that is no valid expression is a plain text, and an expression that is a plain text is
    looked for as one.
    """
    key = key.strip()
    if not key:
        return None
    parts = _slashed(key) or ((key, "") if uses_regex else None)
    if parts is not None and _LITERAL.match(parts[0]) and not (parts[1].strip("gimsuy")):
        ignores_case = "i" in parts[1]
        return Term(parts[0].lower() if ignores_case else parts[0], not ignores_case, False)
    compiled = None if parts is None else _compiled(*parts)
    if parts is not None and compiled is not None:
        return Expression(key, *parts, _is_local(*parts), compiled)
    if uses_regex:
        return None
    text = key if is_case_sensitive else key.lower()
    return Term(text, is_case_sensitive, is_whole_word and len(text.split()) == 1)


def _slashed(key: str) -> tuple[str, str] | None:
    """Return the pattern and the flags of a key that is an expression by its form."""
    found = _SLASHED.match(key)
    if found is None or _BARE_SLASH.search(found.group(1)):
        return None
    return found.group(1).replace("\\/", "/"), found.group(2)


def _is_local(pattern: str, flags: str) -> bool:
    """Whether an expression cannot match the line end and the mark between two messages."""
    if "s" in flags or _CROSSING.search(pattern) is not None:
        return False
    return not ("." in pattern and _LINE_END.search(pattern) is not None)


def _compiled(pattern: str, flags: str) -> Any:
    """Return the expression made ready; None when it cannot be read, or is made to fill the memory."""
    if len(pattern) > LONGEST_PATTERN or _size(pattern) > LARGEST_PATTERN:
        return None
    number = 0
    for flag in flags:
        number |= _FLAGS.get(flag, 0)
    try:
        # JavaScript has a class of everything. Each compiled expression is kept where it is used.
        return regex.compile(pattern.replace("[^]", "[\\s\\S]"), number, cache_pattern=False)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError, IndexError, KeyError):
        return None


def needed_term(expression: Expression) -> Term | None:
    """Return a plain text that is in every match of an expression, so that others need not be tried.

    None where none is certain: only expressions without choices, groups and classes are looked at.
    """
    if _UNCERTAIN.search(expression.pattern) is not None:
        return None
    runs = [""]
    parts = _PARTS.findall(expression.pattern)
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        is_letter = len(part) == 1 and part.isascii() and (part.isalnum() or part in " -'_")
        if not is_letter or following[:1] in ("?", "*", "{"):
            runs.append("")
            continue
        runs[-1] += part
        if following == "+":
            runs.append("")
    best = max(runs, key=len)
    if len(best) < LEAST_NEEDED:
        return None
    ignores_case = "i" in expression.flags
    return Term(best.lower() if ignores_case else best, not ignores_case, False)


def _size(pattern: str) -> int:
    """Return how many parts an expression has, each counted as often as it is repeated by number."""
    sizes = [[0, 0]]  # for each open group: its parts so far, and those of its last item
    for part in _PARTS.findall(pattern):
        if part == "(":
            sizes.append([0, 0])
        elif part == ")" and len(sizes) > 1:
            size = sum(sizes.pop()) + 1
            sizes[-1] = [sum(sizes[-1]), size]
        elif len(part) > 1 and part[0] == "{":
            times = max(int(number or 0) for number in part[1:-1].split(","))
            sizes[-1][1] *= min(max(times, 1), LARGEST_PATTERN)
        else:
            sizes[-1] = [sum(sizes[-1]), 1]
    return sum(map(sum, sizes))


def place_of(expression: Expression, text: str, seconds: float) -> int | None:
    """Return where the expression first matches; None where it does not. Raises TimeoutError."""
    found = expression.compiled.search(text, timeout=seconds)
    return None if found is None else int(found.start())


def is_in(term: Term, text: str) -> bool:
    """Whether the text, which is in lower case unless the term's case counts, has the term."""
    at = text.find(term.text)
    if at < 0 or not term.is_whole_word:
        return at >= 0
    length = len(term.text)
    while at >= 0:
        before = text[at - 1 : at] if at else ""
        if not (_is_letter(before) or _is_letter(text[at + length : at + length + 1])):
            return True
        at = text.find(term.text, at + 1)
    return False


def _is_letter(character: str) -> bool:
    if not (character.isalnum() or character == "_"):
        return False
    return character.isascii() or _UNSPACED.match(character) is None
