"""Asks for a chapter's title."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from storyengine_tui.widgets.line_field import LineField

LONGEST_TITLE = 120


class TitleModal(ModalScreen[str]):
    """Ends with the title; a blank one is taken from the chapter text. Esc keeps the old one."""

    CSS_PATH = "dialog.tcss"
    AUTO_FOCUS = "LineField"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("enter", "save", "Save", priority=True),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        """Compose the field and the two answers."""
        with Vertical(classes="dialog--box"):
            yield Static("Title of the chapter", classes="dialog--title")
            yield LineField(self._title, limit=LONGEST_TITLE, placeholder="Taken from the chapter text")
            yield Static("Left blank, it is taken from the chapter text.", classes="dialog--muted")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Save", id="save", classes="deed")

    def action_save(self) -> None:
        """Take the title; on the button of the other answer, Enter is that answer."""
        if self.focused is not None and self.focused.id == "cancel":
            self.action_cancel()
        else:
            self.dismiss(self.query_one(LineField).text)

    @on(Button.Pressed)
    def _answer(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "save":
            self.action_save()
        else:
            self.action_cancel()

    def action_cancel(self) -> None:
        """Keep the old title."""
        self.dismiss(None)
