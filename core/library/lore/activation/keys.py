"""Keys of entries: plain ones with their case and word boundaries, and regular expressions with a time limit.

A whole word ends where no letter, vowel sign, digit or underscore of any script follows. SillyTavern takes
ASCII alone for letters, so that there “caf” is a word in “café”; here it is not. Scripts without spaces have
no boundaries, so in them every place is one, as there. Whether a letter and its accent are one character or
two does not count, in keys and in texts.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

import regex

from core.text.graphemes import composed
from core.text.letters import LETTER

SECONDS: Final = 0.05
"""The time limit of one expression on one text."""
LONGEST_PATTERN: Final = 4_000
LARGEST_PATTERN: Final = 20_000
"""Parts of an expression once its counted repetitions are written out, as `regex` does in memory."""

_SLASHED = re.compile(r"/(.+?)/([gimsuy]*)\Z", re.DOTALL)
_BARE_SLASH = re.compile(r"(?:^|[^\\])/")
_LETTER = re.compile(LETTER)
# Escapes that consume what follows them, counts that JavaScript does not have, and groups that are neither
# plain nor named nor look around.
_UNCERTAIN = re.compile(
    r"\\[xuUcpPNkgQELXR0-9]|\{(?!\d+(?:,\d*)?\})|\((?:\?(?!:|<?[=!]|P?<[A-Za-z_]\w*>)|\*)"
)
LEAST_NEEDED: Final = 3
"""Letters of a text that is looked for before an expression is tried."""
MOST_NEEDED: Final = 30
"""Texts that are looked for before one expression is tried."""
_EVERYTHING: Final = r"[\s\S]"
_LITERAL = re.compile(r"[^\\^$.|?*+()\[\]{}\x00-\x1f]+\Z")
_LINE_END = re.compile(r"\\[snrvf]|\n")
_FLAGS: Final = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
# A class without an end reaches to that of the text, so that each of its letters is read once.
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*+(?:\]|\Z)|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_TOKENS = re.compile(r"\((?:\?(?:<?[=!]|:|P?<\w+>))?|" + _PARTS.pattern, re.DOTALL)
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
    key = composed(key).strip()
    if not key:
        return None
    parts = _slashed(key) or ((key.replace("[^]", _EVERYTHING), "") if uses_regex else None)
    if parts is not None and _LITERAL.match(parts[0]) and not (parts[1].strip("gimsuy")):
        ignores_case = "i" in parts[1]
        return Term(lowered(parts[0]) if ignores_case else parts[0], not ignores_case, False)
    compiled = None if parts is None else _compiled(*parts)
    if parts is not None and compiled is not None:
        return Expression(key, *parts, _is_local(*parts), compiled)
    if uses_regex:
        return None
    text = key if is_case_sensitive else lowered(key)
    return Term(text, is_case_sensitive, is_whole_word and len(text.split()) == 1)


def lowered(text: str) -> str:
    """Return a text in lower case; the Turkish “İ” becomes an “i” without a dot of its own."""
    return text.lower().replace("i\u0307", "i")


def _slashed(key: str) -> tuple[str, str] | None:
    """Return the pattern and the flags of a key that is an expression by its form."""
    found = _SLASHED.match(key)
    if found is None or _BARE_SLASH.search(found.group(1)):
        return None
    # JavaScript has a class of everything.
    return found.group(1).replace("\\/", "/").replace("[^]", _EVERYTHING), found.group(2)


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
        # Each compiled expression is kept where it is used.
        return regex.compile(pattern, number, cache_pattern=False)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError, IndexError, KeyError):
        return None


def needed_terms(expression: Expression) -> tuple[Term, ...]:
    """Return plain texts of which every match of an expression has one, so that others need not be tried.

    None where that is not certain.
    """
    ignores_case = "i" in expression.flags
    texts = _needed(expression.pattern)
    if min(map(len, texts), default=0) < LEAST_NEEDED or len(texts) > MOST_NEEDED:
        return ()
    terms = (Term(lowered(text) if ignores_case else text, not ignores_case, False) for text in texts)
    return tuple(dict.fromkeys(terms))


def _needed(pattern: str) -> tuple[str, ...]:
    if _UNCERTAIN.search(pattern) is not None:
        return ()
    groups = [_Choices()]
    parts = _TOKENS.findall(pattern)
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        is_optional = following[:1] in ("?", "*", "{")
        if part[0] == "[" and "[" in part[1:]:  # a class with another in it ends elsewhere
            return ()
        if part[0] == "(":
            groups[-1].end_run()
            groups.append(_Choices(is_matched=part[-1] not in "=!"))
        elif part == ")":
            group = groups.pop()
            if not groups:
                return ()
            groups[-1].take(() if is_optional else group.needed())
        elif part == "|":
            groups[-1].end_choice()
        elif _is_certain(part) and not is_optional:
            groups[-1].add(part)
            if following == "+":
                groups[-1].end_run()
        else:
            groups[-1].end_run()
    return groups[0].needed() if len(groups) == 1 else ()


def _is_certain(part: str) -> bool:
    """Whether a part of an expression is a letter that lower case alone tells from all others.

    In Greek there are more forms of a letter than two.
    """
    if len(part) > 1 or not (part.isalnum() or part in " -'_"):
        return False
    return part.isascii() or (part.casefold() == part.lower() and not "\u0370" <= part < "\u0400")


class _Choices:
    """The choices of one group as they are read: of each the texts of which it needs one."""

    def __init__(self, *, is_matched: bool = True) -> None:
        self._is_matched = is_matched
        self._ended: list[tuple[str, ...]] = []
        self._best: tuple[str, ...] = ()
        self._run = ""

    def add(self, letter: str) -> None:
        """Add a letter to the text that is read."""
        self._run += letter

    def end_run(self) -> None:
        """End the text that is read; the next letter begins another."""
        run, self._run = self._run, ""
        self.take((run,))

    def take(self, texts: tuple[str, ...]) -> None:
        """Take texts of which the choice needs one, if they are more selective than its others."""
        self._best = max(self._best, texts, key=lambda texts: (min(map(len, texts), default=0), -len(texts)))

    def end_choice(self) -> None:
        """Begin the next choice."""
        self.end_run()
        self._ended.append(self._best)
        self._best = ()

    def needed(self) -> tuple[str, ...]:
        """Return the texts of which a match has one; none where a choice needs none."""
        self.end_choice()
        if not (self._is_matched and all(self._ended)):
            return ()
        return tuple(text for texts in self._ended for text in texts)[: MOST_NEEDED + 1]


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
        if not (_LETTER.match(before) or _LETTER.match(text, at + length)):
            return True
        at = text.find(term.text, at + 1)
    return False
