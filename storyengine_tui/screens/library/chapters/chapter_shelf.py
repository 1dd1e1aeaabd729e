"""Commands on a chapter in a list of the library, alone or in a book."""

from abc import abstractmethod
from collections.abc import Awaitable
from functools import partial
from typing import ClassVar, Final, TypeVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.ids import SessionId
from core.domain.session.session import SessionSummary
from core.domain.session.session_state import SessionState
from core.domain.story.save_point import AUTOMATIC, NAMED, SavePoint
from storyengine_tui.screens.chapter.next_chapter import begin_next
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.shelf.shelf_screen import ShelfScreen
from storyengine_tui.screens.library.shelf.title_modal import BookModal, SlotNameModal, TitleModal
from storyengine_tui.screens.shared.list_screen import ListScreen, cut
from storyengine_tui.screens.shared.state_labels import STATE_LABELS

NONE_TAKEN = "No save slots yet: the first is created when the chapter is locked. k saves one under a name."
RESTORE_EFFECT = "Restore starts a new chapter where the slot was taken; this one stays as it is."
WHY_NOT_DELETED = "Automatic slots are replaced by newer ones; only a slot that you named can be deleted."
OTHER_COLUMNS_WIDTH = 51


class SavePointsScreen(ListScreen[bool, SavePoint]):
    """Ends with True when a slot was restored, so that another chapter is open now."""

    CSS_PATH = "save_points_screen.tcss"
    HELP = (
        "Enter makes a new chapter that begins where the slot was taken, and opens it; the old one stays as "
        f"it is. {len(AUTOMATIC)} slots fill themselves, at every summary and before a reset, a restore or "
        f"an import, and the oldest is replaced; {len(NAMED)} are yours: k saves one, d deletes it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "restore", "Restore", key_display="Enter"),
        Binding("k", "keep", "Save"),
        Binding("d", "drop", "Delete"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, workspace: Workspace, chapter: SessionSummary) -> None:
        super().__init__()
        self._workspace = workspace
        self._chapter = chapter

    def compose(self) -> ComposeResult:
        """Compose the heading above the table."""
        yield Static(Content(f"Save slots of “{self._chapter.title}”"), id="heading")
        yield Static(RESTORE_EFFECT, id="makes", markup=False)
        yield from self.compose_list("slots", NONE_TAKEN)

    async def reload(self) -> None:
        """Read the slots again, the newest first."""
        listed = await self._workspace.require_engine().save_points.listed(self._chapter.id)
        slots = sorted(listed, key=lambda slot: (slot.taken_at, slot.number), reverse=True)
        room = max(16, self.size.width - OTHER_COLUMNS_WIDTH)
        columns = {"Slot": 4, "Name": room, "State": 16, "Prompts": 7, "Taken": 12}
        self.fill(slots, columns, _cells)
        self.query_one("#makes").display = bool(slots)

    @on(DataTable.RowSelected)
    def action_restore(self) -> None:
        """Restore the slot under the cursor into a new chapter."""
        if self.chosen is not None:
            self.do_once(self._restore(self.chosen.number))

    async def _restore(self, number: int) -> None:
        await self._workspace.restore_slot(self._chapter.id, number)
        self.dismiss(True)

    def action_keep(self) -> None:
        """Ask for a name, and save the chapter under it as it is now."""
        name = self.chosen.label if self.chosen is not None and self.chosen.is_named else ""
        self.ask(SlotNameModal(name), partial(self._workspace.keep_slot, self._chapter.id))

    def action_drop(self) -> None:
        """Delete a slot that the GM named."""
        if self.chosen is not None and self.chosen.is_named:
            slots = self._workspace.require_engine().save_points
            self.do(slots.drop(self._chapter.id, self.chosen.number), then_reloads=True)

    @on(DataTable.RowHighlighted)
    def _update_footer(self) -> None:
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the slot under the cursor."""
        if action == "restore":
            return bool(self.rows)
        if action == "drop":
            return self.chosen is not None and self.chosen.is_named
        return True

    def on_key(self, event: events.Key) -> None:
        """Say why an automatic slot cannot be deleted."""
        if event.key == "d" and self.chosen is not None and not self.chosen.is_named:
            self.notify(WHY_NOT_DELETED, severity="warning", markup=False)


def _cells(slot: SavePoint) -> tuple[Text, Text, Text, Text, Text]:
    return (
        Text(str(slot.number), justify="right"),
        cut(slot.label, style="bold" if slot.is_named else ""),
        Text(STATE_LABELS[slot.state]),
        Text(str(slot.prompt_index), justify="right"),
        Text(f"{slot.taken_at.astimezone():%d %b %H:%M}"),
    )


Row = TypeVar("Row")
_NARROWEST_TITLE: Final = 20
_OTHER_COLUMNS: Final = 53
"""Cells that state, prompts and time take, with the space between the columns."""
UNREADABLE = "cannot be read"
CANNOT_OPEN = "This chapter cannot be read; a archives it, and the others are not affected"


class ChapterShelf(ShelfScreen[Row]):
    """A list in which there are chapters; `chapter` is the one under the cursor."""

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

    def retitle_chapter(self) -> None:
        """Ask for another title."""
        chosen = self.chapter
        if chosen is not None and self.is_readable():
            self.ask(TitleModal(chosen.title), partial(self._workspace.retitle, chosen.id))

    def archive_chapter(self) -> None:
        """Take the chapter under the cursor off the list."""
        if self.chapter is not None:
            self.do(self._archive(self.chapter), then_reloads=True)

    async def _archive(self, chosen: SessionSummary) -> None:
        await self._workspace.archive(chosen.id)
        self._outcome = f"“{chosen.title}” is archived; v shows it"

    def action_slots(self) -> None:
        """Show the save slots of the chapter under the cursor; a restored one is open afterwards."""

        def close(is_restored: bool | None) -> None:
            if is_restored:
                self.dismiss()
            else:
                self.do(self.reload())

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
            book = await books.add(await books.find_or_create(title), session_id)
            self._outcome = (
                f"It is chapter {book.number_of(session_id)} of “{book.title}” (1 shows the books)"
            )
        elif now is not None:
            await books.remove(now, session_id)
            self._outcome = f"It is no longer in “{now.title}”"

    def may_continue(self) -> bool:
        """Whether the chapter under the cursor has ended, so that it hands something on."""
        return self.chapter is not None and self.chapter.state in (SessionState.ENDED, SessionState.NARRATING)
