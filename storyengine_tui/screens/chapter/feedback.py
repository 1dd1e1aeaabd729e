"""The progress line and the error banner below every page of a chapter (design 10)."""

from textual.screen import Screen
from textual.widget import Widget

from core.domain.errors import ErrorCode, StoryEngineError
from storyengine_tui.screens.shared.session_tab import InvalidInputError
from storyengine_tui.widgets.banner import DISMISS, Banner, BannerAction
from storyengine_tui.widgets.busy_line import BusyLine

STORAGE_FAILED = (ErrorCode.STORAGE_SAVE_FAILED, ErrorCode.STORAGE_LOAD_FAILED)


class Feedback:
    """Shows in the flow of a screen's page what is in progress and what failed."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._progress = BusyLine(id="progress")
        self._banner = Banner(id="trouble")
        self._trouble: ErrorCode | None = None
        self._is_invalid_input = False
        self._lasts_until_recovery = False
        self._asks_to_leave = False
        self.has_failed_to_start = False
        """Whether nothing can be opened until the GM tries again."""

    @property
    def widgets(self) -> tuple[Widget, ...]:
        """The progress line and the error banner."""
        return self._progress, self._banner

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
        self.show_trouble(error, BannerAction("start", "Retry", "ctrl+r"))
        self.has_failed_to_start = True
        self._screen.refresh_bindings()

    def show_leave_failure(self, error: StoryEngineError) -> None:
        """Say that what is typed cannot be stored; the GM decides whether to quit."""
        self.end_progress()
        self.show_trouble(
            error,
            BannerAction("leave", "Try again", "ctrl+q"),
            BannerAction("leave-anyway", "Quit without saving it"),
        )
        self._asks_to_leave = True

    def show_trouble(
        self, error: StoryEngineError, *actions: BannerAction, lasts_until_recovery: bool = False
    ) -> None:
        """Say what went wrong.

        With `lasts_until_recovery` the banner stays even when typed text was stored: the engine still has
        other changes that are not stored. The question whether to quit stays when storing fails again.
        """
        self._lasts_until_recovery |= lasts_until_recovery
        if self._asks_to_leave and not actions and error.code in STORAGE_FAILED:
            return
        self._asks_to_leave = False
        self._trouble, self._is_invalid_input = error.code, isinstance(error, InvalidInputError)
        self._banner.show(error.message, hint=error.hint, actions=actions or (DISMISS,))

    def hide_trouble(self) -> None:
        """Hide the banner: the error is over or was dismissed."""
        if self._banner.is_shown:
            self._trouble, self._is_invalid_input, self.has_failed_to_start = None, False, False
            self._lasts_until_recovery = self._asks_to_leave = False
            self._banner.hide()
            self._screen.refresh_bindings()

    def note_stored(self, *, is_complete: bool) -> None:
        """Hide an error that is over: typed text was stored, or with `is_complete` all of a page's text."""
        # Invalid input, such as a name that is taken, does not prevent storing the rest: it ends when fixed.
        is_over = is_complete if self._is_invalid_input else self._trouble in STORAGE_FAILED
        if is_over and not self._lasts_until_recovery:
            self.hide_trouble()
