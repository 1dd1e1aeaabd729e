"""The chapter list: open, new, rename, archive, restore, and purge after a question (design 5)."""

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from core.domain.session.session import SessionSummary
from core.storage.library_store import LibraryCounts
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.chapters.chapter_shelf import SAVE_POINTS, UNREADABLE, ChapterShelf
from storyengine_tui.screens.library.shelf.shelf_screen import IMPORT, shelf_keys
from storyengine_tui.screens.shared.list_screen import cut
from storyengine_tui.screens.shared.state_labels import STATE_LABELS, shortened_title

ALONE = "Your chapters in no book, last played first"
NONE_ALONE = "Every chapter is in a book (1); n starts another."
RESTORE_FIRST = "An archived chapter cannot be opened: r restores it, then it is in your chapters (v)."


def chapter_cells(summary: SessionSummary, room: int, *, is_open: bool) -> tuple[Text, Text, Text, Text]:
    """Return the cells of a chapter: its title in `room` cells, its state, its prompts and its time."""
    if not summary.is_readable:
        return cut(summary.title), Text(UNREADABLE), Text(), Text()
    state = STATE_LABELS[summary.state]
    return (
        Text(shortened_title(summary.title, room), style="bold" if is_open else "", no_wrap=True),
        Text(f"here · {state}" if is_open else state),
        Text(f"{summary.prompt_index:,}", justify="right"),
        Text(f"{summary.updated_at.astimezone():%d %b %H:%M}"),
    )


def is_open_in(workspace: Workspace, summary: SessionSummary) -> bool:
    """Whether a chapter is the open one."""
    return workspace.session is not None and workspace.session.id == summary.id


class ChaptersScreen(ChapterShelf[SessionSummary]):
    """Lists the chapters in no book, or the archived ones; Esc goes back to the open one."""

    SHELF = "chapters"
    TABLE = "sessions"
    WHAT = "chapter"
    LISTED = "Your chapters, last played first"
    NONE_LISTED = "There is no chapter; n starts one."
    ARCHIVED = "Archived chapters: restore one to play on, or purge it for good"
    HELP = (
        "Enter opens a chapter. Archiving takes it off every list but the archive (v), from where it can be "
        "restored; only there it can be purged, which deletes it for good. Save slots (s) hold earlier "
        "states of a chapter, from which you can go on. i imports an exported chapter or a chat. c begins "
        "the next chapter of one that has ended, b puts one into a book; 1 to 4 show books, chapters, cast "
        "and lore, and / finds words in a list."
    )
    # The last bindings do not fit 80 columns, which is fine: they are seldom needed, and F1 has them.
    BINDINGS: ClassVar[list[BindingType]] = [
        *shelf_keys("Chapters", save_points=SAVE_POINTS),
        IMPORT,
        Binding("e", "example", "Example"),
    ]

    def __init__(self, workspace: Workspace, *, has_open_one: bool = False) -> None:
        """List chapters; with `has_open_one` give way to the books where the open one is in a book."""
        super().__init__(workspace)
        self._has_open_one = has_open_one
        self._counts = LibraryCounts()

    @property
    def chapter(self) -> SessionSummary | None:
        """The chapter under the cursor."""
        return self.chosen

    async def reload(self) -> None:
        """Read the list again; the cursor stays on its chapter, else on its row."""
        engine = self._workspace.require_engine()
        is_archived = self._shows_archived
        sessions = await engine.sessions(is_archived=is_archived)
        self._counts = await engine.library.counts()
        if self._counts.books and not is_archived:
            in_books = {one for book in await engine.library.books.listed() for one in book.chapters}
            session = self._workspace.session
            is_in_book = session is not None and session.id in in_books
            if self._has_open_one and is_in_book and self.is_active:
                self.show_shelf("books")
                return
            sessions = [summary for summary in sessions if summary.id not in in_books]
        self._has_open_one = False
        self.show_shelves(self._counts, None if is_archived else len(sessions))
        self.show_read(sessions, is_archived=is_archived)

    def standing_texts(self) -> tuple[str, str]:
        """Return heading and text of an empty list, which differ once there are books."""
        if self._counts.books and not self._shows_archived:
            return ALONE, NONE_ALONE
        return super().standing_texts()

    def title_of(self, row: SessionSummary) -> str:
        """Return the title."""
        return row.title

    def key_of(self, row: SessionSummary) -> object:
        """Return the id."""
        return row.id

    def cells_of(self, row: SessionSummary) -> tuple[Text, Text, Text, Text]:
        """Return the cells of a chapter."""
        return chapter_cells(row, self._room, is_open=is_open_in(self._workspace, row))

    def words_of(self, row: SessionSummary) -> str:
        """Return the title of a chapter and its state."""
        return f"{row.title} {STATE_LABELS[row.state] if row.is_readable else UNREADABLE}"

    def action_open(self) -> None:
        """Open the chapter under the cursor, or say that an archived one must be restored first."""
        if self._shows_archived:
            self.say(RESTORE_FIRST)
        else:
            super().action_open()

    def action_new(self) -> None:
        """Start a chapter with an empty world."""
        self.do_once(self.close_after(self._workspace.open_new()))

    def action_example(self) -> None:
        """Close the list and offer the examples."""
        self.dismiss()
        self.app.call_later(self.app.run_action, "welcome")

    async def archive(self, row: SessionSummary) -> None:
        """Take a chapter off the list."""
        await self._workspace.archive(row.id)

    async def restore(self, row: SessionSummary) -> None:
        """Bring a chapter back."""
        await self._workspace.require_engine().restore(row.id)

    async def purge(self, row: SessionSummary) -> None:
        """Delete a chapter for good."""
        await self._workspace.purge(row.id)

    def loss_of(self, row: SessionSummary) -> str:
        """Return what is in the chapter."""
        return (
            f"“{row.title}” is deleted with everything in it: world, cast, {row.prompt_index:,} "
            "prompts, memory and drafts. This cannot be undone."
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the chapter under the cursor."""
        if action == "save_points":
            return bool(self.rows)
        if action == "put_into_book":
            return self.is_any_listed
        if action == "next_chapter":
            return not self._shows_archived and self.may_continue()
        return super().check_action(action, parameters)
