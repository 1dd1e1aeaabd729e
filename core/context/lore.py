"""The lore that an input may draw on: the lorebooks of a chapter, and what was active before (design 14).

`core.context.visibility` decides which of it a character may know.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.domain.session.lore import ChapterLorebook
from core.domain.story.reply_uses import LoreUse

if TYPE_CHECKING:  # What reads lorebooks is loaded by the first chapter that has one.
    from core.library.lore.book import Lorebook


@dataclass(frozen=True, slots=True)
class ChapterLore:
    """Lorebooks with their entries, in the order in which they were attached."""

    books: tuple[tuple[ChapterLorebook, "Lorebook"], ...] = ()
    uses: tuple[LoreUse, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a book."""
        return bool(self.books)


NO_LORE: Final = ChapterLore()


NOTES: Final = "LORE_NOTES"
"""The name under which the parts of an input list what became of lore; no model is sent it."""
NOTE_ROLE: Final = "note"
BANK: Final = "Memory bank"
"""The name in notes on recalled items, which are of no lorebook."""
NO_ROOM: Final = "The input has no room for it: what the story itself needs comes first."
"""Why a note says of an entry or an item that it was left out to make the input fit."""
_LONGEST_NOTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class LoreNote:
    """Outcome of an entry that the scene concerned, for the GM."""

    book: str
    entry: str
    is_in: bool
    why: str
    """One sentence."""


def notes_text(notes: Sequence[LoreNote]) -> str:
    """Return notes as they are kept with the call that they are about: ASCII, so that nothing is cleaned.

    Empty where there are none.
    """
    return json.dumps([[note.book, note.entry, note.is_in, note.why] for note in notes]) if notes else ""


def read_notes(text: str) -> tuple[LoreNote, ...]:
    """Return notes as they were stored; invalid ones are left out."""
    try:
        rows = json.loads(text) if len(text) <= _LONGEST_NOTES else []
    except (ValueError, RecursionError):
        return ()
    return tuple(LoreNote(*row) for row in rows if _is_note(row)) if isinstance(rows, list) else ()


def _is_note(row: object) -> bool:
    return isinstance(row, list) and [type(value) for value in row] == [str, str, bool, str]
