"""What is being waited for and what went wrong, below every page of a screen (design 10)."""

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.message import Message

from core.domain.errors import ErrorCode, StoryEngineError
from storyengine_tui.screens.shared.session_tab import InvalidInputError, SessionTab
from storyengine_tui.textual_ext.batched_screen import BaseScreen
from storyengine_tui.widgets.banner import Banner, BannerAction
from storyengine_tui.widgets.busy_line import BusyLine

STORAGE_FAILED = (ErrorCode.STORAGE_SAVE_FAILED, ErrorCode.STORAGE_LOAD_FAILED)


class StatusScreen(BaseScreen[None]):
    """Says, in the flow of the page, what goes on and what failed; its users say when."""

    @dataclass
    class StartRequested(Message):
        """The GM wants the engine started again after it failed."""

    @dataclass
    class LeaveAnywayRequested(Message):
        """The GM ends the program though something typed cannot be stored."""

    _trouble: ErrorCode | None = None
    _is_unstorable = False
    _lasts_until_recovery = False
    has_failed_to_start = False
    """Whether nothing can be opened until the GM tries again."""

    def compose_trouble(self) -> ComposeResult:
        """Compose the line of what is waited for, and the banner of what went wrong."""
        yield BusyLine(id="progress")
        yield Banner(id="trouble")

    def show_progress(self, what: str) -> None:
        """Say what is being waited for; nothing can be typed meanwhile."""
        self.hide_trouble()
        progress = self.query_one("#progress", BusyLine)
        progress.begin(what, cancel="")
        progress.display = True

    def end_progress(self) -> None:
        """Wait no more."""
        self.query_one("#progress", BusyLine).end()
        self.query_one("#progress", BusyLine).display = False

    def show_start_failure(self, error: StoryEngineError) -> None:
        """Say why nothing can be opened, with Retry."""
        self.end_progress()
        self.show_trouble(error, BannerAction("start", "Retry", "^r"))
        self.has_failed_to_start = True
        self.refresh_bindings()

    def show_leave_failure(self, error: StoryEngineError) -> None:
        """Say that what is typed cannot be stored, so that the GM decides whether to end."""
        self.end_progress()
        self.show_trouble(
            error,
            BannerAction("leave", "Try again", "^q"),
            BannerAction("leave-anyway", "Quit without storing it"),
        )

    def show_trouble(
        self, error: StoryEngineError, *actions: BannerAction, lasts_until_recovery: bool = False
    ) -> None:
        """Say what went wrong, in the flow of the page.

        `lasts_until_recovery` keeps it there although something typed could be stored: what the engine has
        to store is still not.
        """
        self._trouble, self._is_unstorable = error.code, isinstance(error, InvalidInputError)
        self._lasts_until_recovery |= lasts_until_recovery
        self.query_one("#trouble", Banner).show(
            error.message, hint=error.hint, actions=actions or (BannerAction("dismiss", "Dismiss"),)
        )

    def hide_trouble(self) -> None:
        """What went wrong is over."""
        if self.query_one("#trouble", Banner).is_shown:
            self._trouble, self._is_unstorable, self.has_failed_to_start = None, False, False
            self._lasts_until_recovery = False
            self.query_one("#trouble", Banner).hide()
            self.refresh_bindings()

    def action_start(self) -> None:
        """Start the engine again."""
        self.post_message(self.StartRequested())

    @on(Banner.ActionChosen)
    def _do_as_banner_says(self, event: Banner.ActionChosen) -> None:
        match event.action:
            case "start":
                self.action_start()
            case "leave":
                self.call_later(self.run_action, "app.leave")
            case "leave-anyway":
                self.post_message(self.LeaveAnywayRequested())
            case "dismiss":
                self.hide_trouble()

    @on(SessionTab.CommandFailed)
    def _say_refusal(self, event: SessionTab.CommandFailed) -> None:
        event.stop()
        self.show_trouble(event.error)

    @on(SessionTab.Stored)
    def _forget_trouble(self, event: SessionTab.Stored) -> None:
        event.stop()
        # A name that is taken, say, keeps nothing else from being stored: it ends when it is fixed.
        is_over = event.is_complete if self._is_unstorable else self._trouble in STORAGE_FAILED
        if is_over and not self._lasts_until_recovery:
            self.hide_trouble()
