"""Base class of the three views of the calls: a line of totals over a table."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import getters
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import DataTable, Static

from storyengine_tui.widgets.row_table import RowTable
from storyengine_tui.widgets.text_line import show_line


class CallsView(Vertical, can_focus=False):
    """A table that `reload` fills; without rows it says why there are none."""

    TABLE: ClassVar[str]
    """The id of the table."""
    HINT: ClassVar[str]
    """The listed records, in words, beside the names of the views."""
    EMPTY: ClassVar[str]

    class ReloadWanted(Message):
        """The GM wants to see rows that are not read yet."""

    table = getters.query_one(DataTable)
    _keys: Sequence[object] = ()
    """Keys of the rows, by which they are found when they are read again."""

    def compose(self) -> ComposeResult:
        """Compose the totals, the table, and what replaces an empty one."""
        yield Static("", id="totals", markup=False)
        yield RowTable(id=self.TABLE, cell_padding=0)
        yield Static(self.EMPTY, id="empty", markup=False)

    def on_mount(self) -> None:
        """Show nothing before the first rows are read."""
        self.query_one("#empty").display = self.table.display = False

    @abstractmethod
    async def reload(self) -> None:
        """Read the rows again and show them; raises StoryEngineError."""

    @abstractmethod
    def show(self) -> None:
        """Show the rows that were read, in columns that fit the width."""

    def on_resize(self) -> None:
        """Adapt the widths of the columns."""
        if self.table.row_count:
            self.show()

    def fill(
        self,
        totals: str,
        columns: Sequence[tuple[Text, int]],
        rows: Iterable[Iterable[Text]],
        keys: Sequence[object] = (),
    ) -> None:
        """Show these rows; the cursor stays on the row that has its key, else at its place."""
        table = self.table
        row = table.cursor_row
        key = self._keys[row] if 0 <= row < len(self._keys) else None
        self._keys = keys
        row = keys.index(key) if key is not None and key in keys else row
        table.clear(columns=True)
        for label, width in columns:
            table.add_column(label, width=width)
        for cells in rows:
            table.add_row(*cells)
        table.move_cursor(row=min(row, max(0, table.row_count - 1)), animate=False)
        is_filled = table.row_count > 0
        show_line(self, "#totals", totals)
        self.query_one("#empty").display = not is_filled
        table.display = is_filled
        # Without rows the view itself has the focus, so that its keys are there.
        self.can_focus = not is_filled
        self.refresh_bindings()


def right(text: str, style: str = "") -> Text:
    """Return a cell whose text is at its right."""
    return Text(text, style, justify="right", no_wrap=True)
