"""A switch of one word or a few; its state is readable without colour."""

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from storyengine_tui.widgets.fields.capped_text_area import run_binding_now
from storyengine_tui.widgets.widget_message import WidgetMessage


class Tick(Static, can_focus=True):
    """Space, Enter or a click switches it."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Tick { width: auto; height: 1; }
    Tick:focus { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "Switch", show=False),
        Binding("enter", "screen.focus_next", "Next field", show=False),
    ]

    @dataclass
    class Changed(WidgetMessage["Tick"]):
        """The user switched it."""

        is_on: bool

    def __init__(self, label: str, *, is_on: bool, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._label = label
        self.is_on = is_on
        self._show()

    def set_to(self, is_on: bool) -> None:
        """Show another state, without a message."""
        self.is_on = is_on
        self._show()

    def _show(self) -> None:
        self.update(Content(f"[{'x' if self.is_on else ' '}] {self._label}"), layout=False)

    async def on_key(self, event: events.Key) -> None:
        """Switch before the next key is read."""
        await run_binding_now(self, event)

    def on_click(self) -> None:
        """Switch it."""
        self.action_switch()

    def action_switch(self) -> None:
        """Switch it, unless it is disabled."""
        if not self.disabled:
            self.set_to(not self.is_on)
            self.post_message(self.Changed(self, self.is_on))
