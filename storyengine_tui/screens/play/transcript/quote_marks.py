"""Finds the words of the transcript that are kept as quotes; once for each event (design 15)."""

from collections.abc import Iterable

from core.domain.bank.evidence import find_words
from core.domain.bank.item import Item
from core.domain.ids import EventId, LogPlace
from core.domain.story.event import Event

Parts = tuple[tuple[int, int], ...]


class QuoteMarks:
    """The words of quotes, by the place of the event that they are in."""

    def __init__(self) -> None:
        self._words: dict[LogPlace, tuple[str, ...]] = {}
        self._found: dict[tuple[EventId, str], Parts] = {}

    def learn(self, quotes: Iterable[Item]) -> bool:
        """Know these quotes and no others; return whether anything is different."""
        words: dict[LogPlace, tuple[str, ...]] = {}
        for quote in quotes:
            for one in quote.evidence:
                words[one.place] = (*words.get(one.place, ()), one.words)
        is_new = words != self._words
        if is_new:
            self._words = words
            self._found.clear()
        return is_new

    def spans(self, event: Event, text: str) -> Parts:
        """Return which parts of `text`, the event as it is shown, are quotes: in order, without overlaps."""
        words = self._words.get((event.prompt_index, event.take, event.ordinal)) if self._words else None
        if words is None:
            return ()
        key = (event.id, text)
        if key not in self._found:
            self._found[key] = _joined(part for one in words if (part := find_words(text, one)) is not None)
        return self._found[key]


def _joined(parts: Iterable[tuple[int, int]]) -> Parts:
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(parts):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return tuple(joined)
