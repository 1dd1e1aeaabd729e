"""A text field of one line with a limit; read only, its text can still be selected and copied."""

import re
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets.text_area import Edit, EditResult

from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea

_BREAK = re.compile(r"\s*[\r\n]+\s*")


class LineField(CappedTextArea):
    """A capped text area without line breaks: pasted ones become blanks, and Enter goes to the next field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # At once: what is typed behind it is meant for the next field.
        Binding("enter", "leave", "Next field", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    LineField { height: 1; border: none; padding: 0; overflow: hidden hidden; }
    """

    def load_text(self, text: str) -> None:
        """Show another text, on one line."""
        super().load_text(_BREAK.sub(" ", text))

    def edit(self, edit: Edit) -> EditResult:
        """Do as much of `edit` as fits, on one line."""
        edit.text = _BREAK.sub(" ", edit.text)
        return super().edit(edit)

    def action_leave(self) -> None:
        """Go to the next field."""
        self.screen.focus_next()
