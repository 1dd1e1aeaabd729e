"""The base of dialogs that ask for one line."""

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Static

from core.domain.errors import StoryEngineError
from core.text.cleaning import is_blank
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.one_line import LineField
from storyengine_tui.widgets.text_line import show_line


def refusal_of(read: Callable[[str], object], line: str) -> str:
    """Return why `read` takes no such line, as a sentence; nothing where it does."""
    try:
        read(line)
    except StoryEngineError as error:
        return str(error)
    return ""


class LineModal(BoxModal[str]):
    """Ends with the line that was typed; Esc and the cancel button end it without one."""

    HEADING: ClassVar = ""
    PLACEHOLDER: ClassVar = ""
    NOTE: ClassVar = ""
    LIMIT: ClassVar[int]
    EMPTY: ClassVar = ""
    """Refusal of a blank line, as a sentence; empty where a blank line can be taken."""
    REPLACES: ClassVar = False
    """Whether the line is selected at first, so that a key takes its place; else the cursor is at its end."""
    SAVE = "Save"
    SAVE_ACTION = "save"
    AUTO_FOCUS = "LineField"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        # Not shown: the field has an Enter of its own, and with it the hint would come and go.
        Binding("enter", "save", show=False, priority=True),
    ]

    def __init__(self, line: str, refused: str = "") -> None:
        """Begin with `line`; `refused` is why it was refused before, as a sentence."""
        super().__init__()
        self._line = line
        self._refused = refused
        self.heading, self.note = self.HEADING, self.NOTE

    def compose(self) -> ComposeResult:
        """Compose the field and the two answers."""
        with Vertical(classes="dialog--box"):
            yield Static(Content(self.heading), classes="dialog--title")
            yield LineField(self._line, limit=self.LIMIT, placeholder=self.PLACEHOLDER)
            yield Static(Content(self.note), classes="dialog--muted")
            yield from self.compose_answers(self.SAVE, "save")

    def on_mount(self) -> None:
        """Select the line, where another one is to take its place, and show why it was refused before."""
        field = self.query_one(LineField)
        if self.REPLACES:
            field.select_all()
        # A line longer than its field is wrapped, and the row with the cursor is known after the layout.
        self.call_after_refresh(field.scroll_cursor_visible)
        if self._refused:
            show_line(self, "#refused", self._refused)

    def refusal(self, line: str) -> str:
        """Return why a line cannot be taken, as a sentence; nothing where it can."""
        return self.EMPTY if is_blank(line) else ""

    @on(Button.Pressed, "#save")
    def action_save(self) -> None:
        """Close with the typed line; Enter on the cancel button cancels instead."""
        if self.focused is not None and self.focused.id == "cancel":
            self.action_cancel()
        else:
            # Keys that arrived in the same packet are still in the field's queue: Enter comes after them.
            self.query_one(LineField).call_later(self._save)

    def _save(self) -> None:
        line = self.query_one(LineField).text
        if reason := self.refusal(line):
            show_line(self, "#refused", reason)
        else:
            self.dismiss(line)
