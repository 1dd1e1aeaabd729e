"""The action of tab 2 that ends the chapter."""

from typing import TYPE_CHECKING

from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.play_view import ending_consequences, has_short_chunk
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class EndingActions(PageActions):
    """Ends the chapter; what may be lost or missed by that is asked about."""

    def action_end_chapter(self) -> None:
        """End the chapter; ask first if it looks unfinished, or the memory bank has new items.

        The specification has the button summarise immediately. But an ended chapter cannot be continued, so
        one key does not end an unfinished one: with text in a panel, with a short last chunk, or before the
        first prompt, the GM reads what will happen and can cancel.
        """
        if self.session.snapshot.session.keeps_bank:
            work = self._ask_with_bank(self.session)
            run_in_background(self.page, work, group="end chapter", exclusive=True)
        else:
            self._ask(self.session)

    async def _ask_with_bank(self, session: "SessionHandle") -> None:
        """Do the same in a chapter with a memory bank, once its new items are counted."""
        new = await self.page.perform(session.bank.count_new())
        # Where the bank cannot be read a banner says so, and the chapter can end all the same.
        if self.page.shows(session):
            self._ask(session, new or 0)

    def _ask(self, session: "SessionHandle", new_items: int = 0) -> None:
        waiting = [area.slot for area in self.composer if not area.is_blank]
        chapter = session.snapshot.session
        if not (waiting or new_items or has_short_chunk(chapter)):
            self.page.do(session.end_chapter())
            return
        text = ending_consequences(chapter, waiting, new_items)
        question = ConfirmModal("End the chapter?", text, confirm="End Chapter")
        self.page.ask_for(question, lambda _: session.end_chapter())
