"""Inputs of one line that act on a key before the next one comes."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Input

from storyengine_tui.textual_ext.immediate_keys import run_binding_now


class EntryField(Input):
    """An input of one line; Enter submits it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual's Ctrl+Shift+A arrives from few terminals.
        Binding("ctrl+g", "select_all", "Select all", show=False),
    ]

    async def on_key(self, event: events.Key) -> None:
        """Act on a key before the next one comes."""
        await run_binding_now(self, event)


class FormField(EntryField):
    """An input of one line among others; Enter goes to the next."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # At once: what is typed behind it is meant for the next field.
        Binding("enter", "leave", "Next field", show=False, priority=True),
    ]

    def action_leave(self) -> None:
        """Go to the next field."""
        self.screen.focus_next()
