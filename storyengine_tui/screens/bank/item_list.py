"""A list of items of the bank, with one key for each thing that the GM does with them (design 15)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.scroll_view import ScrollView

from core.domain.bank.item import Item, Validation
from core.domain.ids import ItemId
from core.domain.session.session import Session
from storyengine_tui.screens.bank.bank_rows import BankRow, cells_of, columns_of
from storyengine_tui.widgets.reading.column import Column
from storyengine_tui.widgets.reading.row_list import RowList
from storyengine_tui.widgets.widget_message import WidgetMessage


class Act(StrEnum):
    """Command of the GM on items."""

    CONFIRM = "confirm"
    EDIT = "edit"
    PIN = "pin"
    MERGE = "merge"
    REJECT = "reject"
    CLOSE = "close"
    UNDO = "undo"
    REDO = "redo"
    ADD = "add"
    OPEN = "open"
    GO = "go"


class ItemList(RowList[BankRow]):
    """Shows items. A key acts on those that are marked; without marks, on the one at the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "ask('confirm')", "Confirm"),
        Binding("e", "ask('edit')", "Edit"),
        Binding("p", "ask('pin')", "Pin"),
        Binding("m", "ask('merge')", "Merge"),
        Binding("x", "ask('reject')", "Reject"),
        Binding("u", "ask('undo')", "Undo"),
        Binding("space", "mark", "Mark"),
        Binding("a", "mark_all", "Mark all that show, or none", show=False),
        Binding("plus", "ask('add')", "Add", key_display="+"),
        Binding("U,shift+u", "ask('redo')", "Redo", key_display="U", show=False),
        Binding("t", "ask('close')", "Close a thread, or open it again", show=False),
        Binding("o", "ask('go')", "Open the chapter that it is from", show=False),
    ]

    @dataclass
    class Asked(WidgetMessage[ScrollView]):
        """The GM wants to do `act` with these items."""

        act: Act
        items: tuple[Item, ...]
        are_out: bool = False
        """Whether none of them counts, as the list shows them."""

    @dataclass
    class Left(WidgetMessage[ScrollView]):
        """The list is no longer in view; these new items were."""

        items: tuple[Item, ...]

    @dataclass
    class Fitted(WidgetMessage[ScrollView]):
        """The columns have the widths of another size."""

    HELP = (
        "Each line has the item's name and text, its prompt, who knows it where not everyone does, and its "
        "remaining importance. New ones say so until you have seen them; ✓ is confirmed. "
        "Enter shows the proofs, the changes and how often it was recalled.\n\n"
        "c confirms, p pins, x rejects, t closes a thread; the same key again undoes it. e edits, m merges. "
        "Space marks several, a all that show; a key then acts on them at once. u undoes the last change, "
        "U redoes it, + adds one of your own; f shows only some, such as those that were taken out.\n\n"
        "d shows possible duplicates in groups: m merges the group of the cursor, and d shows all items "
        "again.\n\n"
        "In a chapter of a book, b shows the items of the earlier chapters too, with the number of their "
        "chapter. They are changed there; o opens it."
    )

    def __init__(self, session: Callable[[], Session], *, kind: str = "", id: str) -> None:
        """Make a list; `kind` is the title of the column that says what kind an item is of."""
        super().__init__(self._cells, lambda row: row.is_out, id=id)
        self._session = session
        self.kind = kind
        self._marked: set[ItemId] = set()
        self._groups: Mapping[ItemId, Sequence[BankRow]] = {}
        """The group of each item, where groups show."""
        self._painted: dict[ItemId, Item] = {}
        """New items that the GM has had before the eyes."""

    def _cells(self, row: BankRow) -> Sequence[str]:
        if row.item.validation is Validation.NONE:
            self._painted[row.item.id] = row.item
        sign = "*" if row.item.id in self._marked else self._sign_of(row)
        return cells_of(row, self._session(), self.columns, sign=sign)

    def _sign_of(self, row: BankRow) -> str:
        """Return a bracket around the rows of a group."""
        group = self._groups.get(row.item.id)
        if group is None:
            return ""
        return "┌" if row is group[0] else "└" if row is group[-1] else "│"

    def show_groups(self, groups: Sequence[Sequence[BankRow]]) -> None:
        """Show groups of items that may say the same: m merges the group of the cursor."""
        self.show_items([row for group in groups for row in group])
        self._groups = {row.item.id: group for group in groups for row in group}
        self.refresh()

    def show_items(self, rows: Sequence[BankRow]) -> None:
        """Show these; the cursor stays on its item where that is among them."""
        self._groups = {}
        here = None if self.chosen is None else self.chosen.item.id
        is_known = here is not None
        cursor = (
            next((number for number, row in enumerate(rows) if row.item.id == here), None)
            if is_known
            else None
        )
        if self._marked:
            self._marked &= {row.item.id for row in rows}
        was_empty = not self.rows
        self.show_rows(rows, self._fitted(rows), cursor)
        if was_empty is not (not rows):
            self.refresh_bindings()

    def go_to(self, item_id: ItemId) -> None:
        """Put the cursor on an item, if it is in the list."""
        for number, row in enumerate(self.rows):
            if row.item.id == item_id:
                self.move_to(number)

    def _fitted(self, rows: Sequence[BankRow]) -> list[Column]:
        # The size does not tell of a scroll bar that comes with these rows: it comes without a layout.
        bar = self.styles.scrollbar_size_vertical if len(rows) > self.size.height > 0 else 0
        width = self.outer_size.width - self.gutter.width
        return columns_of(rows, width - bar if width > 0 else 80, kind=self.kind)

    def on_resize(self) -> None:
        """Adapt the widths of the columns."""
        self.show_rows(self.rows, self._fitted(self.rows))
        super().on_resize()
        self.post_message(self.Fitted(self))

    @property
    def asked_for(self) -> Sequence[BankRow]:
        """The rows that are marked; without marks, the one at the cursor."""
        if self._marked:
            return [row for row in self.rows if row.item.id in self._marked]
        return [] if self.chosen is None else [self.chosen]

    @property
    def marked_count(self) -> int:
        """Number of marked items."""
        return len(self._marked)

    def unmark(self) -> None:
        """Remove every mark."""
        self._marked.clear()
        self.refresh()

    def on_hide(self) -> None:
        """Tell the owner that the list is no longer in view."""
        if painted := self.take_painted():
            self.post_message(self.Left(self, painted))

    def take_painted(self) -> tuple[Item, ...]:
        """Return the new items that were in view since the last time."""
        painted, self._painted = tuple(self._painted.values()), {}
        return painted

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible: without an item, nothing that is done with one."""
        without_item = {Act.UNDO, Act.REDO, Act.ADD}
        needs_item = action == "mark" or (action == "ask" and parameters[0] not in without_item)
        # Not False: the letter would be typed into another field.
        return None if needs_item and not self.rows else True

    def action_mark(self) -> None:
        """Mark the item at the cursor, or remove its mark, and go on to the next."""
        if self.chosen is not None:
            self._marked ^= {self.chosen.item.id}
            self.move_to(self.cursor + 1)
            self.refresh()
            self.post_message(self.Moved(self))

    def action_mark_all(self) -> None:
        """Mark every item that the list shows, or remove all marks where each has one."""
        shown = {row.item.id for row in self.rows}
        self._marked = set() if self._marked == shown else shown
        self.refresh()
        self.post_message(self.Moved(self))

    def action_ask(self, act: str) -> None:
        """Ask for something to be done with the items."""
        rows = self.asked_for
        if Act(act) is Act.MERGE and not self._marked and rows:
            rows = self._groups.get(rows[0].item.id, rows)
        are_out = all(row.is_out for row in rows)
        self.post_message(self.Asked(self, Act(act), tuple(row.item for row in rows), are_out))

    def action_choose(self) -> None:
        """Show the details of the item at the cursor."""
        if self.chosen is not None:
            self.post_message(self.Asked(self, Act.OPEN, (self.chosen.item,)))
