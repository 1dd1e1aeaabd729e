"""The action of tab 2 that ends the chapter."""

from functools import partial
from typing import TYPE_CHECKING

from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.play_view import ending_consequences, has_short_chunk
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class EndingActions(PageActions):
    """Ends the chapter; what may be lost by that is asked about."""

    def action_end_chapter(self) -> None:
        """End the chapter; ask first if it looks unfinished.

        The specification has the button summarise immediately. But an ended chapter cannot be continued, so
        one key does not end an unfinished one: with text in a panel, with a short last chunk, or before the
        first prompt, the GM reads what will happen and can cancel.
        """
        waiting = [area.slot for area in self.composer if not area.is_blank]
        session = self.session.snapshot.session
        if not (waiting or has_short_chunk(session)):
            self._end(self.session, is_confirmed=True)
            return
        text = ending_consequences(session, waiting)
        question = ConfirmModal("End the chapter?", text, confirm="End Chapter")
        self.page.ask(question, partial(self._end, self.session))

    def _end(self, session: "SessionHandle", is_confirmed: bool | None) -> None:
        if is_confirmed:
            self.page.do(session.end_chapter())
