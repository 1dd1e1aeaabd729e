"""What F7 says of lore: every entry that the scene concerned, whether it is in the input, and why."""

from collections.abc import Sequence
from typing import Final

from core.context.lore import LoreNote
from core.text.cleaning import clean_line
from storyengine_tui.widgets.reading.memory_outline import Passage

TITLE: Final = "Lore"


def passages_of_lore(notes: Sequence[LoreNote]) -> list[Passage]:
    """Return a title, and a passage each for what is in and what was left out; nothing without notes."""
    if not notes:
        return []
    found = [Passage(TITLE, len(TITLE), is_title=True)]
    for heading, is_in in (("In the input", True), ("Matched, and left out", False)):
        lines = [_line(note) for note in notes if note.is_in is is_in]
        if lines:
            found.append(Passage("\n".join((heading, *lines)), len(heading)))
    return found


def _line(note: LoreNote) -> str:
    return f"{clean_line(note.book)}, “{clean_line(note.entry)}”: {clean_line(note.why)}"
