"""The thoughts of a model that its service streams before the answer, between `<think>` and `</think>`."""

from enum import Enum, auto
from typing import Final

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class _Part(Enum):
    BEGINNING = auto()
    THOUGHT = auto()
    GAP = auto()
    ANSWER = auto()


class ThoughtFilter:
    """Takes the thoughts out of the beginning of a streamed answer: they are no part of the story.

    Tags further on are text: a character may speak of them.
    """

    def __init__(self) -> None:
        self._part = _Part.BEGINNING
        self._held = ""
        """Text that may be part of a tag."""
        self.has_thought = False
        """Whether a thought was begun."""

    def visible(self, text: str) -> str:
        """Return the text of the answer that is known with the next text of the stream."""
        if self._part is _Part.ANSWER:
            return text
        self._held += text
        if self._part is _Part.BEGINNING:
            begun = self._held.lstrip()
            if begun.startswith(_OPEN):
                self._part, self._held = _Part.THOUGHT, begun[len(_OPEN) :]
                self.has_thought = True
            elif not begun or not _OPEN.startswith(begun):
                return self._answer(is_begun=bool(begun))
        if self._part is _Part.THOUGHT:
            _, tag, after = self._held.partition(_CLOSE)
            self._held = after if tag else self._held[1 - len(_CLOSE) :]
            self._part = _Part.GAP if tag else _Part.THOUGHT
        if self._part is _Part.GAP:
            self._held = self._held.lstrip()
            return self._answer(is_begun=bool(self._held))
        return ""

    def rest(self) -> str:
        """Return the text that was held back, at the end of the stream."""
        return "" if self._part is _Part.THOUGHT else self._answer(is_begun=True)

    def _answer(self, *, is_begun: bool) -> str:
        text, self._held = self._held, ""
        if is_begun:
            self._part = _Part.ANSWER
        return text
