"""What went wrong on tab 2, in the flow of the page: a prompt without a reply, a summary not made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from core.domain.errors import ErrorCode
from core.domain.request import ReplyRequest, Request, SummaryRequest
from storyengine_tui.screens.play.play_status import PlayStatus, reply_failure, summary_failure
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone

RETRY_KEY = "^r"


class FailureBanners(Vertical):
    """Takes no room while all is well. What the GM has put aside stays away until it fails again."""

    @dataclass
    class RetryRequested(Message):
        """The GM wants this call tried again."""

        request: ReplyRequest | SummaryRequest

    @dataclass
    class EditRequested(Message):
        """The GM wants to change the text of this prompt first."""

        request: ReplyRequest

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._reply: ReplyRequest | None = None
        self._summary: SummaryRequest | None = None
        self._shown: dict[str, object] = {}
        self._due: tuple[datetime, float] | None = None
        """When the summary is tried by itself, as the engine says it and on this program's own clock."""

    def compose(self) -> ComposeResult:
        """Compose two banners and a line, all of them silent."""
        yield Banner(id="reply-failed")
        yield Banner(id="summary-failed")
        yield Static(id="left-out", markup=False)

    @property
    def failed(self) -> ReplyRequest | SummaryRequest | None:
        """What the retry key tries again: the prompt before the summary."""
        return self._reply or self._summary

    def show_failures(self, status: PlayStatus, *, can_act: bool, is_news: bool) -> None:
        """Show what failed and was not tried again. `is_news` says that it happened in this moment."""
        self._reply = next(iter(status.failed_replies), None)
        self._summary = status.failed_summary
        self._show_reply(status, can_act=can_act)
        self._show_summary(status, can_act=can_act, is_news=is_news)

    def show_left_out(self, left_out: Sequence[str]) -> None:
        """Say what did not fit into the model's input (design 7); nothing when all of it did."""
        line = self.query_one("#left-out", Static)
        line.display = bool(left_out)
        if left_out:
            line.update(
                Content(f"Left out to fit the model: {'; '.join(left_out)}. Calls (F7) has the rest.")
            )

    def put_aside(self, banner: str) -> None:
        """Hide a banner until its request fails again."""
        self.query_one(f"#{banner}", Banner).hide()

    def _show_reply(self, status: PlayStatus, *, can_act: bool) -> None:
        request = self._reply
        if not self._is_new("reply-failed", request, len(status.failed_replies), can_act) or request is None:
            return
        sentence, hint = reply_failure(status)
        actions = (BannerAction("retry", "Retry", RETRY_KEY), BannerAction("edit", "Edit"))
        is_stopped = request.error_code is ErrorCode.LLM_CANCELLED
        self.query_one("#reply-failed", Banner).show(
            sentence,
            hint=hint,
            actions=actions if can_act else (),
            tone=Tone.INFO if is_stopped else Tone.ERROR,
        )

    def _show_summary(self, status: PlayStatus, *, can_act: bool, is_news: bool) -> None:
        request = self._summary
        key_label = "" if self._reply else RETRY_KEY
        waits = status.running is not None
        if not self._is_new("summary-failed", request, key_label, waits, can_act) or request is None:
            return
        sentence, hint = summary_failure(status, request)
        self.query_one("#summary-failed", Banner).show(
            sentence,
            hint=hint,
            actions=(BannerAction("retry-summary", "Retry", key_label),) if can_act else (),
            tone=Tone.WARNING,
            retry_in=self._seconds_left(request, is_news=is_news) if can_act and not waits else None,
        )

    def _is_new(self, banner: str, request: Request | None, *details: object) -> bool:
        """Whether the banner has to say something else than it does, or did before it was put aside."""
        key = (request.id, request.attempts, request.updated_at, *details) if request else None
        is_new = self._shown.get(banner) != key
        self._shown[banner] = key
        if request is None:
            self.query_one(f"#{banner}", Banner).hide()
        return is_new

    def _seconds_left(self, request: Request, *, is_news: bool) -> float | None:
        """Return the seconds until it is tried by itself, on one clock from when it was first seen."""
        if request.retry_after is None:
            return None
        if self._due is None or self._due[0] != request.retry_after:
            now = request.updated_at if is_news else datetime.now(UTC)
            self._due = (request.retry_after, monotonic() + (request.retry_after - now).total_seconds())
        return max(0.0, self._due[1] - monotonic())

    @on(Banner.ActionChosen)
    def _do(self, event: Banner.ActionChosen) -> None:
        event.stop()
        if event.action == "edit" and self._reply is not None:
            self.put_aside("reply-failed")
            self.post_message(self.EditRequested(self._reply))
        elif request := (self._summary if event.action == "retry-summary" else self._reply):
            self.post_message(self.RetryRequested(request))
