"""The books of the library, each with its chapters below it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from core.domain.ids import SessionId
from core.domain.session.session import SessionSummary
from core.library.book import Book
from core.text.numbers import counted
from storyengine_tui.screens.library.chapters.chapter_shelf import SAVE_POINTS, ChapterShelf
from storyengine_tui.screens.library.chapters.chapters_screen import chapter_cells, is_open_in
from storyengine_tui.screens.library.shelf.shelf_screen import IMPORT, shelf_keys
from storyengine_tui.screens.library.shelf.title_modal import NameModal
from storyengine_tui.screens.shared.list_screen import cut

if TYPE_CHECKING:
    from core.engine.services.library.books import BookLibrary


@dataclass(frozen=True, slots=True)
class BookRow:
    """A book, or one of its chapters."""

    book: Book
    chapter: SessionSummary | None = None
    archived: int = 0
    """Number of chapters of the book that are not listed."""


class BooksScreen(ChapterShelf[BookRow]):
    """Lists books and their chapters."""

    SHELF = "books"
    WHAT = "book"
    LISTED = "Your books, each with its chapters"
    NONE_LISTED = "There is no book; n makes one, and b on a chapter (2) puts it into one."
    ARCHIVED = "Archived books: restore one, or purge it; its chapters are kept"
    FIRST_COLUMN = "Book"
    HELP = (
        "Enter opens a chapter, or the last chapter of a book. c begins the next chapter, with the lines "
        "that the last one passes on. b puts a chapter into another book, or out of this one. n makes a "
        "book, t gives book or chapter another title, a archives it, v shows the archived books. "
        "i imports an exported chapter."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "next_chapter", "Next chapter"),
        Binding("b", "put_into_book", "Book"),
        *shelf_keys("Books", save_points=SAVE_POINTS),
        replace(IMPORT, show=False),
    ]

    @property
    def chapter(self) -> SessionSummary | None:
        """The chapter under the cursor, or the last one of the book there."""
        row = self.chosen
        if row is None:
            return None
        if row.chapter is not None:
            return row.chapter
        of_book = [one.chapter for one in self._all if one.book.id == row.book.id and one.chapter is not None]
        return of_book[-1] if of_book else None

    async def reload(self) -> None:
        """Read books and chapters again."""
        engine = self._workspace.require_engine()
        is_archived = self._shows_archived
        books = await engine.library.books.listed(is_archived=is_archived)
        summaries = {one.id: one for one in await engine.sessions()}
        rows = []
        for book in books:
            listed = [BookRow(book, summaries[one]) for one in book.chapters if one in summaries]
            rows += [BookRow(book, archived=len(book.chapters) - len(listed)), *listed]
        self.show_shelves(await engine.library.counts())
        self.show_read(rows, is_archived=is_archived)

    def first_cursor(self, rows: Sequence[BookRow]) -> int | None:
        """Return the row of the open chapter, where the list was not shown before."""
        if self._all:
            return None
        opens = (n for n, row in enumerate(rows) if row.chapter and is_open_in(self._workspace, row.chapter))
        return next(opens, None)

    def title_of(self, row: BookRow) -> str:
        """Return the title of the chapter, or of the book."""
        return row.book.title if row.chapter is None else row.chapter.title

    def key_of(self, row: BookRow) -> object:
        """Return the ids of the book and of the chapter."""
        return row.book.id, row.chapter and row.chapter.id

    def cells_of(self, row: BookRow) -> tuple[Text, Text, Text, Text]:
        """Return the cells of a book, or of a chapter with its number."""
        book, chapter = row.book, row.chapter
        if chapter is None:
            title = cut(book.title, style="bold")
            about = counted(len(book.chapters), "chapter")
            if row.archived:
                about = f"{row.archived:,} of {len(book.chapters):,} archived"
            return title, Text(about), Text(), cut(book.author)
        number = f"  {book.number_of(chapter.id)}. "
        is_open = is_open_in(self._workspace, chapter)
        title, *others = chapter_cells(chapter, self._room - len(number), is_open=is_open)
        return Text(number).append(title), others[0], others[1], others[2]

    def words_of(self, row: BookRow) -> str:
        """Return the titles of the book and of the chapter, and who wrote the book."""
        chapter = row.chapter.title if row.chapter is not None else ""
        return f"{row.book.title} {row.book.author} {chapter}"

    def book_of(self, session_id: SessionId) -> str:
        """Return the title of the book of a chapter."""
        return next((row.book.title for row in self._all if session_id in row.book.chapters), "")

    def action_new(self) -> None:
        """Ask for the title of a new book."""
        self.ask(NameModal(""), self._make)

    async def _make(self, title: str) -> None:
        book = await self._books.create(title)
        self._outcome = f"Made “{book.title}”; b on a chapter (2) puts it into the book"

    def action_retitle(self) -> None:
        """Ask for another title of the chapter or the book under the cursor."""
        row = self.chosen
        if row is not None and row.chapter is None:
            store = self._books.save
            self.ask(NameModal(row.book.title), lambda title: store(replace(row.book, title=title)))
        else:
            super().action_retitle()

    async def archive(self, row: BookRow) -> None:
        """Take the chapter or the book off the list."""
        if row.chapter is not None:
            await self._workspace.archive(row.chapter.id)
        else:
            await self._books.archive(row.book)

    def way_to_archived(self, row: BookRow) -> str:
        """Return the keys that show an archived chapter: those of this list show archived books."""
        return super().way_to_archived(row) if row.chapter is None else "2 and then v show it"

    async def restore(self, row: BookRow) -> None:
        """Bring the book back."""
        await self._books.restore(row.book)

    async def purge(self, row: BookRow) -> None:
        """Delete the book for good."""
        await self._books.purge(row.book)

    def loss_of(self, row: BookRow) -> str:
        """Return that the chapters of the book are kept."""
        return f"“{row.book.title}” is deleted; its chapters are kept, in no book. This cannot be undone."

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer which actions are possible on the row under the cursor."""
        match action:
            case "open":
                return self.is_any_listed and self.chapter is not None
            case "next_chapter":
                return self.is_any_listed and self.may_continue()
            case "put_into_book" | "save_points":
                return self.is_any_listed and self.chosen is not None and self.chosen.chapter is not None
            case "new":
                return not self._shows_archived
        return super().check_action(action, parameters)

    @property
    def _books(self) -> "BookLibrary":
        return self._workspace.require_engine().library.books
