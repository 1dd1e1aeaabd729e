"""Dialogs that ask for one line: a chapter's title, or the name of a save slot."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from core.domain.save_point import LONGEST_LABEL
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayModal
from storyengine_tui.widgets.fields.one_line import LineField

LONGEST_TITLE = 120


class TitleModal(OverlayModal[str]):
    """Ends with the title; a blank one is taken from the chapter text. Esc keeps the old one."""

    HEADING: ClassVar = "Title of the chapter"
    PLACEHOLDER: ClassVar = "Taken from the chapter text"
    NOTE: ClassVar = "Left blank, it is taken from the chapter text."
    LIMIT: ClassVar = LONGEST_TITLE
    CSS_PATH = "../../widgets/dialogs/dialog.tcss"
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
            yield Static(self.HEADING, classes="dialog--title")
            yield LineField(self._title, limit=self.LIMIT, placeholder=self.PLACEHOLDER)
            yield Static(self.NOTE, classes="dialog--muted")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Save", id="save", classes="action")

    @on(Button.Pressed, "#save")
    def action_save(self) -> None:
        """Close with the typed line; Enter on the cancel button cancels instead."""
        if self.focused is not None and self.focused.id == "cancel":
            self.action_cancel()
        else:
            self.dismiss(self.query_one(LineField).text)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Keep the old title."""
        self.dismiss(None)


class SlotNameModal(TitleModal):
    """Ends with the name under which a chapter is saved as it is now."""

    HEADING = "Save the chapter as it is now"
    PLACEHOLDER = "A name for it"
    NOTE = "A name that you used before replaces that save slot."
    LIMIT = LONGEST_LABEL
