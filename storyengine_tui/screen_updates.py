"""What is left to send of Textual's updates. Leans on its compositor, a private part of it.

Imported by `few_bytes` alone, and only with a version of Textual that was tested.
"""

from collections.abc import Iterable, Iterator

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from storyengine_tui.terminal_rows import PLAIN, Look, Patch, Run, TerminalRows, cells_of


def is_update(renderable: RenderableType | None) -> bool:
    """Whether this paints a part of the screen, or all of it."""
    return isinstance(renderable, ChopsUpdate | LayoutUpdate)


class BandCompositor(Compositor):
    """Asks widgets for the rows that changed, and of these only for what can be seen.

    Textual asks each widget on the page for all its rows: for one token fifteen widgets of up to forty rows,
    most of them containers that lie behind the others. Columns stay whole, as the cuts need them.
    """

    def _get_renders(self, crop: Region | None = None) -> Iterator[tuple[Region, Region, list[Strip]]]:
        band = self.size.region if crop is None else Region(0, crop.y, self.size.width, crop.height)
        covered: list[tuple[int, int]] = []
        # From the front to the back: what is painted first stays.
        for widget, (region, clip) in self.visible_widgets.items():
            within = clip.intersection(band)
            x, y, width, height = region.intersection(within)
            if not width or not height or any(b <= x and x + width <= e for b, e in covered):
                continue
            if height == band.height:
                covered = _joined([*covered, (x, x + width)])
            yield region, within, widget.render_lines(Region(x - region.x, y - region.y, width, height))


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


class Painting(CompositorUpdate):
    """An update that is rendered already."""

    def __init__(self, sequence: str) -> None:
        self._sequence = sequence

    def render_segments(self, console: Console) -> str:
        """Return the sequence."""
        return self._sequence


def difference(rows: TerminalRows, update: object, colours: ColorSystem) -> str:
    """Return what makes `rows` show `update`, and remember that they do."""
    if not isinstance(update, ChopsUpdate | LayoutUpdate):
        raise TypeError(f"{type(update).__name__} paints nothing")
    return rows.paint([*_patches(update, colours)])


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
