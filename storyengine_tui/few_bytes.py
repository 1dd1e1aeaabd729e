"""Sends a terminal only what changed, where Textual would repaint whole lines of a widget.

`App._display` and the compositor's updates, which this stands on, are a private part of Textual. So it
works with the versions that it was tested with and steps aside otherwise; `STORYENGINE_PLAIN_OUTPUT=1` turns
it off.
"""

import os
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final, cast

import textual
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip

from storyengine_tui.terminal_rows import PLAIN, Look, Patch, Run, TerminalRows, cells_of

TESTED_WITH: Final = "8.2."
SWITCH: Final = "STORYENGINE_PLAIN_OUTPUT"


def is_wanted(version: str = textual.__version__) -> bool:
    """Whether this Textual is one that was tested, and the user has not turned it off."""
    return version.startswith(TESTED_WITH) and os.environ.get(SWITCH, "") in ("", "0")


class FewBytesApp(App[None]):
    """An app that paints by difference.

    Whatever else writes on the terminal makes what it remembers wrong: it forgets by itself when the program
    is suspended and resumed and when the terminal's size changes; Ctrl+L paints all anew.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+l", "redraw", "Paint anew", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._rows = TerminalRows(0, 0)
        self._paints_by_difference = is_wanted()

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
        if self._paints_by_difference and isinstance(renderable, ChopsUpdate | LayoutUpdate):
            can_paint = self._running and not self._closed and not self._batch_count
            if can_paint and not self.is_headless and not self.is_inline:
                sequence = self.difference_of(renderable)
                # Textual renders such an update itself; to Rich's types it is no renderable.
                renderable = cast(RenderableType | None, sequence)
        super()._display(screen, renderable)

    def difference_of(self, update: ChopsUpdate | LayoutUpdate) -> CompositorUpdate | None:
        """Return what is left to send of `update`; None when there is nothing, not even a cursor to move."""
        if Size(self._rows.width, self._rows.height) != self.size:
            self._rows = TerminalRows(*self.size)
        colours = self.console._color_system or ColorSystem.TRUECOLOR
        sequence = self._rows.paint([*_patches(update, colours)])
        if not sequence and self.cursor_position == self._previous_cursor_position:
            return None
        return _Sequence(sequence)


class _Sequence(CompositorUpdate):
    """An update that is rendered already."""

    def __init__(self, sequence: str) -> None:
        self._sequence = sequence

    def render_segments(self, console: Console) -> str:
        return self._sequence


def _patches(update: ChopsUpdate | LayoutUpdate, colours: ColorSystem) -> Iterator[Patch]:
    strips = _laid_out(update) if isinstance(update, LayoutUpdate) else _chopped(update)
    for y, x, strip in strips:
        yield Patch(y, x, cells_of(_runs(strip, colours)))


def _laid_out(update: LayoutUpdate) -> Iterator[tuple[int, int, Strip]]:
    for y, line in enumerate(update.strips, update.region.y):
        x = update.region.x
        for strip in line:
            yield y, x, strip
            x += strip.cell_length


def _chopped(update: ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    for y, begin, end in update.spans:
        for stop, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is not None and x < end and stop > begin:
                yield y, x, strip if stop <= end else strip.crop(0, end - x)


def _runs(strip: Iterable[Segment], colours: ColorSystem) -> Iterator[Run]:
    for text, style, control in strip:
        if text and not control:
            yield Run(PLAIN if style is None else _look(style, colours), text)


def _look(style: Style, colours: ColorSystem) -> Look:
    sgr = style._ansi
    if sgr is None:
        sgr = Strip.render_ansi(style, colours)
    return Look(sgr, style._link, style._link_id) if style._link else Look(sgr)
