"""One list of the library among four: books, chapters, cast, lore. Each has the same keys."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from rich.text import Text
from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import DataTable, Static

from core.domain.errors import StoryEngineError
from core.storage.library_store import LibraryCounts
from core.text.letters import folded
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.shelf.arriving import DropImport
from storyengine_tui.screens.library.shelf.title_modal import FileModal, PathModal
from storyengine_tui.screens.shared.list_screen import ListScreen
from storyengine_tui.screens.shared.narrowing_screen import NarrowingScreen
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.one_line import EntryField

Row = TypeVar("Row")
SHELVES: Final = {
    "books": ("1", "Books", "chapters.books_screen", "BooksScreen"),
    "chapters": ("2", "Chapters", "chapters.chapters_screen", "ChaptersScreen"),
    "cast": ("3", "Cast", "cast.cast_screen", "CastScreen"),
    "lore": ("4", "Lore", "lore.lore_screen", "LoreScreen"),
}
"""The lists by their names: key, title, and where the screen of each is."""
IMPORT: Final = Binding("i", "import", "Import")
FOUND_NOTHING: Final = "Nothing here has these words; Esc shows all again."


def shelf_keys(
    listed: str, *, title: str = "Title", files: Sequence[Binding] = (), save_points: Sequence[Binding] = ()
) -> list[BindingType]:
    """Return the keys for the rows of a list; `listed` is what v names the rows that are not archived."""
    return [
        Binding("o", "open", "Open", key_display="⏎"),
        Binding("n", "new", "New"),
        Binding("t", "retitle", title),
        *files,
        Binding("a", "archive", "Archive"),
        Binding("r", "restore", "Restore"),
        Binding("p", "purge", "Purge"),
        *save_points,
        Binding("v", "switch(True)", "Archived"),
        Binding("v", "switch(False)", listed),
    ]


class ShelfScreen(ListScreen[None, Row], NarrowingScreen[None]):
    """A list with the four lists in a line above it, once the library has anything, and a field to find."""

    SHELF: ClassVar[str]
    TABLE: ClassVar[str] = ""
    """The id of the table, where it is not the name of the list."""
    WHAT: ClassVar[str]
    """The word for one row."""
    LISTED: ClassVar[str]
    NONE_LISTED: ClassVar[str]
    ARCHIVED: ClassVar[str] = "Archived: restore a {}, or purge it for good"
    # Absolute: a subclass may be elsewhere, and Textual would look beside it.
    CSS_PATH = Path(__file__).with_name("shelf.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"shelf('{name}')", title, show=False) for name, (key, title, *_) in SHELVES.items()),
        Binding("slash", "find", "Find", show=False),
        Binding("escape,f5", "close", "Back"),
    ]

    _heading = getters.query_one("#heading", Static)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._drops = DropImport(self, workspace, self.SHELF, self.say, self.show_shelf)
        self._shows_archived = False
        self._outcome = ""
        """Outcome of the last command, shown once in place of the heading."""
        self._all: Sequence[Row] = ()
        """The rows of the list, whatever is looked for."""

    def compose(self) -> ComposeResult:
        """Compose the lists, the heading, the field and the table."""
        yield Static(id="shelves", markup=False)
        yield Static(self.LISTED, id="heading", markup=False)
        yield EntryField(placeholder="Words to find", id="find")
        yield from self.compose_list(self.TABLE or self.SHELF, "")

    def on_mount(self) -> None:
        """Hide what is not wanted yet; the base, which Textual calls as well, reads the list."""
        self._field.display = self.query_one("#shelves").display = False

    def on_paste(self, event: events.Paste) -> None:
        """Offer what was pasted, or dropped on the list, for import."""
        event.stop()
        self.do(self._drops.look_at(event.text))

    def action_import(self) -> None:
        """Ask for a file or a folder, and offer what is in it for import, as if it was dropped here."""
        self.ask_for_path(FileModal, self._drops.look_at_path)

    def ask_for_path(
        self,
        question: type[PathModal],
        work: Callable[[str], Awaitable[None]],
        typed: str = "",
        refused: str = "",
    ) -> None:
        """Do something with the path that is the answer; where that is refused, ask again, with the path."""

        async def attempt(path: str) -> None:
            try:
                await work(path.strip())
            except StoryEngineError as error:
                if not self.is_active:  # the refusal shows in the banner, or as a notice
                    raise
                self.ask_for_path(question, work, path, str(error))

        self.ask(question(typed, refused), attempt)

    def show_shelves(self, counts: LibraryCounts, chapters: int | None = None) -> None:
        """Show how much each list has; nothing while there are chapters alone."""
        line = self.query_one("#shelves", Static)
        line.display = counts.is_used or self.SHELF != "chapters"
        numbers = {
            "books": counts.books,
            "chapters": chapters,
            "cast": counts.characters,
            "lore": counts.lorebooks,
        }
        parts: list[str | tuple[str, str]] = []
        for name, (key, title, *_) in SHELVES.items():
            count = numbers[name]
            text = f"{key} {title}" + ("" if count is None else f" {count:,}")
            parts += [(f"[{text}]", "bold reverse") if name == self.SHELF else f" {text} ", " "]
        line.update(Content.assemble(*parts, ("  / Find", "$cell-muted")))

    def say(self, sentence: str) -> None:
        """Show a sentence in place of the heading."""
        self._heading.update(sentence)

    async def refit(self) -> None:
        """Show the rows in another width; what was just done stays above them."""
        said = self._heading.content
        self.show_rows(self._all)
        self._heading.update(said)

    def words_of(self, row: Row) -> str:
        """Return the text of a row in which words are looked for."""
        return str(row)

    @property
    def list_of_rows(self) -> Widget:
        """The table."""
        return self._table

    def narrow(self) -> None:
        """Show the rows that have the words in the field."""
        self.show_rows(self._all)

    def leave(self) -> None:
        """Go back to the chapter."""
        self.dismiss()

    def action_shelf(self, name: str) -> None:
        """Show another list in place of this one."""
        if name != self.SHELF and self.is_active:
            self.show_shelf(name)

    def show_shelf(self, name: str, outcome: str = "") -> None:
        """Show a list in place of this one, with the outcome of the last command above it.

        Where it is this one, or another screen has come over it, with something typed in it, only the outcome
        is shown, once the list is read again; and as a notice where the list was left.
        """
        if self not in self.app.screen_stack:
            self.app.notify(outcome, markup=False)
        elif name != self.SHELF and self.is_active:
            self.app.switch_screen(screen_of(name, self._workspace, outcome))
        else:
            self._outcome = outcome

    def action_switch(self, shows_archived: bool) -> None:
        """Show what is archived, or the others again; until they are read no key acts on the rows before."""
        self._shows_archived, self.rows, self._all = shows_archived, (), ()
        self.read_again()

    @property
    def is_any_listed(self) -> bool:
        """Whether the list shows a row that is not archived."""
        return not self._shows_archived and bool(self.rows)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the row under the cursor."""
        match action:
            case "restore" | "purge":
                return self._shows_archived and bool(self.rows)
            case "switch":
                return parameters != (self._shows_archived,)
            case "import":
                return not self._shows_archived
            case "open" | "archive" | "retitle":
                return self.is_any_listed
        return True

    def show_read(self, rows: Sequence[Row], *, is_archived: bool) -> None:
        """Show rows that were read, unless the others are wanted by now: these are read next."""
        if is_archived == self._shows_archived:
            self.show_rows(rows)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show the rows that have the words in the field, of all these."""
        words, is_finding, cursor = self.words, self._field.display, self.first_cursor(rows)
        self._all = rows
        shown = [row for row in rows if all(word in folded(self.words_of(row)) for word in words)]
        self.fill(shown, self.columns, self.cells_of, cursor=cursor, takes_focus=not is_finding)
        heading, empty = self.standing_texts()
        self.query_one("#empty", Static).update(FOUND_NOTHING if is_finding and rows else empty)
        self.say(self._outcome or heading)
        self._outcome = ""

    def first_cursor(self, rows: Sequence[Row]) -> int | None:
        """Return the row at which the list opens; None where the cursor stays as it is."""

    def standing_texts(self) -> tuple[str, str]:
        """Return the heading, and what stands in place of a list without rows."""
        if self._shows_archived:
            return self.ARCHIVED.format(self.WHAT), f"No {self.WHAT} is archived."
        return self.LISTED, self.NONE_LISTED

    @property
    @abstractmethod
    def columns(self) -> dict[str, int]:
        """The widths of the columns."""

    @abstractmethod
    def cells_of(self, row: Row) -> Sequence[Text]:
        """Return the cells of a row."""

    @abstractmethod
    def title_of(self, row: Row) -> str:
        """Return what the GM calls a row."""

    @abstractmethod
    async def archive(self, row: Row) -> None:
        """Take a row off the list."""

    @abstractmethod
    async def restore(self, row: Row) -> None:
        """Bring an archived row back."""

    @abstractmethod
    async def purge(self, row: Row) -> None:
        """Delete an archived row for good."""

    @abstractmethod
    def loss_of(self, row: Row) -> str:
        """Return, in sentences, the effects of purging a row."""

    @on(DataTable.RowSelected)
    def _select(self) -> None:
        self.action_open()

    @abstractmethod
    def action_open(self) -> None:
        """Show the row under the cursor."""

    def action_archive(self) -> None:
        """Take the row under the cursor off the list."""
        if self.chosen is not None:
            self.do_to(self.chosen, self._archive)

    async def _archive(self, row: Row) -> None:
        await self.archive(row)
        self._outcome = f"“{self.title_of(row)}” is archived; {self.way_to_archived(row)}"

    def way_to_archived(self, row: Row) -> str:
        """Return, in a clause, the keys that show a row which was archived."""
        return "v shows it"

    def action_restore(self) -> None:
        """Bring the row under the cursor back."""
        if self.chosen is not None:
            self.do_to(self.chosen, self.restore)

    def action_purge(self) -> None:
        """Delete the row under the cursor for good, if the GM confirms it."""
        row = self.chosen
        if row is not None:
            title = f"Purge this {self.WHAT} for good?"
            question = ConfirmModal(title, self.loss_of(row), confirm="Purge", is_destructive=True)
            self.ask(question, lambda _: self.purge(row))

    @on(DataTable.RowHighlighted)
    def _update_footer(self) -> None:
        self.refresh_bindings()


def screen_of(shelf: str, workspace: Workspace, outcome: str = "") -> Screen[None]:
    """Return the screen of a list; imported now, because each imports this module."""
    *_, module, screen = SHELVES[shelf]
    kind: type[ShelfScreen[Any]] = getattr(import_module(f"storyengine_tui.screens.library.{module}"), screen)
    made = kind(workspace)
    made._outcome = outcome
    return made
