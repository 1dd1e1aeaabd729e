"""A question whose text may be longer than a small terminal: arrows and page keys scroll it (design 10)."""

from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from storyengine_tui.widgets.dialogs.overlay_screen import OverlayModal

CANCEL: Final = "#cancel"
"""The button that changes nothing."""
CHOOSE: Final = Binding.Group("Choose")
STEPS = {"up": -1, "down": 1, "page_up": -8, "page_down": 8}


class TextDialog(OverlayModal[bool]):
    """Returns yes or no; a long text scrolls, so that the buttons stay on the screen.

    `IS_FINAL`, the default, says that a yes cannot be undone. Such a dialog opens with the focus on the
    button `#cancel`, so that one Enter too many changes nothing.
    """

    IS_FINAL: ClassVar[bool] = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "app.focus_previous", "Choose", group=CHOOSE),
        Binding("right", "app.focus_next", "Choose", group=CHOOSE),
        Binding("up", "scroll_text('up')", show=False),
        Binding("down", "scroll_text('down')", show=False),
        Binding("pageup", "scroll_text('page_up')", show=False),
        Binding("pagedown", "scroll_text('page_down')", show=False),
    ]

    def __init_subclass__(cls, **options: bool) -> None:
        super().__init_subclass__(**options)
        if cls.IS_FINAL and cls.AUTO_FOCUS not in (None, CANCEL):
            raise TypeError(f"{cls.__name__} is final, so the focus begins on {CANCEL}")
        cls.AUTO_FOCUS = CANCEL if cls.IS_FINAL else cls.AUTO_FOCUS

    def action_scroll_text(self, how: str) -> None:
        """Scroll a long text `up`, `down`, `page_up` or `page_down` while a button has the focus."""
        for scroll in self.query(VerticalScroll):
            scroll.scroll_relative(y=STEPS[how], animate=False)
