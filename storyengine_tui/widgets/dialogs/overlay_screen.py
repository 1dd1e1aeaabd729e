"""Screens over another one that close nothing but themselves."""

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import TextArea


class OverlayScreen(Screen[ScreenResultType]):
    """A screen that is dismissed once, and never dismisses another.

    Textual's `dismiss` removes the screen on top. For a key that comes twice, or while the help is open over
    this one, that is another screen.
    """

    _waiting_result: tuple[ScreenResultType | None] | None = None

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with this result: now, or once no other screen is over it."""
        if self.is_active:
            return super().dismiss(result)
        if self._waiting_result is None and self in self.app.screen_stack:
            self._waiting_result = (result,)
        return AwaitComplete()

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss()

    def on_screen_resume(self) -> None:
        """Close, if that was requested while another screen was over this one.

        This event is a message, and comes once for each time that this screen came to the front: by now
        another screen may be over it again, or it may have closed already.
        """
        if self._waiting_result is not None and self.is_active:
            super().dismiss(*self._waiting_result)


class OverlayModal(ModalScreen[ScreenResultType], OverlayScreen[ScreenResultType]):
    """A dialog that is dismissed once, and never dismisses another screen."""

    def on_resize(self) -> None:
        """Measure the fields again: Textual keeps heights in `vh` from before the resize."""
        for field in self.query(TextArea):
            field.refresh(layout=True)
