"""Does with items of the bank what the GM asks for, and says what was done (design 15)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from textual.screen import Screen
from textual.widget import Widget

from core.domain.bank.details import ItemKind, ThreadDetails
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item, Validation
from core.domain.errors import StoryEngineError
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.sync import notifications
from core.text import numbers
from storyengine_tui.screens.bank.bank_rows import shown_title
from storyengine_tui.screens.bank.item_list import Act
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.services.bank.bank import Bank
    from core.engine.services.bank.item_changes import NewItem
    from core.engine.session.session_handle import SessionHandle
    from storyengine_tui.widgets.dialogs.storing_modal import UnstoredText

T = TypeVar("T")
CHANGES: Final = (notifications.BankChanged, notifications.CanonChanged, notifications.EventsAppended)
"""After these other items may count: events are also appended by the redo of a prompt."""
NOT_HERE: Final = "An item of an earlier chapter is changed there: o opens that chapter."
SO_ALREADY: Final = "That is so already"
ONE_TO_EDIT: Final = "One item is edited at a time: Space removes a mark."


class ItemCommands:
    """Runs commands on items for a page or a dialog; `said` is called with the outcome, once it is stored.

    `kept_text` returns the file for something of the chapter that is being written. `place_of` says of a new
    item, behind “Added”, why it is not in view, such as `, hidden by the filter (f)`; nothing where it is.
    """

    def __init__(
        self,
        owner: Widget,
        session: "Callable[[], SessionHandle]",
        said: Callable[[str], object],
        kept_text: "Callable[[str], UnstoredText | None]",
        place_of: Callable[[Item], str],
    ) -> None:
        self._owner = owner
        self._session = session
        self._said = said
        self._kept_text = kept_text
        self._place_of = place_of
        self._turn = asyncio.Lock()
        """Has what was asked for stored in its order: an undo is of the change before it."""

    def perform(
        self,
        act: Act,
        items: Sequence[Item],
        *,
        kind: ItemKind = ItemKind.FACT,
        about: Slot | None = None,
        are_out: bool = False,
    ) -> None:
        """Do something with items; an item that is added begins with this `kind`, and `about` this character.

        `are_out` says that none of them counts: one that was merged may count again.
        """
        match act:
            case Act.UNDO | Act.REDO:
                self._do(self._again(self._session().bank, is_undo=act is Act.UNDO))
            case Act.ADD:
                self._add(kind, about)
            case _ if not items:
                return
            case Act.OPEN:
                self._open(items[0])
            case Act.GO:
                self._go_to_item(items[0])
            case _ if any(item.session_id != self._session().id for item in items):
                self._owner.notify(NOT_HERE, severity="warning", markup=False)
            case Act.EDIT:
                self._edit(items)
            case Act.MERGE:
                self._do(self._merge(self._session().bank, items))
            case Act.CLOSE:
                self._close(items)
            case _:
                self._switch(act, items, are_out=are_out)

    def mark_seen(self, items: Sequence[Item]) -> None:
        """Say of new items of this chapter that the GM has looked at them."""
        own = [item for item in items if item.session_id == self._session().id]
        if own and not self._session().is_read_only:
            self._do(self._see(self._session().bank, own))

    async def _see(self, bank: "Bank", items: Sequence[Item]) -> str:
        await bank.mark_seen(items)
        return ""

    def _do(self, work: Awaitable[str]) -> None:
        # A worker of the app: a dialog that is closed at once does not take back what was asked for.
        self._owner.app.run_worker(self._perform(work), group="bank", exit_on_error=False)

    async def _perform(self, work: Awaitable[str]) -> None:
        try:
            async with self._turn:
                outcome = await work
        except StoryEngineError as error:
            self._owner.notify(str(error), severity="warning", markup=False)
        else:
            # Not a dialog that is being removed: its parts may be gone already.
            if self._owner.is_attached and self._owner.screen in self._owner.app.screen_stack:
                self._said(outcome)

    def _switch(self, act: Act, items: Sequence[Item], *, are_out: bool) -> None:
        """Confirm, pin or reject; if all are already, take that back."""
        bank = self._session().bank
        if act is Act.CONFIRM:
            is_on = not all(item.validation is Validation.CONFIRMED for item in items)
            words = "Confirmed" if is_on else "No longer confirmed"
            self._do(self._counted(bank.confirm(items, is_on=is_on), words))
        elif act is Act.PIN:
            is_on = not all(item.is_pinned for item in items)
            self._do(self._counted(bank.pin(items, is_on=is_on), "Pinned" if is_on else "No longer pinned"))
        else:
            words = "Counts again" if are_out else "Rejected"
            self._do(self._counted(bank.reject(items, is_on=not are_out), words))

    def _close(self, items: Sequence[Item]) -> None:
        threads = [item.details for item in items if isinstance(item.details, ThreadDetails)]
        is_on = not all(thread.is_closed for thread in threads)
        work = self._session().bank.close(items, is_on=is_on)
        self._do(self._counted(work, "Closed" if is_on else "Open again"))

    async def _counted(self, work: Awaitable[Sequence[Item]], words: str) -> str:
        changed = await work
        return f"{words}: {counted(changed)}; u undoes it" if changed else SO_ALREADY

    async def _merge(self, bank: "Bank", items: Sequence[Item]) -> str:
        kept = await bank.merge(items)
        return f"Merged {counted(items)} into “{shown_title(kept)}”; u undoes it"

    async def _again(self, bank: "Bank", *, is_undo: bool) -> str:
        changed = await (bank.undo() if is_undo else bank.redo())
        what = f"“{shown_title(changed[0])}”" if len(changed) == 1 else counted(changed)
        return f"Undone for {what}; U does it again" if is_undo else f"Done again for {what}; u undoes it"

    def _push(self, screen: Screen[T], answered: Callable[[T | None], None]) -> None:
        if self._owner.app.screen is self._owner.screen:
            self._owner.app.push_screen(screen, answered)

    def _edit(self, items: Sequence[Item]) -> None:
        from storyengine_tui.screens.bank.item_modal import ItemModal

        if len(items) > 1:
            self._owner.notify(ONE_TO_EDIT, severity="warning", markup=False)
            return
        (item,) = items
        session = self._session()
        roster, bank = session.snapshot.session.roster, session.bank
        kept = self._kept_text(f"item.{item.id}")
        changed: list[Item] = []

        async def edit(typed: Item) -> None:
            stored = await bank.edit(item, typed)
            changed.extend([stored] if stored.version != item.version else [])

        def edited(is_stored: bool | None) -> None:
            self._stored("Saved; u undoes it" if changed else SO_ALREADY, is_stored)

        self._push(ItemModal(item, roster, edit, bank.items, kept), edited)

    def _add(self, kind: ItemKind, about: Slot | None) -> None:
        from storyengine_tui.screens.bank.item_modal import AddItemModal

        session = self._session()
        kept = self._kept_text("item")
        items: list[Item] = []

        async def add(here: Session, new: "NewItem") -> None:
            items.append(await session.bank.add(here, new))

        def added(is_stored: bool | None) -> None:
            place = self._place_of(items[-1]) if items else ""
            self._stored(f"Added{place or '; u undoes it'}", is_stored)

        self._push(AddItemModal(session.snapshot.session, add, kind, about, kept), added)

    def _stored(self, outcome: str, is_stored: bool | None) -> None:
        if is_stored:
            self._said(outcome)

    def _open(self, item: Item) -> None:
        from storyengine_tui.screens.bank.item_screen import ItemScreen

        session = self._session()
        screen = ItemScreen(item, session.bank, lambda: session.snapshot.session, session.fades_at)
        self._push(screen, partial(self._go_to_proof, item))

    def _go_to_proof(self, item: Item, proof: Evidence | None) -> None:
        if proof is not None:
            place = f"{proof.prompt_index}, {proof.ordinal}, {proof.start}, {proof.end}"
            self._go("play", f"go_to({place})", item)

    def _go_to_item(self, item: Item) -> None:
        if item.session_id != self._session().id:
            self._go("narrative", f"go_to_item('{item.id}')", item)

    def _go(self, tab: str, action: str, item: Item) -> None:
        self._owner.post_message(SessionTab.ElsewhereWanted(tab, action, item.session_id))


def counted(items: Sequence[Item]) -> str:
    """Return how many items these are, in words."""
    return numbers.counted(len(items), "item")
