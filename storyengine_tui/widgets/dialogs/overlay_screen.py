"""Screens over another one that close nothing but themselves."""

from pathlib import Path
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import Button, Static, TextArea

from storyengine_tui.widgets.banner import DISMISS, Banner

CANCEL: Final = "#cancel"
"""The button that changes nothing."""
CHOOSE: Final = Binding.Group("Choose")
STEPS = {"up": -1, "down": 1, "page_up": -8, "page_down": 8}


class OverlayScreen(Screen[ScreenResultType]):
    """A screen that is dismissed once, and never dismisses another.

    Textual's `dismiss` removes the screen on top. For a key that comes twice, or while the help is open over
    this one, that is another screen.
    """

    _waiting_result: tuple[ScreenResultType | None] | None = None

    @property
    def unsaved(self) -> str:
        """The loss if the program ended now, in a sentence; empty if there would be none."""
        return ""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with this result: now, or once no other screen is over it; the first result counts."""
        if self.is_active:
            return super().dismiss(*(self._waiting_result or (result,)))
        if self._waiting_result is None and self in self.app.screen_stack:
            self._waiting_result = (result,)
        return AwaitComplete()

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss()

    @on(Banner.ActionChosen)
    def _dismiss_banner(self, event: Banner.ActionChosen) -> None:
        if event.action == DISMISS.name:
            event.stop()
            event.sender.hide()

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


class BoxModal(OverlayModal[ScreenResultType]):
    """A dialog in a box; the cancel button ends it without a result, as the action does."""

    HELP = "Tab goes on to the next field, and then to the answers below; Enter gives the one with the focus."

    SAVE: ClassVar[str]
    """The word on the button that stores, and beside its key."""
    SAVE_ACTION: ClassVar[str] = ""
    """The action of that button and key, where the dialog has such a key."""
    SAVE_LATER: ClassVar[str] = ""
    """The action of the key while that one is dimmed: keys before it may still be in the queue of a field."""

    # Absolute: a subclass may be elsewhere, and Textual would look beside it.
    CSS_PATH = Path(__file__).with_name("dialog.tcss")

    def __init_subclass__(cls, **options: bool) -> None:
        # Textual reads the keys as the class is made.
        if cls.SAVE_ACTION and "SAVE" in vars(cls):
            key = Binding("ctrl+s", cls.SAVE_ACTION, cls.SAVE, priority=True)
            later = Binding("ctrl+s", cls.SAVE_LATER, show=False, priority=True)
            # In this order: the first shows in the key line, and the second acts where the first may not.
            cls.BINDINGS = [*vars(cls).get("BINDINGS", ()), key, *([later] if cls.SAVE_LATER else [])]
        super().__init_subclass__(**options)

    def compose_answers(self, label: str, name: str) -> ComposeResult:
        """Compose the line for a refusal, which is hidden at first, and the two answers."""
        refused = Static(id="refused", classes="dialog--text", markup=False)
        refused.display = False
        yield refused
        with Horizontal(classes="dialog--buttons"):
            yield Button("Cancel", id="cancel")
            yield Button(label, id=name, classes="action")

    @on(Button.Pressed, CANCEL)
    def _cancel(self) -> None:
        self.action_cancel()

    def action_cancel(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)


class TextDialog(OverlayModal[bool]):
    """Returns yes or no; a long text scrolls, so that the buttons stay on the screen.

    `IS_FINAL`, the default, says that a yes cannot be undone. Such a dialog opens with the focus on the
    button `#cancel`, so that one Enter too many changes nothing.
    """

    HELP = "Tab goes from answer to answer, and Enter gives the one with the focus."

    IS_FINAL: ClassVar[bool] = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "answer('previous')", "Choose", group=CHOOSE),
        Binding("right", "answer('next')", "Choose", group=CHOOSE),
        Binding("up", "scroll_text('up')", show=False),
        Binding("down", "scroll_text('down')", show=False),
        Binding("pageup", "scroll_text('page_up')", show=False),
        Binding("pagedown", "scroll_text('page_down')", show=False),
    ]

    def __init_subclass__(cls, **options: bool) -> None:
        super().__init_subclass__(**options)
        if cls.IS_FINAL and cls.AUTO_FOCUS not in (None, CANCEL):
            raise TypeError(f"{cls.__name__} is final, so the focus begins on {CANCEL}")
        cls.AUTO_FOCUS = CANCEL if cls.IS_FINAL else cls.AUTO_FOCUS

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer a choice only where there is more than one answer."""
        return action != "answer" or len(self.focus_chain) > 1

    def action_answer(self, which: str) -> None:
        """Go to the next answer, or to the one before."""
        if which == "next":
            self.focus_next()
        else:
            self.focus_previous()

    def action_scroll_text(self, how: str) -> None:
        """Scroll a long text `up`, `down`, `page_up` or `page_down` while a button has the focus."""
        for scroll in self.query(VerticalScroll):
            scroll.scroll_relative(y=STEPS[how], animate=False)
