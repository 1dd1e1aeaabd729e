"""Commands on a chapter in a list of the library, alone or in a book."""

from abc import abstractmethod
from collections.abc import Awaitable
from functools import partial
from typing import ClassVar, Final, TypeVar

from textual.binding import Binding, BindingType

from core.domain.ids import SessionId
from core.domain.session.session import SessionSummary
from storyengine_tui.screens.chapter.next_chapter import begin_next
from storyengine_tui.screens.library.chapters.save_points_screen import SavePointsScreen
from storyengine_tui.screens.library.shelf.shelf_screen import ShelfScreen
from storyengine_tui.screens.library.shelf.title_modal import BookModal, TitleModal

Row = TypeVar("Row")
_NARROWEST_TITLE: Final = 20
_OTHER_COLUMNS: Final = 53
"""Cells that state, prompts and time take, with the space between the columns."""
SAVE_POINTS: Final = (Binding("s", "save_points", "Save slots"),)
UNREADABLE = "cannot be read"
CANNOT_OPEN = "This chapter cannot be read; a archives it, and the others are not affected"


class ChapterShelf(ShelfScreen[Row]):
    """A list in which there are chapters; `chapter` is the one under the cursor."""

    FIRST_COLUMN: ClassVar[str] = "Title"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "next_chapter", "Next chapter", show=False),
        Binding("b", "put_into_book", "Into a book", show=False),
    ]

    @property
    @abstractmethod
    def chapter(self) -> SessionSummary | None:
        """The chapter under the cursor."""

    @property
    def _room(self) -> int:
        """The width of the column of titles, in cells."""
        return max(_NARROWEST_TITLE, self.size.width - _OTHER_COLUMNS)

    @property
    def columns(self) -> dict[str, int]:
        """The widths of the columns."""
        return {self.FIRST_COLUMN: self._room, "State": 23, "Prompts": 7, "Last played": 12}

    def is_readable(self) -> bool:
        """Return whether the chapter under the cursor can be read; if it cannot, say what to do."""
        chapter = self.chapter
        if chapter is None or chapter.is_readable:
            return True
        self.say(CANNOT_OPEN)
        return False

    def action_open(self) -> None:
        """Open the chapter under the cursor, unless it is archived."""
        if self.chapter is not None and not self._shows_archived and self.is_readable():
            self.do_once(self.close_after(self._workspace.open(self.chapter.id)))

    async def close_after(self, work: Awaitable[None]) -> None:
        """Do this, and go back to the chapter that is open then."""
        await work
        self.dismiss()

    def action_retitle(self) -> None:
        """Ask for another title."""
        chosen = self.chapter
        if chosen is not None and self.is_readable():
            self.ask(TitleModal(chosen.title), partial(self._workspace.retitle, chosen.id))

    def action_save_points(self) -> None:
        """Show the save points of the chapter under the cursor; a restored one is open afterwards."""

        def close(is_restored: bool | None) -> None:
            if is_restored:
                self.dismiss()
            else:
                self.read_again()

        if self.chapter is not None and self.is_readable():
            self.app.push_screen(SavePointsScreen(self._workspace, self.chapter), close)

    def action_next_chapter(self) -> None:
        """Begin the chapter after the one under the cursor, and open it."""
        if self.chapter is not None and self.is_readable():
            self.do_once(self._begin_next(self.chapter.id))

    async def _begin_next(self, session_id: SessionId) -> None:
        if await begin_next(self.app, self._workspace, session_id):
            self.dismiss()

    def action_put_into_book(self) -> None:
        """Ask for the book that the chapter under the cursor belongs to."""
        chosen = self.chapter
        if chosen is not None and self.is_readable():
            self.ask(BookModal(self.book_of(chosen.id)), partial(self._put, chosen.id))

    def book_of(self, session_id: SessionId) -> str:
        """Return the title of the book of a chapter; empty for one that is in none."""
        return ""

    async def _put(self, session_id: SessionId, title: str) -> None:
        books = self._workspace.require_engine().library.books
        now = await books.of(session_id)
        if title.strip():
            book = await books.add_to(title, session_id)
            self._outcome = (
                f"It is chapter {book.number_of(session_id)} of “{book.title}” (1 shows the books)"
            )
        elif now is not None:
            await books.remove(now, session_id)
            self._outcome = f"It is no longer in “{now.title}”"

    def may_continue(self) -> bool:
        """Whether the chapter under the cursor has ended, so that it hands something on."""
        return self.chapter is not None and self.chapter.state.has_ended
