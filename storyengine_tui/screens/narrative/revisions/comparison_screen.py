"""Lists the revisions of one block of memory, and compares any two of them line by line (design 12)."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.story.memory import BlockType, MemoryBlock, compared
from core.text.cleaning import clean
from core.text.numbers import counted
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.elapsed import shown_time
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.reading.memory_outline import Passage, title_of
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView
from storyengine_tui.widgets.row_table import RowTable

AROUND = 2
"""Lines without a difference that are shown before and after those with one."""
GAP = "  …"
SAME = "These two revisions have the same text."


def revisions_of(block: MemoryBlock, others: Sequence[MemoryBlock]) -> list[MemoryBlock]:
    """Return the revisions of a block that counts, itself among them, the oldest first.

    `others` are the blocks of the session that do not count.
    """
    same = [other for other in others if other.type is block.type and other.place == block.place]
    return sorted((*same, block), key=lambda one: (one.revision, one.created_at))


def maker_of(block: MemoryBlock) -> str:
    """Return who made a revision."""
    is_by_gm = block.is_by_gm or block.type is BlockType.CANON_CORRECTION
    return "the GM" if is_by_gm else "a model"


def made_at(block: MemoryBlock) -> str:
    """Return when a revision was made, in the time of this machine."""
    return shown_time(block.created_at)


def comparison_of(before: MemoryBlock, after: MemoryBlock) -> list[Passage]:
    """Return how two revisions differ: "- " is only in `before`, "+ " only in `after`.

    Lines that both have are left out where no difference is near.
    """
    lines = compared(before, after)
    different = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    if not different:
        return [Passage(SAME)]
    near = {at for number in different for at in range(number - AROUND, number + AROUND + 1)}
    parts: list[list[str]] = []
    previous = -2
    for number, line in enumerate(lines):
        if number in near:
            if number != previous + 1 or not parts:
                parts.append([GAP] if number else [])
            parts[-1].append(line)
            previous = number
    if previous + 1 < len(lines):
        parts[-1].append(GAP)
    return [Passage(clean("\n".join(part))) for part in parts]


class ComparisonScreen(OverlayScreen[None]):
    """Compares, at first, the revision that counts with the one before it; Esc goes back to the chapter.

    `revisions` are two or more revisions of one block, the oldest first; `canon` is the one that counts.
    """

    CSS_PATH = "comparison_screen.tcss"
    HELP = (
        "Every revision of this block of memory is kept. - and + choose the two that are compared: lines "
        "with - are only in the one, lines with + only in the other. Page Up and Page Down scroll."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("minus", "choose('before')", "Before", key_display="-"),
        Binding("plus", "choose('after')", "After", key_display="+"),
        Binding("y", "copy_all", "Copy all"),
        Binding("pageup", "scroll(-1)", "Page up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Page down", show=False, priority=True),
        Binding("escape", "close", "Back"),
    ]

    _table = getters.query_one("#revisions", DataTable)
    _view = getters.query_one("#comparison", PassageView)

    def __init__(self, revisions: Sequence[MemoryBlock], canon: MemoryBlock) -> None:
        super().__init__()
        self._revisions = revisions
        self._canon = canon
        self._after = next(number for number, one in enumerate(revisions) if one.id == canon.id)
        self._before = self._after - 1 if self._after else 1

    def compose(self) -> ComposeResult:
        """Compose the list above the comparison."""
        yield Static(Content(f"Revisions of memory: {title_of(self._canon)}"), id="heading")
        yield RowTable(id="revisions", cell_padding=0)
        yield Static("", id="compared", markup=False)
        yield PassageView(id="comparison")
        yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """List the revisions and compare the two newest."""
        for label, width in ((" ", 3), ("#", 5), ("Made", 23), ("By", 10), ("", 12)):
            self._table.add_column(Text(label), width=width)
        self._table.focus()
        self._show()

    def _show(self) -> None:
        """Show the list as it is now, and compare the two that are chosen."""
        row = self._table.cursor_row if self._table.row_count else self._after
        self._table.clear()
        for number, one in enumerate(self._revisions):
            side = "-" if number == self._before else "+" if number == self._after else ""
            counts = "counts now" if one.id == self._canon.id else ""
            cells = (f" {side}", f"{number + 1:,}", made_at(one), maker_of(one), counts)
            self._table.add_row(*(Text(cell, no_wrap=True) for cell in cells))
        self._table.move_cursor(row=row, animate=False)
        self.query_one("#compared", Static).update("Comparing …")
        self.run_worker(self._compare(), group="compare", exclusive=True, exit_on_error=False)

    async def _compare(self) -> None:
        """Compare in a thread: two long blocks may take a moment."""
        before, after = self._before, self._after
        passages = await asyncio.to_thread(comparison_of, self._revisions[before], self._revisions[after])
        self._view.show_passages([Keyed(number, passage) for number, passage in enumerate(passages)])
        self._view.pin(0)
        text = f"- only in revision {before + 1:,}    + only in revision {after + 1:,}"
        self.query_one("#compared", Static).update(Content(text))

    def action_choose(self, side: str) -> None:
        """Compare the revision under the cursor, as the one `before` or `after`."""
        row = self._table.cursor_row
        if side == "before":
            self._before, self._after = row, self._before if row == self._after else self._after
        else:
            self._before, self._after = self._after if row == self._before else self._before, row
        self._show()

    @on(DataTable.RowSelected)
    def _choose_after(self) -> None:
        """Compare the revision that was clicked."""
        self.action_choose("after")

    def action_scroll(self, pages: int) -> None:
        """Scroll the comparison by a page."""
        self._view.action_scroll_by_key("pagedown" if pages > 0 else "pageup")

    def action_copy_all(self) -> None:
        """Copy the comparison."""
        text = self._view.lines.text
        self.app.copy_to_clipboard(text)
        self.query_one("#said", Static).update(Content(f"{counted(len(text), 'character')} copied."))
