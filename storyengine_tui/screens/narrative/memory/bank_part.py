"""The part of tab 3 for the memory bank: reads it, and passes on the GM's commands on items."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.ids import SessionId
from core.engine.services.bank.words import failed_in_words
from core.engine.sync import notifications
from storyengine_tui.screens.bank.bank_rows import KINDS, BankList, Wanted, rows_of
from storyengine_tui.screens.bank.item_commands import CHANGES, ItemCommands
from storyengine_tui.screens.bank.item_list import Act, ItemList
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.memory.memory_loader import MemoryLoader
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


BankEvent = ItemList.Asked | ItemList.Left | MemoryCell.Widened | MemoryCell.AlikeWanted


class BankPart:
    """Fills the lists of the `MemoryCell` of a page."""

    def __init__(self, page: SessionTab, memory: MemoryLoader) -> None:
        self._page = page
        self._memory = memory
        self._item_commands = ItemCommands(
            page, lambda: page.session, self._say, page.kept_text, lambda item: self._cell.bank.place_of(item)
        )
        self._is_outdated = True
        self._earlier: dict[SessionId, Sequence[Item]] = {}
        """The items of the earlier chapters of the book that were read since the GM came to the tab."""
        self._then: Callable[[], None] | None = None
        """Called once the bank is read."""

    @property
    def _cell(self) -> MemoryCell:
        return self._page.query_one(MemoryCell)

    def forget(self) -> None:
        """Drop every item, before another session is shown."""
        self._is_outdated = True
        self._earlier, self._then = {}, None
        self._cell.offer_bank(False)

    def note(self, notification: notifications.Notification) -> None:
        """Note what makes the items that were read outdated."""
        if isinstance(notification, CHANGES):
            self._is_outdated = True

    def refresh(self) -> None:
        """Offer the lists if the chapter keeps a bank, and read it if that is in view and outdated."""
        snapshot = self._page.session.snapshot
        self._cell.offer_bank(snapshot.session.keeps_bank)
        if not self._cell.keeps_bank:
            return
        self._cell.bank.say_failed(failed_in_words(snapshot.requests))
        if self._is_outdated and self._page.is_in_view:
            self._is_outdated = False
            work = self._read(self._page.session)
            run_in_background(self._page, work, group="bank items", exclusive=True)

    def come(self) -> None:
        """Read the bank again when the GM comes to the tab: another window may have changed it."""
        self._earlier = {}
        self._read_again()

    def _read_again(self) -> None:
        self._is_outdated = True
        if self._page.has_session:
            self.refresh()

    async def _read(self, session: "SessionHandle") -> None:
        items = await self._page.perform(session.bank.items(with_all=True))
        counting = await self._page.perform(session.bank.counting())
        accesses = await self._page.perform(session.bank.accesses())
        chapters = await self._page.perform(session.earlier.chapters())
        if items is None or counting is None or accesses is None or chapters is None:
            self._is_outdated |= self._page.shows(session)  # A banner says so; the next notice tries again.
            return
        shown_too = chapters if self._cell.bank.is_wide else ()
        # Only this chapter changes those of its own; which of the others still count is asked again.
        earlier = await self._page.perform(session.earlier.items(shown_too, read=self._earlier)) or ()
        # What an undone prompt had is not shown; what the GM took out is, where it is asked for.
        shown = [item for item in items if item.id in counting or item.is_out]
        now = session.snapshot.session.prompt_index
        rows = await asyncio.to_thread(rows_of, shown, accesses, now, earlier, session.fades_at(), counting)
        if self._page.shows(session):
            self._cell.bank.show_rows(rows, self._memory.viewpoint, has_book=bool(chapters))
            then, self._then = self._then, None
            if then is not None:
                then()

    def when_read(self, then: Callable[[], None]) -> None:
        """Do something once the bank is read: at once if it is."""
        if self._cell.keeps_bank and self._cell.bank.rows is not None:
            then()
        else:
            self._then = then

    async def _find_alike(self, session: "SessionHandle") -> None:
        groups = await self._page.perform(session.bank.alike())
        if not self._page.shows(session):
            return
        if groups is not None:
            self._cell.bank.show_alike([[item.id for item in group] for group in groups])
        elif self._cell.bank.wanted is Wanted.ALIKE:
            self._cell.bank.find_alike()  # A banner says why there is nothing to show.

    def show_viewpoint(self) -> None:
        """Show what the character knows as which memory is shown."""
        if self._cell.keeps_bank:
            self._cell.bank.show_viewpoint(self._memory.viewpoint)

    def _say(self, outcome: str) -> None:
        if outcome:
            self._cell.bank.view.unmark()
            self._cell.bank.say(outcome)

    def handle(self, event: BankEvent) -> None:
        """Do with items what the GM asks for, or note that the GM has looked at new ones."""
        if isinstance(event, MemoryCell.Widened):
            self._read_again()
        elif isinstance(event, MemoryCell.AlikeWanted):
            work = self._find_alike(self._page.session)
            run_in_background(self._page, work, group="items alike", exclusive=True)
        elif isinstance(event, ItemList.Asked):
            self._item_commands.perform(event.act, event.items, kind=self._kind, are_out=event.are_out)
        elif self._page.has_session:
            self._item_commands.mark_seen(event.items)

    @property
    def _kind(self) -> ItemKind:
        """The kind of an item that is added to the list that shows."""
        kinds = KINDS[self._cell.bank.shown or BankList.FACTS]
        return ItemKind.FACT if ItemKind.FACT in kinds else next(iter(kinds))

    def is_offered(self, action: str) -> bool:
        """Whether an action on the bank is possible."""
        return self._cell.keeps_bank

    def action_bank_list(self, shown: str) -> None:
        """Show a list of the bank, and go there."""
        self._cell.action_show(shown)
        self._page.page_focus.move_to(self._cell.bank.view, scroll_visible=True)

    def action_bank_alike(self) -> None:
        """Show items that may say the same, in the list that shows or that of facts."""
        self.action_bank_list(self._cell.bank.shown or BankList.FACTS)
        if self._cell.bank.wanted is not Wanted.ALIKE:
            self._cell.action_find_alike()

    def action_bank_act(self, act: str) -> None:
        """Add an item, or undo or redo the last change of the bank."""
        self._item_commands.perform(Act(act), (), kind=self._kind)
