"""Sends a terminal only what changed, where Textual would repaint whole lines of a widget.

`App._display` and the compositor's updates, which this stands on, are a private part of Textual. So it
works with the versions that it was tested with and steps aside otherwise; `STORYENGINE_PLAIN_OUTPUT=1` turns
it off.
"""

import os
from functools import cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final, cast

import textual
from rich.color import ColorSystem
from rich.console import RenderableType
from textual.app import App
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen

from storyengine_tui.textual_ext.screen_buffer import TerminalRows

if TYPE_CHECKING:
    from storyengine_tui.textual_ext.compositor import Painting

TESTED_WITH: Final = "8.2."
DRAG: Final = 0.1
"""Seconds within which another new size of the terminal comes from the same pull at its frame."""
SWITCH: Final = "STORYENGINE_PLAIN_OUTPUT"


@cache
def installed_version() -> str:
    """Return which Textual this is, by the name of what its installation is recorded in.

    Textual's own attribute has the standard library read that record, with its parser for mail: 20 ms.
    """
    records = [*Path(textual.__file__).parents[1].glob("textual-*.dist-info")]
    if len(records) == 1:
        return records[0].stem.removeprefix("textual-")
    return textual.__version__


def is_wanted(version: str | None = None) -> bool:
    """Whether this Textual is one that was tested, and the user has not turned it off."""
    version = installed_version() if version is None else version
    return version.startswith(TESTED_WITH) and os.environ.get(SWITCH, "") in ("", "0")


class FewBytesApp(App[None]):
    """An app that paints by difference.

    Whatever else writes on the terminal makes what it remembers wrong: it forgets by itself when the program
    is suspended and resumed and when the terminal's size changes; Ctrl+L paints all anew.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+l", "redraw", "Redraw the screen", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._rows = TerminalRows(0, 0)
        self._paints_by_difference = is_wanted()
        self._resized_at = 0.0

    def on_resize(self) -> None:
        """Lay out a new size at once; of those that follow it Textual takes one in eight milliseconds."""
        now = monotonic()
        if self._paints_by_difference and now - self._resized_at >= DRAG:
            self.call_next(self._check_resize)
        self._resized_at = now

    def on_mount(self) -> None:
        """Forget what the terminal shows whenever the user has been elsewhere with it."""
        for signal in (self.app_suspend_signal, self.app_resume_signal):
            signal.subscribe(self, lambda _: self.forget_terminal(), immediate=True)

    def forget_terminal(self) -> None:
        """Know nothing about what the terminal shows."""
        self._rows = TerminalRows(0, 0)

    def action_redraw(self) -> None:
        """Paint everything anew."""
        self.forget_terminal()
        self.refresh(layout=True)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if self._paints_by_difference:
            # Only now: another version may have no such module.
            from storyengine_tui.textual_ext.compositor import is_update

            can_paint = self._running and not self._closed and not self._batch_count
            if can_paint and not self.is_headless and not self.is_inline and is_update(renderable):
                sequence = self.difference_of(renderable)
                # Textual renders such an update itself; to Rich's types it is no renderable.
                renderable = cast(RenderableType | None, sequence)
        super()._display(screen, renderable)

    def difference_of(self, update: object) -> "Painting | None":
        """Return what is left to send of `update`; None when there is nothing, not even a cursor to move."""
        from storyengine_tui.textual_ext.compositor import Painting, difference

        if Size(self._rows.width, self._rows.height) != self.size:
            self._rows = TerminalRows(*self.size)
        colours = self.console._color_system or ColorSystem.TRUECOLOR
        sequence = difference(self._rows, update, colours)
        if not sequence and self.cursor_position == self._previous_cursor_position:
            return None
        return Painting(sequence)
