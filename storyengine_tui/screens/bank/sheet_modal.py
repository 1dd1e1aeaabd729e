"""The sheet of a character: what play changed about it, one line each (design 15)."""

import asyncio
from typing import TYPE_CHECKING, ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from core.context.bank import sheet_of, this_chapter
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.errors import StoryEngineError
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.screens.bank.bank_rows import ASPECT, rows_of
from storyengine_tui.screens.bank.item_commands import CHANGES, ItemCommands
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.engine.session.session_handle import SessionHandle
    from storyengine_tui.widgets.dialogs.storing_modal import UnstoredText

NO_CHANGES: Final = "The bank knows of nothing yet that play has changed about this character."
KEYS_OF_NONE: Final = "+ adds · u undoes · Esc closes"
KEYS: Final = (
    "c confirms · e edits · p pins · x rejects · + adds · u undoes · Enter shows the proof · Esc closes"
)


class SheetModal(BoxModal[None]):
    """Shows the lines of a sheet, which are corrected in place."""

    HELP = (
        "Possessions, condition, place and relations of the character, as play has changed them, each with "
        "its prompt. The character is given this sheet."
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    _list = getters.query_one(ItemList)

    def __init__(
        self, session: "SessionHandle", slot: Slot, kept_text: "Callable[[str], UnstoredText | None]"
    ) -> None:
        super().__init__()
        self._session = session
        self._slot = slot
        self._outcome = ""
        """Outcome of the last command, shown in place of the keys."""
        self._item_commands = ItemCommands(self, lambda: session, self._said, kept_text, self._place_of)

    def compose(self) -> ComposeResult:
        """Compose the list, what was done, and the keys."""
        name = self._session.snapshot.session.name_of(self._slot)
        with Vertical(classes="dialog--box"):
            yield Static(
                Content(f"{self._slot.value} {clean_line(name)}, as play has changed it"),
                classes="dialog--title",
            )
            yield Static("", id="nothing", classes="dialog--text", markup=False)
            yield ItemList(lambda: self._session.snapshot.session, kind=ASPECT, id="sheet")
            yield Static("", id="done", classes="dialog--muted", markup=False)

    def on_mount(self) -> None:
        """Read the lines."""
        self._list.focus()
        self._read()
        self.run_worker(self._follow(), group="follow", exit_on_error=False)

    async def _follow(self) -> None:
        """Read the lines again where they may be others, here or in another window."""
        with self._session.listen() as listener:
            async for batch in listener.batches():
                if any(isinstance(one, CHANGES) for one in batch):
                    self._read()

    def _read(self) -> None:
        self.run_worker(self._load(), group="sheet", exclusive=True, exit_on_error=False)

    async def _load(self) -> None:
        nothing, bank = self.query_one("#nothing", Static), self._session.bank
        try:
            # The sheet is the one that the input has: of the earlier chapters of a book too.
            chapters, kinds = await self._session.earlier.chapters(), (ItemKind.STATE,)
            earlier = await self._session.earlier.items(chapters, kinds=kinds)
            items = await bank.items(kinds=kinds)
            accesses = await bank.accesses()
        except StoryEngineError as error:
            nothing.update(Content(str(error)))
            return
        session = self._session.snapshot.session
        here = this_chapter(session)
        told = [line for _, lines in earlier for line in lines]
        sheet = sheet_of([*told, *(here.remembered(item, session) for item in items)], self._slot)
        own = [line.item for line in sheet if not line.chapter]
        ids = {line.item.id for line in sheet}
        others = [(one, [line for line in lines if line.item.id in ids]) for one, lines in earlier]
        now, at = session.prompt_index, self._session.fades_at()
        counting = {item.id for item in own}
        rows = await asyncio.to_thread(rows_of, own, accesses, now, others, at, counting)
        self._list.show_items(rows)
        nothing.update(Content("" if rows else NO_CHANGES))
        nothing.display = not rows
        self._show_last_line()

    @on(ItemList.Asked)
    def _ask(self, event: ItemList.Asked) -> None:
        kind, about = ItemKind.STATE, self._slot
        self._item_commands.perform(event.act, event.items, kind=kind, about=about, are_out=event.are_out)

    @on(SessionTab.ElsewhereWanted)
    def _make_way(self) -> None:
        """Close: the GM goes to a proof, which the app shows."""
        self.dismiss(None)

    @on(ItemList.Left)
    def _leave(self, event: ItemList.Left) -> None:
        self._item_commands.mark_seen(event.items)

    def _place_of(self, item: Item) -> str:
        is_here = item.kind is ItemKind.STATE and item.about is self._slot
        return "" if is_here else ", not on this sheet"

    def _said(self, outcome: str) -> None:
        self._list.unmark()
        self._outcome = outcome or self._outcome
        self._show_last_line()

    def _show_last_line(self) -> None:
        """Show what was done; before that, the keys that have a use here."""
        keys = KEYS if self._list.rows else KEYS_OF_NONE
        self.query_one("#done", Static).update(Content(self._outcome or keys))
