"""Delimits the sections of a model input, so that the model can tell material from instructions.

A section is enclosed by two mark lines. Lines inside that could pass for one are escaped with a backslash:
those that begin with two or more equals signs or lookalikes, with any white or invisible space before and
between.
"""

import re
from difflib import get_close_matches
from enum import StrEnum

# All line ends of str.splitlines, so that every reader sees the same lines.
_BREAKS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
# Ignorable and format characters of Unicode, and blank fillers: a model may ignore them too.
_INVISIBLE = (
    r"\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_ONE, _TWO = "=＝﹦⁼₌꞊゠᐀⹀═🟰", "⩵⩶"
_GAP = rf"(?:[^\S{_BREAKS}]|[{_INVISIBLE}])*"
_MARK_LIKE = re.compile(rf"(^|[{_BREAKS}])(?={_GAP}(?:[{_TWO}]|[{_ONE}][{_INVISIBLE}]*[{_ONE}{_TWO}]))")

_MARK_LINE = re.compile(r"^[ \t]*={2,}[ \t]*(?:END[ \t]+)?([A-Z_]{3,40})(?=[ \t=]|$)", re.MULTILINE)
_CODE_NAME = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
_ALIKE = 0.8
"""The least likeness to a name of ours: a small model writes `USER_PROMIT` for `USER_PROMPT`."""

EMPTY = "(none)"
"""The text of an empty section, so that every input has the same shape."""


class SegmentName(StrEnum):
    """The sections of an input, by the names that the system prompts use."""

    SYSTEM_PROMPT = "SYSTEM_PROMPT"
    EXAMPLE_INPUT = "EXAMPLE_INPUT"
    EXAMPLE_OUTPUT = "EXAMPLE_OUTPUT"
    WORLD_TEXT = "WORLD_TEXT"
    CHAPTER_TEXT = "CHAPTER_TEXT"
    AGENT_ROSTER = "AGENT_ROSTER"
    AGENT_IDENTITY = "AGENT_IDENTITY"
    CHARACTER_SHEET = "CHARACTER_SHEET"
    SECRETS = "SECRETS"
    STRUCTURED_MEMORY = "STRUCTURED_MEMORY"
    RECENT_CONTEXT = "RECENT_CONTEXT"
    LORE = "LORE"
    RECALLED = "RECALLED"
    USER_PROMPT = "USER_PROMPT"
    STRUCTURED_MEMORY_SO_FAR = "STRUCTURED_MEMORY_SO_FAR"
    RECENT_CONTEXT_CHUNK = "RECENT_CONTEXT_CHUNK"
    NARRATIVE_AGENT_DEFINITION = "NARRATIVE_AGENT_DEFINITION"
    LENGTH_TARGET = "LENGTH_TARGET"
    PART = "PART"
    STORY_SO_FAR = "STORY_SO_FAR"
    WORDS_TO_KEEP = "WORDS_TO_KEEP"
    FULL_TRANSCRIPT = "FULL_TRANSCRIPT"
    GM_TEXT = "GM_TEXT"
    NOTE = "NOTE"
    TASK = "TASK"
    CUE = "CUE"
    PROMPT_BLOCK = "PROMPT_BLOCK"
    FAILED_OUTPUT = "FAILED_OUTPUT"
    PROBLEMS = "PROBLEMS"


def opening_mark(name: SegmentName) -> str:
    """Return the line above a section."""
    return f"=== {name} ==="


def closing_mark(name: SegmentName) -> str:
    """Return the line below a section."""
    return f"=== END {name} ==="


def escape_delimiters(text: str) -> str:
    """Return `text` with a backslash before lines that could pass for a mark line."""
    # Most texts have none of these, and the expression looks at each letter of a long one.
    if not any(letter in text for letter in _ONE + _TWO):
        return text
    return _MARK_LIKE.sub(r"\1\\", text)


def delimit(name: SegmentName, text: str) -> str:
    """Return `text` between the marks of its section; blank text becomes `(none)`."""
    inner = escape_delimiters(text) if text.strip() else EMPTY
    return f"{opening_mark(name)}\n{inner}\n{closing_mark(name)}"


def first_mark(text: str) -> int | None:
    """Return where the first line begins that a model wrote as one of our marks; None without one."""
    marks = (found.start() for found in _MARK_LINE.finditer(text) if _is_like_ours(found[1]))
    return next(marks, None)


def names_section(text: str) -> bool:
    """Whether a model names a section of its input, which no story does."""
    return any(_is_like_ours(found[0]) for found in _CODE_NAME.finditer(text))


def _is_like_ours(name: str) -> bool:
    """Whether it is, or nearly is, the name of a section."""
    # A story may have a single word in capitals, such as NOTES.
    return name in set(SegmentName) or ("_" in name and bool(get_close_matches(name, SegmentName, 1, _ALIKE)))
