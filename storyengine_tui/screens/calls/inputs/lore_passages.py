"""Passages of F7 on lore and the memory bank: the entries that the scene concerned, in or out, and why."""

from collections.abc import Sequence
from typing import Final

from core.context.lore import BANK, LoreNote
from core.text.cleaning import clean_line
from storyengine_tui.widgets.reading.memory_outline import Passage

TITLE: Final = "Lore"


def passages_of_lore(notes: Sequence[LoreNote]) -> list[Passage]:
    """Return titles, and a passage for each included or omitted entry; nothing without notes."""
    lore = [note for note in notes if note.book != BANK]
    recalled = [note for note in notes if note.book == BANK]
    return [
        *_passages(TITLE, "Matched, and left out", lore),
        *_passages(BANK, "Found, and left out", recalled),
    ]


def _passages(title: str, left_out: str, notes: Sequence[LoreNote]) -> list[Passage]:
    if not notes:
        return []
    found = [Passage(title, len(title), is_title=True)]
    for heading, is_in in (("In the input", True), (left_out, False)):
        lines = [_line(note) for note in notes if note.is_in is is_in]
        if lines:
            found.append(Passage("\n".join((heading, *lines)), len(heading)))
    return found


def _line(note: LoreNote) -> str:
    book = "" if note.book == BANK else f"{clean_line(note.book)}, "
    return f"{book}“{clean_line(note.entry)}”: {clean_line(note.why)}"
