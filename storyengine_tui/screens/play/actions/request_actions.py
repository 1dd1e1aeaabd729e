"""The actions of tab 2 about requests, the panels, and the end of the chapter."""

from typing import TYPE_CHECKING

from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest, SummaryRequest
from core.domain.slot import Slot
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.play_view import ending_consequences, has_short_chunk
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class RequestActions(PageActions):
    """Actions of tab 2 on requests."""

    def action_cancel(self) -> None:
        """Cancel the reply or the summary that runs."""
        running = self.view().running
        if running is not None:
            self.reading.say_cancelling()
            self.page.do(self.session.cancel(running.id))

    def action_retry(self) -> None:
        """Retry what failed: the prompt, or else the summary."""
        failed = self.view().failed
        if failed is not None:
            self.retry(failed)

    def retry(self, request: ReplyRequest | SummaryRequest) -> None:
        """Retry this request."""
        if isinstance(request, ReplyRequest):
            self.sender.send_again(request)
            self.follow_reply()
        else:
            self.page.do(self.session.retry(request.id))

    def action_take_back(self) -> None:
        """Take the newest queued prompt back."""
        queued = self.view().queued
        if queued:
            self.page.do(self.sender.withdraw(queued[-1]))

    def action_take_back_all(self) -> None:
        """Take every queued prompt back; those of one panel are joined there in their order."""
        self.page.do(self.sender.withdraw_all(self.view().queued))

    def take_back(self, request_id: RequestId) -> None:
        """Take this prompt back, if it is still queued."""
        for request in self.view().queued:
            if request.id == request_id:
                self.page.do(self.sender.withdraw(request))


class PanelActions(PageActions):
    """Actions of tab 2 about where the GM reads and writes."""

    def action_read(self, way: str) -> None:
        """Scroll the transcript: `page_up`, `page_down` or `end`."""
        self.reading.go(way)

    def action_write(self) -> None:
        """Go back to the panel."""
        self.page.on_tab_shown()

    def action_next_panel(self) -> None:
        """Write to the next character."""
        self.sender.has_picked = True
        self.composer.show_next(self.composer.slot)
        self.page.on_tab_shown()

    def action_panel(self, number: int) -> None:
        """Write to the character in this slot."""
        if Slot(number) in self.session.snapshot.session.slots:
            self.sender.has_picked = True
            self.composer.show(Slot(number), takes_focus=True)


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
