"""The page for an error in the program itself: a report that can be copied."""

import platform
import traceback
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Button, Static, TextArea

from core.text.cleaning import clean
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine


def report_of(error: BaseException) -> str:
    """Return versions and the traceback; messages of errors can repeat words of the GM."""
    lines = traceback.format_exception(error)
    return clean(
        f"Story Engine {version('storyengine')}, Textual {version('textual')}, "
        f"Python {platform.python_version()}, {platform.system()}\n\n{''.join(lines)}"
    )


class BugScreen(OverlayScreen[None]):
    """Shows the report; Esc goes back to the chapter, which is unchanged."""

    CSS_PATH = "bug_screen.tcss"
    AUTO_FOCUS = "#back"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back to the chapter"),
        Binding("c", "copy", "Copy the report"),
    ]

    def __init__(self, error: Exception, logs: Path) -> None:
        super().__init__()
        self._report = report_of(error)
        self._logs = logs

    def compose(self) -> ComposeResult:
        """Compose the explanation, the report and the buttons."""
        yield Static("Something in the program went wrong.", id="title")
        yield Static(
            Content(
                "Nothing that was stored is harmed, and the chapter is behind this page as it was stored. "
                "Please send us this report. Look through it first: a message in it can repeat words of "
                f"yours. It is also in {self._logs / 'storyengine.log'}."
            ),
            id="sentence",
        )
        yield TextArea(self._report, read_only=True, id="report")
        with Horizontal(id="buttons"):
            yield Button("Copy the report", id="copy")
            yield Button("Back to the chapter", id="back")
        yield KeyLine(offers_palette=False)

    @on(Button.Pressed, "#copy")
    def action_copy(self) -> None:
        """Copy the report."""
        self.app.copy_to_clipboard(self._report)
        self.query_one("#copy", Button).label = "Copied"

    @on(Button.Pressed, "#back")
    def action_back(self) -> None:
        """Go back to the chapter."""
        self.dismiss()
