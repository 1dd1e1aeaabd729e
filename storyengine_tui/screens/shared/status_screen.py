"""The progress line and the error banner below every page of a screen (design 10)."""

from textual import getters, on
from textual.app import ComposeResult
from textual.message import Message

from core.domain.errors import ErrorCode, StoryEngineError
from storyengine_tui.screens.shared.session_tab import InvalidInputError, SessionTab
from storyengine_tui.textual_ext.painting.batched_screen import BatchedScreen
from storyengine_tui.widgets.banner import Banner, BannerAction
from storyengine_tui.widgets.busy_line import BusyLine

STORAGE_FAILED = (ErrorCode.STORAGE_SAVE_FAILED, ErrorCode.STORAGE_LOAD_FAILED)


class StatusScreen(BatchedScreen[None]):
    """A screen that shows in the flow of the page what is in progress and what failed."""

    class StartRequested(Message):
        """The GM wants the engine started again after it failed."""

    class LeaveAnywayRequested(Message):
        """The GM ends the program although some typed text cannot be stored."""

    _progress = getters.query_one("#progress", BusyLine)
    _banner = getters.query_one("#trouble", Banner)
    _trouble: ErrorCode | None = None
    _is_invalid_input = False
    _lasts_until_recovery = False
    has_failed_to_start = False
    """Whether nothing can be opened until the GM tries again."""

    def compose_trouble(self) -> ComposeResult:
        """Compose the progress line and the error banner."""
        yield BusyLine(id="progress")
        yield Banner(id="trouble")

    def show_progress(self, what: str) -> None:
        """Say what is in progress; nothing can be typed meanwhile."""
        self.hide_trouble()
        self._progress.begin(what, cancel="")
        self._progress.display = True

    def end_progress(self) -> None:
        """Hide the progress line."""
        self._progress.end()
        self._progress.display = False

    def show_start_failure(self, error: StoryEngineError) -> None:
        """Say why nothing can be opened, and offer Retry."""
        self.end_progress()
        self.show_trouble(error, BannerAction("start", "Retry", "^r"))
        self.has_failed_to_start = True
        self.refresh_bindings()

    def show_leave_failure(self, error: StoryEngineError) -> None:
        """Say that what is typed cannot be stored; the GM decides whether to quit."""
        self.end_progress()
        self.show_trouble(
            error,
            BannerAction("leave", "Try again", "^q"),
            BannerAction("leave-anyway", "Quit without storing it"),
        )

    def show_trouble(
        self, error: StoryEngineError, *actions: BannerAction, lasts_until_recovery: bool = False
    ) -> None:
        """Say what went wrong.

        With `lasts_until_recovery` the banner stays even when typed text was stored: the engine still has
        other changes that are not stored.
        """
        self._trouble, self._is_invalid_input = error.code, isinstance(error, InvalidInputError)
        self._lasts_until_recovery |= lasts_until_recovery
        self._banner.show(
            error.message, hint=error.hint, actions=actions or (BannerAction("dismiss", "Dismiss"),)
        )

    def hide_trouble(self) -> None:
        """Hide the banner: the error is over or was dismissed."""
        if self._banner.is_shown:
            self._trouble, self._is_invalid_input, self.has_failed_to_start = None, False, False
            self._lasts_until_recovery = False
            self._banner.hide()
            self.refresh_bindings()

    def action_start(self) -> None:
        """Start the engine again."""
        self.post_message(self.StartRequested())

    @on(Banner.ActionChosen)
    def _perform(self, event: Banner.ActionChosen) -> None:
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
    def _show_refusal(self, event: SessionTab.CommandFailed) -> None:
        self.show_trouble(event.error)

    @on(SessionTab.ElsewhereWanted)
    def _go_elsewhere(self, event: SessionTab.ElsewhereWanted) -> None:
        if event.session_id is None:  # Otherwise the app opens that chapter first.
            self.do_there(event.tab, event.action)

    def do_there(self, tab: str, action: str) -> None:
        """Go to a tab and run an action of its page."""

    @on(SessionTab.Stored)
    def _forget_trouble(self, event: SessionTab.Stored) -> None:
        # Invalid input, such as a name that is taken, does not prevent storing the rest: it ends when fixed.
        is_over = event.is_complete if self._is_invalid_input else self._trouble in STORAGE_FAILED
        if is_over and not self._lasts_until_recovery:
            self.hide_trouble()
