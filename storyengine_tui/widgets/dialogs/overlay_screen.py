"""Screens that lie over another one, and close themselves alone."""

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import TextArea


class OverlayScreen(Screen[ScreenResultType]):
    """A screen that is dismissed once, and takes no other one with it.

    Textual's `dismiss` removes the screen that lies on top. For a key that comes twice, or while the help
    lies over this one, that is another screen.
    """

    _waiting_result: tuple[ScreenResultType | None] | None = None

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with this result: now, or as soon as nothing lies over it."""
        if self.is_active:
            return super().dismiss(result)
        if self._waiting_result is None and self in self.app.screen_stack:
            self._waiting_result = (result,)
        return AwaitComplete()

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss()

    def on_screen_resume(self) -> None:
        """Close, if that was wanted while another screen lay over this one.

        Another one may lie over it again, or it may have closed already: this event is a message, and comes
        after what was done meanwhile, and once for each time that this screen came to the front.
        """
        if self._waiting_result is not None and self.is_active:
            super().dismiss(*self._waiting_result)


class OverlayModal(ModalScreen[ScreenResultType], OverlayScreen[ScreenResultType]):
    """A dialog that is dismissed once, and takes no other screen with it."""

    def on_resize(self) -> None:
        """Measure the fields again: Textual keeps a height in `vh` that the old terminal's rows gave."""
        for field in self.query(TextArea):
            field.refresh(layout=True)
