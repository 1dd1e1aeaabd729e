"""Lists texts, and compares any two of them (design 12 and 19)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from core.text.numbers import counted
from storyengine_tui.screens.shared.list_screen import cut
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.reading.memory_outline import Passage
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView
from storyengine_tui.widgets.row_table import RowTable

_SIDE = 3
"""Width of the column that marks the two that are compared."""


class Comparison(NamedTuple):
    """The passages in which two texts differ, and what is said of all of them."""

    passages: Sequence[Passage]
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTexts:
    """Two or more texts, such as revisions or drafts, the oldest first."""

    heading: str
    names: Sequence[str]
    columns: Callable[[int], Sequence[tuple[str, int]]]
    """Returns labels and widths of the columns for a table of some width."""
    rows: Sequence[Sequence[str]]
    first: tuple[int, int]
    """The places of the two that are compared at first."""
    compare: Callable[[int, int], Comparison]
    """Compares two; it is called in a thread."""


class ComparisonScreen(OverlayScreen[None]):
    """Compares two of several texts; Esc goes back to the chapter."""

    CSS_PATH = "comparison_screen.tcss"
    HELP = (
        "All of them are kept. - and + choose the two that are compared: lines with - are only in the one, "
        "lines with + only in the other. Of drafts, lines with = count the paragraphs that both have, and in "
        "lines with ~ only the words in [- -] and {+ +} differ. Page Up and Page Down scroll."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("minus", "choose('before')", "Before", key_display="-"),
        Binding("plus", "choose('after')", "After", key_display="+"),
        Binding("y", "copy_all", "Copy all"),
        Binding("pageup", "scroll(-1)", "Page up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Page down", show=False, priority=True),
        Binding("escape", "close", "Back"),
    ]

    _table = getters.query_one("#texts", DataTable)
    _view = getters.query_one("#comparison", PassageView)

    def __init__(self, texts: ComparedTexts) -> None:
        super().__init__()
        self._texts = texts
        self._before, self._after = texts.first

    def compose(self) -> ComposeResult:
        """Compose the list above the comparison."""
        yield Static(Content(self._texts.heading), id="heading")
        yield RowTable(id="texts", cell_padding=0)
        yield Static("", id="compared", markup=False)
        yield PassageView(id="comparison")
        yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """List the texts and compare the first two."""
        self._table.focus()
        self._list()
        self._compare()

    def on_resize(self) -> None:
        """Adapt the widths of the columns."""
        self._list()

    def _list(self) -> None:
        """List the texts, and mark the two that are compared."""
        table = self._table
        row = table.cursor_row if table.row_count else self._after
        table.clear(columns=True)
        # The scroll bar of a long list is beside the columns.
        for label, width in ((" ", _SIDE), *self._texts.columns(self.app.size.width - _SIDE - 1)):
            table.add_column(Text(label), width=width)
        for number, cells in enumerate(self._texts.rows):
            side = "-" if number == self._before else "+" if number == self._after else ""
            table.add_row(cut(f" {side}"), *map(cut, cells))
        table.move_cursor(row=row, animate=False)

    def _compare(self) -> None:
        self.query_one("#compared", Static).update("Comparing …")
        self.run_worker(self._show_comparison(), group="compare", exclusive=True, exit_on_error=False)

    async def _show_comparison(self) -> None:
        """Compare in a thread: two long texts may take seconds."""
        before, after = self._before, self._after
        found = await asyncio.to_thread(self._texts.compare, before, after)
        self._view.show_passages([Keyed(number, passage) for number, passage in enumerate(found.passages)])
        self._view.pin(0)
        names = self._texts.names
        text = f"- only in {names[before]}    + only in {names[after]}"
        self.query_one("#compared", Static).update(Content("\n".join(filter(None, (text, found.said)))))

    def action_choose(self, side: str) -> None:
        """Compare the text under the cursor, as the one `before` or `after`."""
        row = self._table.cursor_row
        if side == "before":
            self._before, self._after = row, self._before if row == self._after else self._after
        else:
            self._before, self._after = self._after if row == self._before else self._before, row
        self._list()
        self._compare()

    @on(DataTable.RowSelected)
    def _choose_after(self) -> None:
        """Compare the text that was clicked."""
        self.action_choose("after")

    def action_scroll(self, pages: int) -> None:
        """Scroll the comparison by a page."""
        self._view.action_scroll_by_key("pagedown" if pages > 0 else "pageup")

    def action_copy_all(self) -> None:
        """Copy the comparison."""
        text = self._view.lines.text
        self.app.copy_to_clipboard(text)
        self.query_one("#said", Static).update(Content(f"{counted(len(text), 'character')} copied."))
