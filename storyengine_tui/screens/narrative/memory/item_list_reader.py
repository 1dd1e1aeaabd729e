"""Reads the lists of the memory bank in the first cell of tab 3 (design 15)."""

from collections.abc import Callable, Sequence
from typing import Final

from textual.content import Content
from textual.widgets import Input, Static

from core.domain.bank.item import Item
from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.text.numbers import counted
from storyengine_tui.screens.bank.bank_rows import (
    KIND,
    KINDS,
    BankList,
    BankRow,
    Wanted,
    found,
    grouped,
    new_here,
    rows_of,
)
from storyengine_tui.screens.bank.item_list import ItemList

NO_ITEMS: Final = (
    "Nothing here yet. Items are drawn from play after each block of memory; + adds one of yours."
)
ALL_OUT: Final = "All items of this list were taken out; f shows them."
NOTHING_FOUND: Final = "No item matches; f and / change the filter."
NONE_KNOWN: Final = "{name} knows no item of this list; F12 goes on to the next character."
TALL: Final = 32
"""Rows of a terminal that has one for the titles of the columns."""
NO_OTHERS: Final = "none is new, confirmed, pinned or taken out"
LOOKING: Final = "Looking for items that may say the same …"
NONE_ALIKE: Final = "No two items of this list seem to say the same; d shows all of them again."
READING: Final = "Reading the bank …"


