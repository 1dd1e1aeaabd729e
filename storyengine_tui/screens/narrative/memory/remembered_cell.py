"""The memory cell of a chapter that keeps a bank: blocks and, beside them, the lists of items (design 15)."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import getters, on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.domain.slot import Slot
from storyengine_tui.screens.bank.bank_rows import (
    KIND,
    KINDS,
    BankList,
    BankRow,
    Wanted,
    found,
    grouped,
    new_here,
)
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.narrative.memory.memory_cell import ENTRIES, MemoryCell
from storyengine_tui.screens.narrative.memory.memory_pages import title_text
from storyengine_tui.widgets.panel_switcher import PanelEntry, PanelSwitcher
from storyengine_tui.widgets.reading.memory_outline import MemoryForm
from storyengine_tui.widgets.reading.row_list import RowList
from storyengine_tui.widgets.reading.transcript_lines import Paragraph, SourcePos

Place = tuple[SourcePos, SourcePos]
"""The beginning and the end of words in a view."""

BANK_ENTRIES: Final = (
    ENTRIES[0],
    PanelEntry(MemoryForm.JSON, 2, "JSON"),  # Shorter than without lists: all of them fit into 80 columns.
    *(PanelEntry(one, number, one.value.capitalize()) for number, one in enumerate(BankList, start=3)),
)
NOTHING: Final = (
    "Nothing here yet. Items are drawn from play after each block of memory; + adds one of yours."
)
NOTHING_FOUND: Final = "No item matches; f and / change the filter."
TALL: Final = 32
"""Rows of a terminal that has one for the titles of the columns."""
LOOKING: Final = "Looking for items that may say the same …"
NONE_ALIKE: Final = "No two items of this list seem to say the same; d shows all of them again."
READING: Final = "Reading the bank …"


class RememberedCell(MemoryCell):
    """Shows memory blocks; in a chapter that keeps a bank also its lists."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(entry.number), f"show('{entry.key}')", entry.name, show=False)
            for entry in BANK_ENTRIES[len(ENTRIES) :]
        ),
        Binding("f", "filter", "Only some", show=False),
        Binding("d", "find_alike", "Find duplicates", show=False),
        Binding("b", "widen", "The whole book, or this chapter", show=False),
    ]

    _list = getters.query_one("#items", ItemList)
    _empty = getters.query_one("#items-empty", Static)
    _forms = getters.query_one("#memory-forms", PanelSwitcher)

    _session: Session | None = None
    """The chapter, once it keeps a bank."""
    _rows: Sequence[BankRow] | None = None
    """Every item that was read; None before."""
    _new = 0
    """Number of items that the GM has not seen."""
    _failed = ""
    """Failed work for the bank, and where the GM finds it."""
    _groups: Sequence[Sequence[ItemId]] | None = None
    """Those that may say the same, once they were looked for."""
    _knower: Slot | None = None
    _outcome = ""
    """Outcome of the last command, shown beside the name of the list."""
    _own_work = ""
    _wanted_item: ItemId | None = None
    """The item to which the cursor goes once the bank is read."""
    shown: BankList | None = None
    """The list that shows; None for blocks of memory."""
    wanted = Wanted.ALL
    """Filter of the list."""
    has_book = False
    """Whether there are earlier chapters in a book."""
    is_wide = False
    """Whether items of the earlier chapters show too."""

    class AlikeWanted(Message):
        """The GM wants to see which items may say the same."""

    class Widened(Message):
        """The GM wants to see the items of the whole book, or of this chapter again."""

    # What there is

    @property
    def read_in(self) -> Widget | None:
        """The list that shows, else what shows memory."""
        return super().read_in if self.shown is None else self._list

    @property
    def keeps_bank(self) -> bool:
        """Whether the lists are offered."""
        return self._session is not None

    def offer_bank(self, session: Session | None) -> None:
        """Offer the lists of a chapter that keeps a bank; None for one that keeps none."""
        had_bank, self._session = self.keeps_bank, session
        if self.keeps_bank == had_bank:
            return
        self.set_class(self.keeps_bank, "-banked")
        self._forms.set_entries(BANK_ENTRIES if self.keeps_bank else ENTRIES)
        if self.keeps_bank and not self.query(ItemList):
            lines = (
                Static("", id="items-columns", markup=False),
                Static(READING, id="items-empty", markup=False),
                ItemList(self._chapter, id="items"),
            )
            self.query_one(".cell").mount(*lines, before=self.query_one(".foot"))
        if not self.keeps_bank:
            self._rows, self._new, self.shown, self.wanted = None, 0, None, Wanted.ALL
            self._wanted_item, self.has_book, self.is_wide, self._failed = None, False, False, ""
            self.say_work(self._own_work)
        self._show_mode()

    def _chapter(self) -> Session:
        if self._session is None:
            raise RuntimeError("the chapter keeps no bank")
        return self._session

    def show_rows(self, rows: Sequence[BankRow], viewpoint: Slot | None, *, has_book: bool = False) -> None:
        """Show the items of the bank; with a viewpoint those that the character may know."""
        self.has_book = has_book
        self._rows, self._knower, self._new = rows, viewpoint, new_here(rows)
        self._show_items()
        self.say_work(self._own_work)
        if self._wanted_item is not None:
            self.go_to_item(self._wanted_item)

    def show_alike(self, groups: Sequence[Sequence[ItemId]]) -> None:
        """Show the items of which another may say the same."""
        self._groups = groups
        self._show_items()

    def show_viewpoint(self, viewpoint: Slot | None) -> None:
        """Show what a character may know; None shows everything."""
        self._knower = viewpoint
        self._show_items()

    def say(self, outcome: str) -> None:
        """Say beside the name of the list what was just done."""
        self._outcome = outcome
        self._list.unmark()
        self._show_heading()

    # Going to a place

    def go_to_block(self, number: int, find: Callable[[Sequence[Paragraph]], Place | None]) -> None:
        """Show a block of memory, and select there what `find` returns of its paragraphs."""
        if self.keeps_bank:
            self.go_to_list(None)
        self._pages.show(number)
        self._show_blocks()
        shown = self._shown.paragraphs_of(number - self._pages.start)
        first = shown.start
        place = find(self.view.lines.paragraphs[first : shown.stop])
        if place is None:
            self.view.pin(first)
        else:
            self.view.mark_at(*(SourcePos(first + one.paragraph, one.offset) for one in place))

    def go_to_item(self, item_id: ItemId) -> None:
        """Show the list that has an item, with the cursor on it; once the bank is read."""
        self._wanted_item = item_id if self._rows is None else None
        row = next((row for row in self._rows or () if row.item.id == item_id), None)
        if row is None:
            return
        self.wanted = Wanted.OUT if row.is_out else Wanted.ALL
        self.query_one("#memory-search", Input).value = ""
        self.go_to_list(next(one for one, kinds in KINDS.items() if row.item.kind in kinds))
        self._list.go_to(item_id)
        self.screen.set_focus(self._list, scroll_visible=True)

    # What shows

    def go_to_list(self, shown: BankList | None) -> None:
        """Show a list; None shows the blocks of memory again."""
        if self.keeps_bank:
            if painted := self._list.take_painted():
                # From here: Textual lets no message bubble up beyond the widget that has sent it.
                self.post_message(ItemList.Left(self._list, painted))
            self.shown, self._outcome = shown, ""
            had_focus = self.view.has_focus or self._list.has_focus
            self._show_mode()
            if had_focus:
                self.screen.set_focus(self._list if shown else self.view, scroll_visible=False)

    def _show_mode(self) -> None:
        """Show the blocks or the list, as was chosen."""
        is_list = self.shown is not None
        has_blocks = bool(self.blocks)
        self.set_class(is_list, "-listing")
        self.view.display = has_blocks and not is_list
        self.query_one("#memory-empty").display = not has_blocks and not is_list
        self.query_one(".foot").display = has_blocks or self.keeps_bank
        if self.query(ItemList):
            self._list.display = is_list
            self._empty.display = self.query_one("#items-columns").display = False
            self._show_items()
        self._show_heading()
        self.refresh_bindings()

    def _show_items(self) -> None:
        if self.shown is None or not self.keeps_bank:
            return
        rows = self._rows or ()
        words = self.query_one("#memory-search", Input).value
        shown = found(rows, self.shown, self.wanted, self._knower, words)
        self._list.kind = KIND if self.shown is BankList.FACTS else ""
        if self.wanted is Wanted.ALIKE:
            groups = grouped(shown, self._groups or ())
            shown = [row for group in groups for row in group]
            self._list.show_groups(groups)
        else:
            self._list.show_items(shown)
        is_narrowed = bool(words.strip()) or self.wanted is not Wanted.ALL or self._knower is not None
        text = READING if self._rows is None else NOTHING_FOUND if is_narrowed else NOTHING
        if self.wanted is Wanted.ALIKE:
            text = LOOKING if self._groups is None else NONE_ALIKE
        self._empty.update(Content(text))
        self._empty.display = not shown
        self._show_columns()
        self._show_heading()

    def on_resize(self) -> None:
        """Show the titles of the columns where there are rows to spare."""
        if self.keeps_bank:
            self.call_after_refresh(self._show_columns)

    def _show_columns(self) -> None:
        titles = self.query_one("#items-columns", Static)
        titles.display = self.shown is not None and bool(self._list.rows) and self.app.size.height >= TALL
        titles.update(Content(f" {self._list.header()}"))

    def _show_blocks(self) -> None:
        super()._show_blocks()
        if self.keeps_bank:
            self._show_mode()

    def say_work(self, work: str) -> None:
        """Say beside the count what is being done to memory, what failed, and how many items are new."""
        self._own_work = work
        new = f"{self._new:,} new in the bank" if self._new else ""
        super().say_work(" · ".join(filter(None, (work, self._failed, new))))
        self._show_heading()

    def say_failed(self, failed: str) -> None:
        """Say beside the count what of the work for the bank failed."""
        failed = f"{failed}, F7" if failed else ""
        if failed != self._failed:
            self._failed = failed
            self.say_work(self._own_work)

    def _show_heading(self) -> None:
        if self.shown is None:
            self.query_one("#memory-title", Static).update(Content(title_text(self.viewpoint)))
            return
        name = self.shown.value.capitalize() + (" of the book" if self.is_wide else "")
        who = f", as {self.viewpoint} knows them" if self.viewpoint else ""
        said = f" · {self._outcome}" if self._outcome else ""
        self.query_one("#memory-title", Static).update(Content(f"{name}{who}{said}"))
        count, marked = len(self._list.rows), self._list.marked_count
        parts = (
            f"{count:,} {self.wanted or ('item' if count == 1 else 'items')}",
            f"{marked:,} marked" if marked else "",
            self._work if self.wanted is not Wanted.NEW else "",
        )
        self.query_one("#memory-count", Static).update(Content(" · ".join(filter(None, parts))))

    # Keys

    def action_show(self, form: str) -> None:
        """Show one of the forms of memory, or a list."""
        if self.keeps_bank or form not in set(BankList):
            super().action_show(form)

    def action_filter(self) -> None:
        """Show only those that the GM has not seen, then confirmed ones, pinned ones, and those taken out."""
        every = [one for one in Wanted if one is not Wanted.ALIKE]
        here = every.index(self.wanted) if self.wanted in every else -1
        self.wanted = every[(here + 1) % len(every)]
        self._outcome = ""
        self._show_items()

    def action_find_alike(self) -> None:
        """Show items of which another may say the same, or all of them again."""
        is_shown = self.wanted is Wanted.ALIKE
        self.wanted, self._groups, self._outcome = Wanted.ALL if is_shown else Wanted.ALIKE, None, ""
        self._show_items()
        if not is_shown:
            self.post_message(self.AlikeWanted())

    def action_widen(self) -> None:
        """Show the items of the earlier chapters of the book too, or those of this chapter alone."""
        self.is_wide, self._outcome = not self.is_wide, ""
        self._show_heading()
        self.post_message(self.Widened())

    def action_leave_search(self) -> None:
        """Go back to the list or the text."""
        if self.shown is None:
            super().action_leave_search()
        else:
            self._list.focus()

    @on(PanelSwitcher.Picked, "#memory-forms")
    def _pick(self, event: PanelSwitcher.Picked) -> None:
        """Show a list in place of the blocks, or the blocks again."""
        if event.key in set(BankList):
            event.prevent_default()
            self.go_to_list(BankList(event.key))
        elif self.shown is not None:
            self.go_to_list(None)

    @on(Input.Changed, "#memory-search")
    def _narrow(self, event: Input.Changed) -> None:
        if self.shown is not None:
            event.prevent_default()
            self._show_items()

    @on(Input.Submitted, "#memory-search")
    def _enter(self, event: Input.Submitted) -> None:
        if self.shown is not None:
            event.prevent_default()
            self._list.focus()

    @on(RowList.Moved, "#items")
    def _moved(self) -> None:
        self._outcome = ""
        self._show_heading()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action == "show" and parameters[0] in set(BankList):
            return self.keeps_bank
        if self.shown is None:
            return action not in ("filter", "widen", "find_alike") and super().check_action(
                action, parameters
            )
        match action:
            case "widen":
                return self.has_book or None  # Not False, as below.
            case "revise" | "turn" | "next_match" | "correct":
                return False
            case "copy_all":
                return None  # Not False: the letter would be typed into the definition.
            case "search" | "filter" | "find_alike" | "show":
                return True
            case _:
                return super().check_action(action, parameters)
