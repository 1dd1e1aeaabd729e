"""A list of rows that is painted row by row: fifty thousand rows cost as much as those in view."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from core.text.cleaning import clean_line
from core.text.graphemes import head
from storyengine_tui.textual_ext.painting.line_scroll import set_virtual_size
from storyengine_tui.widgets.fields.capped_text_area import run_binding_now
from storyengine_tui.widgets.reading.column import Column
from storyengine_tui.widgets.widget_message import WidgetMessage

Row = TypeVar("Row")
LONGEST_CELL: Final = 400
"""Characters of a cell that are looked at."""
GAP: Final = 1


class RowList(ScrollView, Generic[Row], can_focus=True):
    """Shows rows in columns, with a cursor. `cells_of` gives the texts of a row when it is painted."""

    DEFAULT_CSS = """
    RowList { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--cursor", "row-list--muted"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", show=False),
        *(
            Binding(key, f"go('{key}')", show=False)
            for key in ("up", "down", "pageup", "pagedown", "home", "end")
        ),
    ]

    @dataclass
    class Chosen(WidgetMessage[ScrollView]):
        """The user chose the row at the cursor."""

    @dataclass
    class Moved(WidgetMessage[ScrollView]):
        """The cursor is on another row."""

    def __init__(
        self,
        cells_of: Callable[[Row], Sequence[str]],
        is_muted: Callable[[Row], bool] = lambda _: False,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._cells_of = cells_of
        self._is_muted = is_muted
        self.rows: Sequence[Row] = ()
        self.columns: Sequence[Column] = ()
        self.cursor = 0

    @property
    def chosen(self) -> Row | None:
        """The row at the cursor."""
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    @property
    def cursor_screen_offset(self) -> Offset:
        """The place of the cursor on the screen, for the terminal's own cursor."""
        return self.content_region.offset + Offset(0, self.cursor - self.scroll_offset.y)

    def show_rows(self, rows: Sequence[Row], columns: Sequence[Column], cursor: int | None = None) -> None:
        """Show these; the cursor stays at its number, or goes to `cursor`."""
        self.rows, self.columns = rows, columns
        self.cursor = min(self.cursor if cursor is None else cursor, max(0, len(rows) - 1))
        self._measure()
        self._bring_into_view()
        self.refresh()

    def on_resize(self) -> None:
        """Take the new width."""
        self._measure()
        self._bring_into_view()

    def _measure(self) -> None:
        size = Size(self.size.width, len(self.rows))
        if size != self.virtual_size:
            set_virtual_size(self, size)

    def header(self) -> str:
        """Return the titles of the columns, as wide as the columns."""
        return self._line([column.title for column in self.columns])

    def _line(self, cells: Sequence[str]) -> str:
        return (" " * GAP).join(
            _fitted(cell, column) for cell, column in zip(cells, self.columns, strict=True)
        )

    def render_line(self, y: int) -> Strip:
        """Return visible row `y`."""
        number, width = y + self.scroll_offset.y, self.size.width
        if not 0 <= number < len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[number]
        style = self._style_of(number, row)
        text = set_cell_size(f" {self._line(self._cells_of(row))}", width)
        return Strip([Segment(text, style)], width)

    def _style_of(self, number: int, row: Row) -> Style:
        if number == self.cursor:
            return self.get_component_rich_style("row-list--cursor")
        return self.get_component_rich_style("row-list--muted") if self._is_muted(row) else self.rich_style

    async def on_key(self, event: events.Key) -> None:
        """Move before the next key is read."""
        await run_binding_now(self, event)

    def action_go(self, key: str) -> None:
        """Move the cursor as a movement key says."""
        page = max(1, self.size.height - 1)
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -self.cursor}
        self.move_to(self.cursor + steps.get(key, len(self.rows)))

    def move_to(self, number: int) -> None:
        """Put the cursor on a row, or on the one nearest to such a number."""
        number = max(0, min(number, len(self.rows) - 1))
        if number != self.cursor:
            self.cursor = number
            self._bring_into_view()
            self.refresh()
            self.post_message(self.Moved(self))

    def _bring_into_view(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif height and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the click is; a click on the cursor chooses."""
        number = event.y + self.scroll_offset.y
        if number == self.cursor:
            self.action_choose()
        elif number < len(self.rows):
            self.move_to(number)

    def action_choose(self) -> None:
        """Choose the row at the cursor."""
        if self.chosen is not None:
            self.post_message(self.Chosen(self))


def _fitted(text: str, column: Column) -> str:
    text = clean_line(head(text, LONGEST_CELL))
    length = cell_len(text)
    if length > column.width:
        return f"{set_cell_size(text, column.width - 1)}…"
    blanks = " " * (column.width - length)
    return f"{blanks}{text}" if column.is_number else f"{text}{blanks}"
