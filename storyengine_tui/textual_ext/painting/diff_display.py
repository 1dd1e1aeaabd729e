"""Sends a terminal only the cells that changed, where Textual repaints whole lines of a widget.

Uses `App._display`, `_check_resize` and the compositor's updates (`Part.DIFF_DISPLAY`).
"""

from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final, cast

from rich.color import ColorSystem
from rich.console import RenderableType
from textual.app import App
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen

from storyengine_tui.textual_ext.painting.screen_buffer import ScreenBuffer
from storyengine_tui.textual_ext.parts import Part, is_enabled, tested_or

if TYPE_CHECKING:
    from storyengine_tui.textual_ext.painting.compositor import Painting

RESIZE_DEBOUNCE: Final = 0.1
"""Seconds within which another resize belongs to the same drag of the window's frame."""


class RedrawApp(App[None]):
    """An app that repaints everything on Ctrl+L, as terminal programs do."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+l", "redraw", "Redraw the screen", show=False)]

    def on_mount(self) -> None:
        """Repaint everything once the program is resumed: its terminal begins with an empty screen."""
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw(), immediate=True)

    def action_redraw(self) -> None:
        """Repaint everything."""
        self.refresh(layout=True)


@tested_or(RedrawApp)
class DiffDisplayApp(RedrawApp):
    """An app that keeps a copy of the terminal's content, and sends the difference.

    Other output to the terminal makes the copy wrong. It is dropped when the program is suspended or resumed,
    when the terminal's size changes, and on Ctrl+L.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows = ScreenBuffer(0, 0)
        self._paints_by_difference = is_enabled(Part.DIFF_DISPLAY)
        self._resized_at = 0.0

    def on_resize(self) -> None:
        """Lay out the first of several resizes at once; Textual debounces all of them by 8 ms."""
        now = monotonic()
        if self._paints_by_difference and now - self._resized_at >= RESIZE_DEBOUNCE:
            self.call_next(self._check_resize)
        self._resized_at = now

    def on_mount(self) -> None:
        """Drop the copy when the program is suspended."""
        self.app_suspend_signal.subscribe(self, lambda _: self.forget_terminal(), immediate=True)

    def forget_terminal(self) -> None:
        """Drop the copy of the terminal's content."""
        self._rows = ScreenBuffer(0, 0)

    def action_redraw(self) -> None:
        """Repaint everything, whatever the terminal shows."""
        self.forget_terminal()
        super().action_redraw()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if self._paints_by_difference:
            # Imported here: another version may lack the private modules that it imports.
            from storyengine_tui.textual_ext.painting.compositor import is_update

            can_paint = self._running and not self._closed and not self._batch_count
            if can_paint and not self.is_headless and not self.is_inline and is_update(renderable):
                sequence = self.difference_of(renderable)
                # Textual renders such an update itself; to Rich's types it is no renderable.
                renderable = cast(RenderableType | None, sequence)
        super()._display(screen, renderable)

    def difference_of(self, update: object) -> "Painting | None":
        """Return what is left to send of `update`; None when there is nothing, not even a cursor to move."""
        from storyengine_tui.textual_ext.painting.compositor import Painting, difference

        if Size(self._rows.width, self._rows.height) != self.size:
            self._rows = ScreenBuffer(*self.size)
        colours = self.console._color_system or ColorSystem.TRUECOLOR
        sequence = difference(self._rows, update, colours)
        if not sequence and self.cursor_position == self._previous_cursor_position:
            return None
        return Painting(sequence)
