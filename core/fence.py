"""Fences around sections of an input, so that a model can tell material from instructions.

A section stands between two mark lines. Nothing inside can look like one: a line that begins with two
or more equals signs, of any width, after any white or invisible space, gets a backslash in front.
"""

import re
from enum import StrEnum

# Every character at which str.splitlines breaks is a line's end, so that no reader sees other lines.
_BREAKS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_INVISIBLE = r"\u200b-\u200f\u2060\ufeff\u00ad"
_MARK_LIKE = re.compile(rf"(^|[{_BREAKS}])(?=(?:[^\S{_BREAKS}]|[{_INVISIBLE}])*[=＝﹦]{{2}})")

EMPTY = "(none)"
"""What stands in a section that has no text, so that every input has the same shape."""


class SegmentName(StrEnum):
    """The sections of an input; the system prompts speak of them by these names."""

    SYSTEM_PROMPT = "SYSTEM_PROMPT"
    EXAMPLE_INPUT = "EXAMPLE_INPUT"
    EXAMPLE_OUTPUT = "EXAMPLE_OUTPUT"
    WORLD_TEXT = "WORLD_TEXT"
    CHAPTER_TEXT = "CHAPTER_TEXT"
    AGENT_ROSTER = "AGENT_ROSTER"
    AGENT_IDENTITY = "AGENT_IDENTITY"
    STRUCTURED_MEMORY = "STRUCTURED_MEMORY"
    RECENT_CONTEXT = "RECENT_CONTEXT"
    USER_PROMPT = "USER_PROMPT"
    STRUCTURED_MEMORY_SO_FAR = "STRUCTURED_MEMORY_SO_FAR"
    RECENT_CONTEXT_CHUNK = "RECENT_CONTEXT_CHUNK"
    NARRATIVE_AGENT_DEFINITION = "NARRATIVE_AGENT_DEFINITION"
    LENGTH_TARGET = "LENGTH_TARGET"
    PART = "PART"
    STORY_SO_FAR = "STORY_SO_FAR"
    FULL_TRANSCRIPT = "FULL_TRANSCRIPT"
    CUE = "CUE"
    FAILED_OUTPUT = "FAILED_OUTPUT"
    PROBLEMS = "PROBLEMS"


def opening_mark(name: SegmentName) -> str:
    """Return the line above a section."""
    return f"=== {name} ==="


def closing_mark(name: SegmentName) -> str:
    """Return the line below a section."""
    return f"=== END {name} ==="


def disarm(text: str) -> str:
    """Return `text` with a backslash before whatever could pass for a mark line."""
    return _MARK_LIKE.sub(r"\1\\", text)


def fence(name: SegmentName, text: str) -> str:
    """Return `text` between the marks of its section; blank text becomes `(none)`."""
    inner = disarm(text) if text.strip() else EMPTY
    return f"{opening_mark(name)}\n{inner}\n{closing_mark(name)}"
