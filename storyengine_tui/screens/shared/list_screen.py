"""A table over the chapter, with commands that run in the background and a banner for their errors."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Generic, TypeVar

from rich.text import Text
from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import DataTable, Static
from textual.worker import WorkerError

from core.domain.errors import ChangedElsewhereError, StoryEngineError
from storyengine_tui.widgets.banner import DISMISS, Banner
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.row_table import RowTable

Answer = TypeVar("Answer")
Result = TypeVar("Result")
Row = TypeVar("Row")


class ListScreen(OverlayScreen[Result], Generic[Result, Row]):
    """A table of rows that is read again after every command; subclasses implement `reload`."""

    rows: Sequence[Row] = ()
    _is_doing_once = False

    _table = getters.query_one(DataTable)

    def __init__(self) -> None:
        super().__init__()
        self._reading = asyncio.Lock()
        self._turn = asyncio.Lock()
        """Keeps commands on rows in their order: each begins on the rows as the one before it left them."""
        self._commands: set[object] = set()
        """Commands that run or wait for their turn, each with its row."""

    def compose_list(self, table_id: str, empty: str) -> ComposeResult:
        """Compose the banner, the table, the text that replaces an empty table, and the row of keys."""
        yield Banner(id="trouble")
        yield RowTable(id=table_id)
        yield Static(empty, id="empty", markup=False)
        yield KeyLine(offers_palette=False)

    @property
    def first_field(self) -> Widget:
        """The widget that is focused first."""
        return self._table

    def on_mount(self) -> None:
        """Read the list."""
        self.first_field.focus()
        self.read_again()

    def on_resize(self) -> None:
        """Adapt the widths of the columns; an error stays above them."""
        if self.rows:
            self.run_worker(self._perform(self.refit(), keeps_error=True), group="list", exit_on_error=False)

    async def refit(self) -> None:
        """Show the list in another width."""
        await self.reread()

    async def reload(self) -> None:
        """Read the rows and pass them to `fill`; `reread` calls it, one reading at a time."""

    def fill(
        self,
        rows: Sequence[Row],
        columns: Mapping[str, int],
        cells: Callable[[Row], Iterable[Text]],
        *,
        cursor: int | None = None,
        takes_focus: bool = True,
    ) -> None:
        """Show `rows` in columns of these widths; the cursor stays on its row, or goes to row `cursor`."""
        table = self._table
        if cursor is None:
            keys, chosen = [self.key_of(row) for row in rows], self.chosen
            key = None if chosen is None else self.key_of(chosen)
            cursor = keys.index(key) if key is not None and key in keys else table.cursor_row
        self.rows = rows
        table.clear(columns=True)
        for label, width in columns.items():
            table.add_column(Text(label), width=width)
        for row in rows:
            table.add_row(*cells(row))
        table.move_cursor(row=min(cursor, max(0, len(rows) - 1)), animate=False)
        table.display = bool(rows)
        self.query_one("#empty").display = not rows
        if rows and takes_focus:
            table.focus()
        self.refresh_bindings()

    def key_of(self, row: Row) -> object:
        """Return what a row is known by when the list is read again."""
        return row

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        row = self._table.cursor_row
        return self.rows[row] if 0 <= row < len(self.rows) else None

    def ask(self, dialog: Screen[Answer], work: Callable[[Answer], Awaitable[object]]) -> None:
        """Show a dialog; do `work` with its answer and read the list again, unless it is None or False."""

        def answered(answer: Answer | None) -> None:
            if answer is not None and answer is not False:
                self.do(work(answer), then_reloads=True)

        self.app.push_screen(dialog, answered)

    def read_again(self, _: object = None) -> None:
        """Read the list again; also the callback of a screen over it that has closed."""
        self.do(self.reread())

    async def reread(self) -> None:
        """Read the list again, after any reading before it: one that was slower would be shown last."""
        async with self._reading:
            await self.reload()

    def do(self, work: Awaitable[object], *, then_reloads: bool = False) -> None:
        """Do this in the background; show an error above the list.

        What the list is read again after is a command: it is done although the list is left at once.
        """
        if then_reloads:
            self.app.run_worker(self._command(work), group="list", exit_on_error=False)
        else:
            self.run_worker(self._perform(work), group="list", exit_on_error=False)

    def do_to(self, row: Row, command: Callable[[Row], Awaitable[object]]) -> None:
        """Do this to a row in its turn, and read the list again; once for a key that comes twice."""
        asked = command, self.key_of(row)
        if asked not in self._commands:
            self._commands.add(asked)
            self.do_in_turn(self._as_it_is(row, command), asked)

    async def _as_it_is(self, row: Row, command: Callable[[Row], Awaitable[object]]) -> None:
        """Do this to a row as the list has it by now; to one that left the list meanwhile, as it was."""
        key = self.key_of(row)
        await command(next((one for one in self.rows if self.key_of(one) == key), row))

    def do_in_turn(self, work: Awaitable[object], asked: object = None) -> None:
        """Do this once what was asked for before it is stored and shown, and read the list again."""
        self.app.run_worker(self._in_turn(work, asked), group="list", exit_on_error=False)

    async def _in_turn(self, work: Awaitable[object], asked: object) -> None:
        try:
            async with self._turn:
                await self._command(work)
        finally:
            self._commands.discard(asked)

    def do_once(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this in the background, once for a key that comes twice: it opens another chapter."""
        if self._is_doing_once:
            work.close()
        else:
            self._is_doing_once = True
            once = self._command(self._one_at_a_time(work))
            self.app.run_worker(once, group="opening", exit_on_error=False)

    async def _one_at_a_time(self, work: Awaitable[None]) -> None:
        try:
            await work
        finally:
            self._is_doing_once = False

    async def _command(self, work: Awaitable[object]) -> None:
        error = await _error_of(work)
        if self in self.app.screen_stack:
            conclusion = self._conclude(error, then_reloads=True)
            worker = self.run_worker(conclusion, group="list", exit_on_error=False)
            with suppress(WorkerError):  # The list was left, or has told of its own bug.
                await worker.wait()
        elif error is not None:
            self.app.notify(str(error), severity="warning", markup=False)

    async def _perform(self, work: Awaitable[object], *, keeps_error: bool = False) -> None:
        await self._conclude(await _error_of(work), keeps_error=keeps_error)

    async def _conclude(
        self, error: StoryEngineError | None, *, then_reloads: bool = False, keeps_error: bool = False
    ) -> None:
        banner = self.query_one("#trouble", Banner)
        if then_reloads or isinstance(error, ChangedElsewhereError):
            # After an error too: what was refused may have been decided in another window.
            error_then = await _error_of(self.reread())
            error = error or error_then
        if error is not None:
            banner.show(error.message, hint=error.hint, actions=(DISMISS,))
        elif not keeps_error:
            banner.hide()


async def _error_of(work: Awaitable[object]) -> StoryEngineError | None:
    """Return what the GM can do something about, where `work` ends with that."""
    try:
        await work
    except StoryEngineError as error:
        return error
    return None


class ChoosingScreen(ListScreen[Result, Row]):
    """A list to choose from, below a field with the id `find` and the focus; up and down move its cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: the cursor of the list moves while the field has the focus.
        Binding("up", "step(-1)", "Choose", show=False, priority=True),
        Binding("down", "step(1)", "Choose", show=False, priority=True),
    ]

    @property
    def first_field(self) -> Widget:
        """The field, in which words can be typed at once."""
        return self.query_one("#find")

    def action_step(self, step: int) -> None:
        """Move the cursor of the list."""
        self._table.move_cursor(row=self._table.cursor_row + step, animate=False)


def cut(text: str, style: str = "") -> Text:
    """Return a cell of one line, which ends with an ellipsis where the column has no room for it."""
    return Text(text, style, no_wrap=True, overflow="ellipsis")
