"""The actions of tab 2 about requests: cancel, retry, and take queued prompts back."""

import asyncio
from collections.abc import Callable

from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest, SummaryRequest
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.composer.prompt_sender import PromptSender
from storyengine_tui.screens.play.play_view import PlayView
from storyengine_tui.screens.shared.session_tab import SessionTab


class RequestActions(PageActions):
    """Actions of tab 2 on requests."""

    def __init__(self, page: SessionTab, sender: PromptSender, view: Callable[[], PlayView]) -> None:
        super().__init__(page, sender, view)
        self._one_by_one = asyncio.Lock()

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
