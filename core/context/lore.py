"""The lore that an input may draw on: the lorebooks of a chapter, and what was active before (design 14).

`core.context.visibility` decides which of it a character may know.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.domain.session.lore import ChapterLorebook
from core.domain.story.lore_use import LoreUse

if TYPE_CHECKING:  # What reads lorebooks is loaded by the first chapter that has one.
    from core.library.lore.book import Lorebook


@dataclass(frozen=True, slots=True)
class ChapterLore:
    """Lorebooks with what they hold, in the order in which they were attached."""

    books: tuple[tuple[ChapterLorebook, "Lorebook"], ...] = ()
    uses: tuple[LoreUse, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a book."""
        return bool(self.books)


NO_LORE: Final = ChapterLore()


@dataclass(frozen=True, slots=True)
class LoreNote:
    """What became of an entry that the scene concerned, for the GM."""

    book: str
    entry: str
    is_in: bool
    why: str
    """One sentence."""
