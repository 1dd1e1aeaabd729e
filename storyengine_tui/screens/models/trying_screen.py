"""The base of the pages that call a model or write the settings: one thing at a time, and what it said."""

import asyncio
from collections.abc import Coroutine

from textual import on
from textual.screen import ScreenResultType

from core.domain.errors import StoryEngineError
from storyengine_tui.screens.models.connection import TestCallResult
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.fields.one_line import FormField

NOTHING_SENT = "Nothing was sent and nothing was changed: that address has no consent."


def key_field() -> FormField:
    """Return the field for a new key."""
    hint = "goes to the system's keyring, never to a file"
    return FormField(password=True, compact=True, id="key", placeholder=hint)


class SavingScreen(OverlayScreen[ScreenResultType]):
    """A page that writes the settings; what it wrote is its result also where Esc comes meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._saved: ScreenResultType | None = None
        """The result of a page that is closed; to be set while `_writing` is held."""
        self._writing = asyncio.Lock()
        """Held while the settings are written, so that no change of them is lost."""

    def action_close(self) -> None:
        """Go back, once what is being written is; what was typed and not saved is forgotten."""
        if self._writing.locked():
            self.run_worker(self._close_once_written(), group="close", exit_on_error=False)
        else:
            self.dismiss(self._saved)

    async def _close_once_written(self) -> None:
        async with self._writing:
            self.dismiss(self._saved)


class TryingScreen(SavingScreen[ScreenResultType]):
    """A page with a busy line `#trying` and a banner `#result`."""

    _is_busy = False

    @on(BusyLine.CancelRequested)
    def _end_call(self) -> None:
        self.action_close()

    def do(self, work: Coroutine[None, None, None]) -> None:
        """Do this, unless something is being done; say what is wrong if it fails."""
        if self._is_busy:
            work.close()
            return
        self._is_busy = True
        self.run_worker(self._done(work), group="try", exit_on_error=False)

    async def _done(self, work: Coroutine[None, None, None]) -> None:
        self.say(None)
        try:
            await work
        except StoryEngineError as error:
            self.say(error.message, hint=error.hint, tone=Tone.ERROR)
        finally:
            self._is_busy = False
            self.end_waiting()

    def begin_waiting(self, what: str) -> None:
        """Say what takes its time."""
        busy = self.query_one("#trying", BusyLine)
        busy.begin(what, cancel="Esc goes back")
        busy.display = True

    def end_waiting(self) -> None:
        """Hide the busy line."""
        for busy in self.query("#trying").results(BusyLine):  # None in a screen that is being removed.
            busy.end()
            busy.display = False

    def say(
        self,
        text: str | None,
        *,
        hint: str = "",
        tone: Tone = Tone.INFO,
        actions: tuple[BannerAction, ...] = (),
    ) -> None:
        """Show a sentence below the fields; None hides the one that is there."""
        banner = self.query_one("#result", Banner)
        if text is None:
            banner.hide()
            return
        banner.show(text, hint=hint, tone=tone, actions=actions)
        if self.focused is not None:
            # The banner takes room from the fields above it.
            self.call_after_refresh(self.focused.scroll_visible, animate=False)

    def say_test_call(self, made: TestCallResult) -> None:
        """Say what came of a test call."""
        error = made.result.error
        said, hint, tone = (error.message, error.hint, Tone.ERROR) if error else (str(made), "", Tone.INFO)
        self.say(f"{said} {made.note}".rstrip(), hint=hint, tone=tone)
