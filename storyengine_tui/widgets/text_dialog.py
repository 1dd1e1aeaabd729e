"""A dialog whose text may be longer than a small terminal: arrows and page keys scroll it (design 10)."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

STEPS = {"up": -1, "down": 1, "page_up": -8, "page_down": 8}


class TextDialog(ModalScreen[bool]):
    """Ends with yes or no; its text scrolls before its buttons leave the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
        Binding("up", "scroll_text('up')", show=False),
        Binding("down", "scroll_text('down')", show=False),
        Binding("pageup", "scroll_text('page_up')", show=False),
        Binding("pagedown", "scroll_text('page_down')", show=False),
    ]

    def action_scroll_text(self, how: str) -> None:
        """Scroll a long text `up`, `down`, `page_up` or `page_down` while a button has the focus."""
        for scroll in self.query(VerticalScroll):
            scroll.scroll_relative(y=STEPS[how], animate=False)
