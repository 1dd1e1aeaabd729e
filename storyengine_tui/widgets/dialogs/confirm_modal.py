"""A question with Confirm and Cancel, where Cancel has the focus."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Button, Static

from core.text.cleaning import clean
from storyengine_tui.widgets.dialogs.overlay_screen import TextDialog

NOT_STORED: Final = "Your text is not saved, and will be lost."


def ask_first(app: App[Any], question: Screen[bool], then: Callable[[], object]) -> None:
    """Show a question, and call `then` when the answer is yes."""

    def answered(is_wanted: bool | None) -> None:
        if is_wanted:
            then()

    app.push_screen(question, answered)


class ConfirmModal(TextDialog):
    """Returns True when the user confirmed, else False; Esc cancels.

    `is_choice` says that both buttons go on, each in its way: Esc returns None then. `is_destructive` styles
    the button as one that cannot be undone. `is_unasked` says that no key of the user opened it: what is
    typed meanwhile is for the field below it. A long text scrolls, so that the buttons stay on the screen at
    any size.
    """

    DEFAULT_CSS = """
    ConfirmModal {
        align: center middle;
        .confirm--box { width: 64; max-width: 100%; height: auto; max-height: 100%; }
        .confirm--question { height: auto; text-style: bold; }
        .confirm--scroll { height: auto; max-height: 55vh; }
        .confirm--text { height: auto; }
        .confirm--buttons { height: auto; align-horizontal: right; }
        Button { margin-left: 2; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(
        self,
        question: str,
        text: str = "",
        *,
        confirm: str = "Confirm",
        cancel: str = "Cancel",
        is_destructive: bool = False,
        is_unasked: bool = False,
        is_choice: bool = False,
    ) -> None:
        super().__init__()
        self.is_unasked = is_unasked
        self._is_choice = is_choice
        self._question = clean(question)
        self._text = clean(text)
        self._labels = (clean(cancel), clean(confirm))
        self.set_class(is_destructive, "-destructive")

    def compose(self) -> ComposeResult:
        """Compose the box."""
        cancel, confirm = self._labels
        with Vertical(classes="confirm--box"):
            yield Static(Content(self._question), classes="confirm--question")
            if self._text:
                with VerticalScroll(classes="confirm--scroll", can_focus=False):
                    yield Static(Content(self._text), classes="confirm--text")
            with Horizontal(classes="confirm--buttons"):
                yield Button(Content(cancel), id="cancel")
                yield Button(Content(confirm), id="confirm")

    @on(Button.Pressed)
    def _answer(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "confirm")

    def action_cancel(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None if self._is_choice else False)