class ItemListReader:
    """Shows one list of the bank at a time, narrowed by a filter, a character's knowledge and a search.

    `field` has the words that are searched; `changed` is called after each change of the list or its heading.
    """

    found = ""
    """Nothing beside the search field: the count of the list says how many match."""

    def __init__(self, session: Callable[[], Session], field: Input, changed: Callable[[], None]) -> None:
        self._session = session
        self._field = field
        self._changed = changed
        self.view = ItemList(session, id="items")
        """The widget in which the GM reads."""
        self._empty = Static(READING, id="items-empty", markup=False)
        self._columns = Static("", id="items-columns", markup=False)
        self.widgets = (self._columns, self._empty, self.view)
        """The widgets to mount, from top to bottom."""
        self.forget()

    def forget(self) -> None:
        """Drop every item, and show no list."""
        self.rows: Sequence[BankRow] | None = None
        """Every item that was read; None before."""
        self._new = ""
        """Number of items that the GM has not seen, and their lists, in words."""
        self._failed = ""
        """Failed work for the bank, and where the GM finds it."""
        self._groups: Sequence[Sequence[ItemId]] | None = None
        """Those that may say the same, once they were looked for."""
        self._knower: Slot | None = None
        self.wanted = Wanted.ALL
        """Filter of the list."""
        self.has_book = False
        """Whether there are earlier chapters in a book."""
        self.is_wide = False
        """Whether items of the earlier chapters show too."""
        self.show(None)

    @property
    def told(self) -> tuple[str, str]:
        """The failed work for the bank, and how many items are new in which lists."""
        return self._failed, self._new

    @property
    def title(self) -> str:
        """The name of the list, the outcome of the last command, and last who knows its items."""
        name = str(self.shown).capitalize() + (" of the book" if self.is_wide else "")
        who = self._knower
        known = f"as {who.value} {self._session().name_of(who)} knows them" if who is not None else ""
        if not self._outcome:
            return ", ".join(filter(None, (name, known)))
        return " · ".join(filter(None, (name, self._outcome, known)))

    def count(self, work: str) -> str:
        """Return how many items show and are marked, and the running work."""
        count = len(self.view.rows)
        items = f"{count:,} {self.wanted}" if self.wanted else counted(count, "item")
        if self.wanted is Wanted.ALIKE and self._groups is None:
            items = ""  # They are being looked for.
        marked = f"{self.view.marked_count:,} marked" if self.view.marked_count else ""
        return " · ".join(filter(None, (items, marked, work if self.wanted is not Wanted.NEW else "")))

    def show_rows(self, rows: Sequence[BankRow], viewpoint: Slot | None, *, has_book: bool = False) -> None:
        """Show the items of the bank; with a viewpoint those that the character may know."""
        self.has_book = has_book
        self.rows, self._knower, self._new = rows, viewpoint, new_here(rows)
        self.search()
        self._changed()  # Also where no list shows: blocks of memory say how many are new.

    def show_alike(self, groups: Sequence[Sequence[ItemId]]) -> None:
        """Show the items of which another may say the same."""
        self._groups = groups
        self.search()

    def show_viewpoint(self, viewpoint: Slot | None) -> None:
        """Show the items that a character may know; None shows everything."""
        self._knower = viewpoint
        self.search()

    def say(self, outcome: str) -> None:
        """Say beside the name of the list what was just done."""
        self._outcome = outcome
        self._changed()

    def say_failed(self, failed: str) -> None:
        """Say beside the count which work for the bank failed."""
        self._failed = f"{failed}, F7" if failed else ""
        self._changed()

    def show(self, shown: BankList | None) -> None:
        """Show a list; None shows none."""
        self.shown = shown
        """The list that shows; None for blocks of memory."""
        self._outcome = ""
        """Outcome of the last command, shown beside the name of the list."""
        self.view.display = shown is not None
        self._empty.display = self._columns.display = False
        self.search()

    def place_of(self, item: Item) -> str:
        """Return why a new item is not among those that show, behind “Added”; nothing where it is."""
        [row] = rows_of([item], {}, item.proved_at)
        own = next(one for one, kinds in KINDS.items() if item.kind in kinds)
        if self.shown is not own:
            return f" to {own.number} {own.capitalize()}"
        if self.wanted is Wanted.ALIKE:
            return ", hidden until d shows all"
        if not self.wanted.has(row):
            return ", hidden by the filter (f)"
        if self._knower is not None and self._knower not in item.label:
            return ", hidden by the view (F12)"
        is_found = found([row], own, self.wanted, self._knower, self._field.value)
        return "" if is_found else ", hidden by the search (/)"

    def admit(self, item_id: ItemId) -> BankList | None:
        """Set the filter so that an item shows, and return its list; None where there is no such item."""
        row = next((row for row in self.rows or () if row.item.id == item_id), None)
        if row is None:
            return None
        self.wanted = Wanted.OUT if row.is_out else Wanted.ALL
        return next(one for one, kinds in KINDS.items() if row.item.kind in kinds)

    def search(self) -> None:
        """Show the items of the list that have the words, among those that are wanted."""
        if self.shown is None:
            return
        words = self._field.value
        rows = self._found(self.wanted, words)
        self.view.kind = KIND if self.shown is BankList.FACTS else ""
        if self.wanted is Wanted.ALIKE:
            self.view.show_groups(grouped(rows, self._groups or ()))
            text = LOOKING if self._groups is None else NONE_ALIKE
        else:
            self.view.show_items(rows)
            text = READING if self.rows is None else self._reason_for_none(self.rows, self.shown, words)
        self._empty.update(Content(text))
        self._empty.display = not self.view.rows
        self.show_columns()
        self._changed()

    def _found(self, wanted: Wanted, words: str) -> list[BankRow]:
        """Return the rows of the list that shows, as the character of the viewpoint may know them."""
        if self.shown is None:
            return []
        return found(self.rows or (), self.shown, wanted, self._knower, words)

    def _reason_for_none(self, rows: Sequence[BankRow], shown: BankList, words: str) -> str:
        if words.strip() or self.wanted is not Wanted.ALL:
            return NOTHING_FOUND
        if self._knower is not None and found(rows, shown, Wanted.ALL, None, ""):
            return NONE_KNOWN.format(name=self._session().name_of(self._knower))
        return ALL_OUT if self._found(Wanted.OUT, "") else NO_ITEMS

    def next_match(self, step: int) -> None:
        """Go to the list, which has every match."""
        self.view.focus()

    def show_columns(self) -> None:
        """Show the titles of the columns where the terminal has a row for them."""
        is_tall = self._columns.app.size.height >= TALL
        self._columns.display = self.shown is not None and bool(self.view.rows) and is_tall
        self._columns.update(Content(f" {self.view.header()}"))

    def filter(self) -> None:
        """Show the items of the next filter that has some in this list, and after the last one all."""
        every = [one for one in Wanted if one is not Wanted.ALIKE]
        following = every[every.index(self.wanted) + 1 :] if self.wanted in every else every
        has_some = (one for one in following if self._found(one, ""))
        before, self.wanted = self.wanted, next(has_some, Wanted.ALL)
        self._outcome = NO_OTHERS if self.wanted is before and self.view.rows else ""
        self.search()

    def find_alike(self) -> bool:
        """Show items of which another may say the same, or all again; return whether they are to be found."""
        is_shown = self.wanted is Wanted.ALIKE
        self.wanted, self._groups, self._outcome = Wanted.ALL if is_shown else Wanted.ALIKE, None, ""
        self.search()
        return not is_shown

    def widen(self) -> None:
        """Show the items of the earlier chapters too once they are read, or those of this chapter alone."""
        self.is_wide = not self.is_wide
        self.say("")

    def can(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action of the cell is possible here, as `check_action` does."""
        match action:
            case "widen":
                return self.has_book or None  # Not False, as below.
            case "revise" | "turn" | "next_match" | "correct":
                return False
            case "copy_all":
                return None  # Not False: the letter would be typed into the definition.
            case _:
                return True
