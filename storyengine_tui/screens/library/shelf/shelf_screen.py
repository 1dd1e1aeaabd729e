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
from textual.widgets import DataTable, Input, Static

from core.storage.library_store import LibraryCounts
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.shelf.arriving import DropImport
from storyengine_tui.screens.shared.list_screen import ListScreen
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
FOUND_NOTHING: Final = "Nothing here has these words; Esc shows all again."


class ShelfScreen(ListScreen[None, Row]):
    """A list with the four lists in a line above it, once the library has anything, and a field to find."""

    SHELF: ClassVar[str]
    # Absolute: a subclass may be elsewhere, and Textual would look beside it.
    CSS_PATH = Path(__file__).with_name("shelf.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"shelf('{name}')", title, show=False) for name, (key, title, *_) in SHELVES.items()),
        Binding("slash", "find", "Find", show=False),
        Binding("escape,f5", "close", "Back"),
    ]

    _heading = getters.query_one("#heading", Static)
    _field = getters.query_one("#find", EntryField)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._drops = DropImport(self, workspace, self.SHELF, self.say, self.show_shelf)
        self._shows_archived = False
        self._outcome = ""
        """Outcome of the last command, shown once in place of the heading."""
        self._all: Sequence[Row] = ()
        """The rows of the list, whatever is looked for."""

    def compose_shelf(self, table_id: str, heading: str) -> ComposeResult:
        """Compose the lists, the heading, the field and the table."""
        yield Static(id="shelves", markup=False)
        yield Static(heading, id="heading", markup=False)
        yield EntryField(placeholder="Words to find", id="find")
        yield from self.compose_list(table_id, "")

    def on_mount(self) -> None:
        """Hide what is not wanted yet; the base, which Textual calls as well, reads the list."""
        self._field.display = self.query_one("#shelves").display = False

    def on_paste(self, event: events.Paste) -> None:
        """Offer what was pasted, or dropped on the list, for import."""
        event.stop()
        self.do(self._drops.look_at(event.text))

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

    def found(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that have all of the words in the field, whatever their case."""
        self._all = rows
        words = self._field.value.casefold().split() if self._field.display else []
        return [row for row in rows if all(word in self.words_of(row).casefold() for word in words)]

    def action_find(self) -> None:
        """Look for words in the list; it narrows with each letter."""
        self._field.display = True
        self._field.focus()

    @on(Input.Changed, "#find")
    def _narrow(self) -> None:
        if self._field.display:
            self.show_rows(self._all)

    @on(Input.Submitted, "#find")
    def _leave_field(self) -> None:
        if self.rows:
            self._table.focus()

    def action_close(self) -> None:
        """Show all of the list again; if that is shown, go back to the chapter."""
        if self._field.display:
            self._field.display = False
            self._field.value = ""
            self.show_rows(self._all)
            self._table.focus()
        else:
            self.dismiss()

    def action_shelf(self, name: str) -> None:
        """Show another list in place of this one."""
        if name != self.SHELF and self.is_active:
            self.show_shelf(name, "")

    def show_shelf(self, name: str, outcome: str) -> None:
        """Show a list in place of this one, with the outcome of the last command above it.

        Where another screen has come over this one, with something typed in it, only the outcome is shown.
        """
        if self.is_active:
            self.app.switch_screen(screen_of(name, self._workspace, outcome))
        else:
            self._outcome = outcome
            self.read_again()

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
            case "open" | "archive" | "retitle":
                return self.is_any_listed
        return True

    def fill_found(
        self, rows: Sequence[Row], columns: dict[str, int], *, empty: str, cursor: int | None = None
    ) -> None:
        """Show those rows in which the words are that are looked for."""
        shown = self.found(rows)
        is_finding = self._field.display
        self.fill(shown, columns, self.cells_of, cursor=cursor, takes_focus=not is_finding)
        self.query_one("#empty", Static).update(FOUND_NOTHING if is_finding and rows else empty)

    @abstractmethod
    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show what was read, by `fill_found`."""

    @abstractmethod
    def cells_of(self, row: Row) -> Sequence[Text]:
        """Return the cells of a row."""

    def ask_to_delete(self, title: str, text: str, work: Callable[[], Awaitable[None]]) -> None:
        """Ask before something archived is deleted for good."""
        question = ConfirmModal(title, text, confirm="Purge", is_destructive=True)
        self.ask(question, lambda _: work())

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
