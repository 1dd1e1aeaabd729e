"""Keeps the terminal's own cursor where the GM types, for input methods and screen readers."""

from textual.app import App
from textual.geometry import Offset


class CaretApp(App[None]):
    """An app that asks the widget in focus for the terminal's cursor each time that it paints.

    Textual's fields set `cursor_position` themselves, but only when their caret moves: also before they are
    laid out, while they are hidden, and without the focus; and not when a layout moves them.
    """

    @property
    def cursor_position(self) -> Offset:
        """The caret of the field in focus; of another widget, where its content begins."""
        focused = self.focused if self.screen_stack else None
        if focused is None:
            return self._position_set
        # Asked by name: the classes of Textual's fields are imported after the first paint.
        caret: object = getattr(focused, "cursor_screen_offset", None)
        return caret if isinstance(caret, Offset) else focused.content_region.offset

    @cursor_position.setter
    def cursor_position(self, position: Offset) -> None:
        self._position_set = position
