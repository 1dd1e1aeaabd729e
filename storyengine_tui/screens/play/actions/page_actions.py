"""The base of the groups of actions of tab 2, which the page adopts, and the small ones of them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest, SummaryRequest
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus, status_of
from core.domain.story.event import Event
from storyengine_tui.screens.play.composer.composer import Composer
from storyengine_tui.screens.play.composer.prompt_sender import PromptSender
from storyengine_tui.screens.play.play_view import PlayView, ending_consequences, has_short_chunk
from storyengine_tui.screens.play.scene.sent_view import NEXT, said_of
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class PageActions:
    """Actions on a page with a transcript and a composer; `view` returns what the page would show now."""

    def __init__(self, page: SessionTab, sender: PromptSender, view: Callable[[], PlayView]) -> None:
        self.page = page
        self.sender = sender
        self.view = view
        self._one_by_one = asyncio.Lock()
        """Held by an action of which the key may come twice."""

    @property
    def session(self) -> "SessionHandle":
        """The session that the page shows."""
        return self.page.session

    @property
    def composer(self) -> Composer:
        """The panels in which prompts are written."""
        return self.page.query_one(Composer)

    @property
    def reading(self) -> TranscriptPanel:
        """The transcript."""
        return self.page.query_one(TranscriptPanel)

    def follow_reply(self) -> None:
        """Scroll the transcript to its end."""
        self.reading.go("end")

    async def broken_off(self, session: "SessionHandle") -> list[ReplyRequest]:
        """Return the failed replies of which text had arrived, or of which that cannot be read now."""
        failed = session.snapshot.failed(ReplyRequest)
        has_text = [await self.page.perform(session.takes.has_partial(one)) for one in failed]
        return [one for one, has in zip(failed, has_text, strict=True) if has is not False]


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
        session = self.session
        if session.snapshot.session.keeps_bank or session.snapshot.failed(ReplyRequest):
            work = self._ask_once_known(session)
            run_in_background(self.page, work, group="end chapter", exclusive=True)
        else:
            self._ask(session)

    async def _ask_once_known(self, session: "SessionHandle") -> None:
        """Do the same once the new items of the bank are counted, and replies that broke off are read."""
        keeps_bank = session.snapshot.session.keeps_bank
        new = await self.page.perform(session.bank.count_new()) if keeps_bank else 0
        broken_off = await self.broken_off(session)
        # Where the bank cannot be read a banner says so, and the chapter can end all the same.
        if self.page.shows(session):
            self._ask(session, new or 0, broken_off)

    def _ask(
        self, session: "SessionHandle", new_items: int = 0, broken_off: Sequence[ReplyRequest] = ()
    ) -> None:
        waiting = [area.slot for area in self.composer if not area.is_blank]
        chapter = session.snapshot.session
        if not (waiting or new_items or broken_off or has_short_chunk(chapter)):
            self.page.do(session.end_chapter())
            return
        text = ending_consequences(chapter, waiting, new_items, broken_off)
        question = ConfirmModal("End the chapter?", text, confirm="End Chapter")
        self.page.ask_for(question, lambda _: session.end_chapter())


class SendingActions(PageActions):
    """Actions of tab 2 on lines that models are sent."""

    def action_mark_here(self) -> None:
        """Go on to the next status of the line at the cursor."""
        event = self.reading.marked_event
        if event is not None:
            self._send(event, None)

    def action_send(self, status: str) -> None:
        """Give the line at the cursor this status."""
        event = self.reading.marked_event
        if event is not None:
            self._send(event, ContextStatus(status))

    def _send(self, event: Event, status: ContextStatus | None) -> None:
        self.page.do(self._store(self.session, event, status))

    async def _store(self, session: "SessionHandle", event: Event, status: ContextStatus | None) -> None:
        """Give a line a status, or the next one; for a key that comes twice, the one after that."""
        async with self._one_by_one:
            if status is None:
                status = NEXT[status_of(event, session.snapshot.statuses)]
            await session.scene.set_status([event], status)
        boundary = session.snapshot.session.boundary
        # One at a time: they would lie above each other while the key is pressed.
        self.page.app.clear_notifications()
        self.page.notify(said_of(event, status, boundary), timeout=4, markup=False)


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
        """Take the newest queued prompt back; for a key that comes twice, the one before it as well."""
        self.page.do(self._take_newest_back())

    async def _take_newest_back(self) -> None:
        async with self._one_by_one:
            if queued := self.view().queued:
                await self.sender.withdraw(queued[-1])

    def action_take_back_all(self) -> None:
        """Take every queued prompt back; those of one panel are joined there in their order."""
        self.page.do(self.sender.withdraw_all(self.view().queued))

    def take_back(self, request_id: RequestId) -> None:
        """Take this prompt back, if it is still queued."""
        for request in self.view().queued:
            if request.id == request_id:
                self.page.do(self.sender.withdraw(request))
