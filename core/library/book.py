"""A book is chapters in order (design 14)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from core.domain.ids import BookId, SessionId
from core.domain.session.limits import LONGEST_NAME
from core.text.cleaning import clean, clean_line, is_blank

LONGEST_DESCRIPTION: Final = 5_000
MOST_CHAPTERS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """One book. `version` counts its changes, those of its chapters included."""

    id: BookId
    title: str
    author: str = ""
    description: str = ""
    chapters: tuple[SessionId, ...] = ()
    """Its chapters in order, archived ones too; a chapter is in one book only."""
    archived_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The name under which it is found."""
        return (self.title,)

    def number_of(self, session_id: SessionId) -> int:
        """Return the number of a chapter, from 1; raise ValueError for one that is not in the book."""
        return self.chapters.index(session_id) + 1


def cleaned_book(book: Book) -> Book:
    """Return the same with its texts cleaned."""
    return replace(
        book,
        title=clean_line(book.title),
        author=clean_line(book.author),
        description=clean(book.description),
    )


def problems_of_book(book: Book) -> Iterator[str]:
    """Yield, in sentences, what keeps a book from being stored."""
    if is_blank(book.title) or len(book.title) > LONGEST_NAME:
        yield f"A book has a title of 1 to {LONGEST_NAME} characters."
    if len(book.author) > LONGEST_NAME:
        yield f"The author of a book has at most {LONGEST_NAME} characters."
    if len(book.description) > LONGEST_DESCRIPTION:
        yield f"The description of a book has at most {LONGEST_DESCRIPTION:,} characters."
    if len(book.chapters) > MOST_CHAPTERS or len(set(book.chapters)) < len(book.chapters):
        yield f"A book has at most {MOST_CHAPTERS:,} chapters, each of them once."
