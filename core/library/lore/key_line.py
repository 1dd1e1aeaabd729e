"""The keys of an entry as one line: commas between them, and quotation marks around a key that has one.

The commas of Chinese, Japanese and Arabic are commas too.
"""

import re
from collections.abc import Iterable
from typing import Final

from core.text.cleaning import clean_line

_COMMAS: Final = ",，、،"
_QUOTED: Final = re.compile(rf'\s*"((?:[^"]|"")*)"\s*(?:[{_COMMAS}]|\Z)')
_EXPRESSION: Final = re.compile(r"/(?:[^/\\]|\\.)+/[gimsuy]*")
_SLASHED: Final = re.compile(rf"\s*({_EXPRESSION.pattern})\s*(?:[{_COMMAS}]|\Z)")
_PLAIN: Final = re.compile(rf"([^{_COMMAS}]*)(?:[{_COMMAS}]|\Z)")


def shown_keys(keys: Iterable[str]) -> str:
    """Return the line that `typed_keys` reads as these keys, but for line breaks, which become blanks."""
    return ", ".join(_shown(clean_line(key)) for key in keys)


def typed_keys(line: str) -> tuple[str, ...]:
    """Return the keys in a line, without blank ones; an expression between slashes may have commas."""
    found: list[str] = []
    at = 0
    while at < len(line):
        quoted = _QUOTED.match(line, at)
        match = quoted or _SLASHED.match(line, at) or _PLAIN.match(line, at)
        if match is None:
            break
        key = match[1].replace('""', '"') if quoted else match[1]
        found.append(key.strip())
        at = match.end()
    return tuple(filter(None, found))


def _shown(key: str) -> str:
    if _EXPRESSION.fullmatch(key) or not (
        any(comma in key for comma in _COMMAS) or key.startswith(('"', "/"))
    ):
        return key
    doubled = key.replace('"', '""')
    return f'"{doubled}"'
