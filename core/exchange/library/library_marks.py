"""References of an export to the library: the book that a chapter is in, and its lorebooks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.domain.requests.request import Content
from core.domain.session.limits import LONGEST_NAME
from core.domain.session.lore import ChapterLorebook, problems_of_chapter_lore
from core.library.book import LONGEST_DESCRIPTION, MOST_CHAPTERS
from core.library.refusal import FileRefusedError
from core.text.cleaning import clean_line, is_blank


@dataclass(frozen=True, slots=True, kw_only=True)
class BookMark:
    """The book that a chapter is in, and as which chapter of it, from 1."""

    title: str
    author: str = ""
    description: str = ""
    number: int = 1


def problems_of_book_mark(mark: BookMark | None) -> Iterator[str]:
    """Yield a problem for a book that this program would not store."""
    if mark is None:
        return
    is_title = not is_blank(mark.title) and clean_line(mark.title) == mark.title
    lengths = (len(mark.title), len(mark.author))
    if (
        not is_title
        or max(lengths) > LONGEST_NAME
        or len(mark.description) > LONGEST_DESCRIPTION
        or not 1 <= mark.number <= MOST_CHAPTERS
    ):
        yield "its book is not valid"


def problems_of_lore_marks(books: Sequence[ChapterLorebook], contents: Sequence[Content]) -> Iterator[str]:
    """Yield problems of the lorebooks of a chapter: names, bounds, and copies that are no lorebook."""
    if not books:
        return
    yield from (f"its lore: {problem}" for problem in problems_of_chapter_lore(books))
    if len({book.seed for book in books}) > 1:
        yield "its lorebooks disagree about chance"
    texts = {content.hash: content.text for content in contents}
    for book in books:
        text = texts.get(book.copy_hash, "")
        if len(text) != book.copy_length or not _is_lorebook(text):
            yield f"the lorebook “{book.name}” is missing, or no lorebook"


def _is_lorebook(text: str) -> bool:
    from core.library.card_lore import read_copy  # what reads lorebooks is loaded where it is needed

    try:
        read_copy(text)
    except FileRefusedError:
        return False
    return True
