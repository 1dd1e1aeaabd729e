"""The actions of tab 2 about the memory bank: quotes, and the sheet of a character (design 15)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.story.transcript import prefix_of
from core.engine.services.bank.item_changes import speaker_of
from core.engine.sync import notifications
from storyengine_tui.screens.bank.item_commands import CHANGES
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.shared.background import run_in_background

if TYPE_CHECKING:
    from core.domain.story.event import Event
    from core.engine.session.session_handle import SessionHandle

ONE_EVENT: Final = "A quote has words of one line: select them there (v, then Space and the arrow keys)."
QUOTED: Final = "Kept as a quote of {}; u on its list (tab 3) takes it out."


class BankActions(PageActions):
    """Actions of tab 2 about the bank of a chapter that keeps one."""

    @property
    def keeps_bank(self) -> bool:
        """Whether the chapter keeps a bank."""
        return self.session.snapshot.session.keeps_bank

    def is_offered(self, action: str) -> bool:
        """Whether an action is possible now."""
        if not self.keeps_bank:
            return False
        if action == "quote_here":
            view = self.reading.transcript
            return view.has_focus and view.selection.key is not None
        return True

    def note(self, notification: notifications.Notification) -> None:
        """Read the quotes again where they may be others."""
        if self.keeps_bank and isinstance(notification, CHANGES):
            self.read_quotes()

    def read_quotes(self) -> None:
        """Mark the words in the transcript that are kept as quotes."""
        work = self._read_quotes(self.session)
        run_in_background(self.page, work, group="quotes", exclusive=True)

    async def _read_quotes(self, session: "SessionHandle") -> None:
        quotes: Sequence[Item] = ()
        if session.snapshot.session.keeps_bank:
            quotes = await self.page.perform(session.bank.items(kinds=(ItemKind.QUOTE,))) or ()
        if self.page.shows(session):
            self.reading.show_quotes(quotes, session.snapshot.session)

    def action_quote_here(self) -> None:
        """Keep the words that are selected as a quote; without a selection, the line of the cursor."""
        marked = self.reading.marked_words
        if marked is None:
            self.page.notify(ONE_EVENT, severity="warning", markup=False)
            return
        event, words = marked
        session = self.session.snapshot.session
        self.page.do(self._quote(self.session, event, words.removeprefix(prefix_of(event, session))))

    async def _quote(self, session: "SessionHandle", event: "Event", words: str) -> None:
        quote = await session.bank.quote(session.snapshot.session, event, words)
        if self.page.shows(session):
            self.reading.transcript.action_unmark()
            self.page.notify(QUOTED.format(speaker_of(quote)), timeout=3, markup=False)

    def action_sheet(self) -> None:
        """Show what play changed about the character of the panel."""
        from storyengine_tui.screens.bank.sheet_modal import SheetModal

        area = self.composer.shown
        if area is not None:
            dialog = SheetModal(self.session, area.slot, self.page.kept_text)
            self.page.ask(dialog, lambda _: self.page.on_tab_shown())
