"""Fields of one line: `LineField` for a text with a limit, `EntryField` for an input that is submitted."""

import re
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Offset
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.widgets.text_area import Edit, EditResult

from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, run_binding_now
from storyengine_tui.widgets.typed_keys import text_of

LONGEST_ENTRY: Final = 10_000
"""Characters of a field of one line whose owner says nothing else."""
_BREAK = re.compile(r"\s*[\r\n]+\s*")


class EntryField(Input):
    """An input of one line; Enter submits it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual's Ctrl+Shift+A arrives from few terminals.
        Binding("ctrl+g", "select_all", "Select all", show=False)
    ]

    def on_mount(self) -> None:
        """Bound it, where its owner has not: a paste may be of any length."""
        if not self.max_length:
            self.max_length = LONGEST_ENTRY

    async def on_key(self, event: events.Key) -> None:
        """Run a key's binding before the next key is read, and type what Textual would not."""
        await run_binding_now(self, event)
        if not event.is_printable and (text := text_of(event)):
            event.stop()
            event.prevent_default()
            self.replace(text, *self.selection)

    @property
    def cursor_screen_offset(self) -> Offset:
        """The place of the caret on the screen; Textual adds a cell at the end of the text, to scroll by."""
        return super().cursor_screen_offset - Offset(int(self.cursor_at_end), 0)


def labelled(label: str, field: Widget, classes: str = "", *, id: str | None = None) -> Horizontal:
    """Return a line of a form: a label, and the field behind it."""
    return Horizontal(Static(label, classes="label"), field, id=id, classes=f"line {classes}".strip())


class FormField(EntryField):
    """An input of one line among others; Enter goes to the next."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: what is typed after it is meant for the next field.
        Binding("enter", "leave", "Next field", show=False, priority=True)
    ]

    def action_leave(self) -> None:
        """Go to the next field."""
        self.screen.focus_next()


class LineField(CappedTextArea):
    """A capped text area without line breaks: pasted ones become blanks, and Enter goes to the next field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: what is typed after it is meant for the next field.
        Binding("enter", "leave", "Next field", show=False, priority=True)
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
