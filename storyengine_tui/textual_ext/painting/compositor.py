"""Renders what changed on a screen, and computes what is left to send to the terminal.

Uses Textual's private compositor and Rich's private style fields (`Part.COMPOSITOR`, `Part.DIFF_DISPLAY`).
Imported only where the installed Textual was tested.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, cast

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate, ReflowResult
from textual._context import visible_screen_stack
from textual.events import Event, Hide, Resize, Show
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from storyengine_tui.textual_ext.painting.screen_buffer import (
    PLAIN,
    CellStyle,
    RowPatch,
    ScreenBuffer,
    StyledRun,
    cells_of,
)
from storyengine_tui.textual_ext.painting.visibility import is_displayed


def is_update(renderable: RenderableType | None) -> bool:
    """Whether this paints a part of the screen, or all of it."""
    return isinstance(renderable, Pieces | ChopsUpdate | LayoutUpdate)


Span = tuple[int, int]
"""Columns from, columns to."""


class DirtyPiece(NamedTuple):
    """Cells of row `y` that change, from column `x` on."""

    y: int
    x: int
    strip: Strip


class Pieces(CompositorUpdate):
    """An update as the visible parts of each widget, row by row."""

    def __init__(self, pieces: Sequence[DirtyPiece]) -> None:
        self.pieces = pieces

    def render_segments(self, console: Console) -> str:
        """Return what paints all of it."""
        return "".join(
            Control.move_to(piece.x, piece.y).segment.text + piece.strip.render(console)
            for piece in self.pieces
        )


class FrontCompositor(Compositor):
    """Asks widgets, from the front to the back, for changed rows that no other widget covers.

    Textual asks each widget for all its rows where any of them changed, cuts every row at the edges of every
    widget on it, and then takes the frontmost piece of each cut. For one token these were fifteen widgets.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[Widget, Size] = {}
        """The sizes at the last layout, of which the widgets have received an event."""

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Reflow, and mark the full map valid so that later look-ups do not reflow again.

        A look-up before the reflow would make Textual treat new widgets as known: they would never get a
        Resize, and a text in them would never be wrapped.
        """
        result = super().reflow(parent, size)
        self._full_map_invalidated = False
        told, self._told = self._told, {widget: place.region.size for widget, place in self._full_map.items()}
        shown = self._told.keys() - told.keys()
        resized = {widget for widget, now in self._told.items() if told.get(widget, now) != now}
        return self._for_listeners(
            ReflowResult(result.hidden, result.shown | shown, result.resized | resized)
        )

    def _for_listeners(self, result: ReflowResult) -> ReflowResult:
        """Return the widgets that handle Show, Hide or Resize, out of those that would get one.

        Textual posts a message to each: more than a hundred for a change of tab. At Hide every widget
        gives up the focus, and its scroll bars release the mouse: widgets with either are kept.
        """
        focused = self.root.focused if isinstance(self.root, Screen) else None
        hidden = {
            one
            for one in result.hidden
            if one is focused
            or one.show_vertical_scrollbar
            or one.show_horizontal_scrollbar
            or _listens(type(one), Hide)
        }
        shown = {one for one in result.shown if _listens(type(one), Show)}
        resized = {one for one in result.shown | result.resized if _listens(type(one), Resize)}
        return ReflowResult(hidden, shown, resized)

    def update_widgets(self, widgets: set[Widget]) -> None:
        """Note what changed; widgets that are out of view or on another page cause no new layout."""
        is_arranged = not self._full_map_invalidated
        super().update_widgets(widgets)
        if is_arranged and not any(map(is_displayed, widgets - self._full_map.keys())):
            self._full_map_invalidated = False

    def render_update(
        self, full: bool = False, screen_stack: list[Screen[object]] | None = None, simplify: bool = False
    ) -> RenderableType | None:
        """Return what changed since the last call; with `full`, everything as Textual does."""
        if full:
            return super().render_update(full, screen_stack, simplify)
        visible_screen_stack.set([] if screen_stack is None else screen_stack)
        changed = self._dirty_regions.copy()
        self._dirty_regions.clear()
        # Textual renders such an update itself; to Rich's types it is no renderable.
        return cast(RenderableType, Pieces([*self._seen(changed)])) if changed else None

    def _seen(self, changed: Iterable[Region]) -> Iterator[DirtyPiece]:
        width, height = self.size
        wanted: dict[int, list[Span]] = {}
        for y, begin, end in self._regions_to_spans(changed):
            if 0 <= y < height and begin < width:
                wanted.setdefault(y, []).append((max(begin, 0), min(end, width)))
        for widget, (region, clip) in self.visible_widgets.items():
            x, top, columns, rows = region.intersection(clip)
            span = x, x + columns
            asked = [y for y in range(top, top + rows) if y in wanted and _within(wanted[y], span)]
            if not asked or not columns:
                continue
            first = asked[0]
            crop = Region(x - region.x, first - region.y, columns, asked[-1] + 1 - first)
            strips = widget.render_lines(crop)
            for y in asked:
                for begin, end in _within(wanted[y], span):
                    yield DirtyPiece(y, begin, strips[y - first].crop(begin - x, end - x))
                wanted[y] = _without(wanted[y], span)
                if not wanted[y]:
                    del wanted[y]


@cache
def _listens(kind: type[Widget], event: type[Event]) -> bool:
    """Whether widgets of this kind handle such an event beyond what every widget does."""
    names = {event.handler_name, f"_{event.handler_name}", "on_event"}
    own = [vars(base) for base in kind.__mro__ if base not in Widget.__mro__]
    decorated = (handled for base in own for handled in base.get("_decorated_handlers", ()))
    return any(names & base.keys() for base in own) or any(
        issubclass(event, handled) for handled in decorated
    )


def _within(spans: Iterable[Span], span: Span) -> list[Span]:
    inner = [(max(begin, span[0]), min(end, span[1])) for begin, end in spans]
    return [(begin, end) for begin, end in inner if begin < end]


def _without(spans: Iterable[Span], span: Span) -> list[Span]:
    outer: list[Span] = []
    for begin, end in spans:
        outer += [(begin, min(end, span[0])), (max(begin, span[1]), end)]
    return [(begin, end) for begin, end in outer if begin < end]


class Painting(CompositorUpdate):
    """An update that is rendered already."""

    def __init__(self, sequence: str) -> None:
        self._sequence = sequence

    def render_segments(self, console: Console) -> str:
        """Return the sequence."""
        return self._sequence


def difference(rows: ScreenBuffer, update: object, colours: ColorSystem) -> str:
    """Return the bytes that make `rows` show `update`, and remember them."""
    return rows.paint([RowPatch(y, x, cells_of(_runs(strip, colours))) for y, x, strip in _strips(update)])


def _strips(update: object) -> Iterable[tuple[int, int, Strip]]:
    match update:
        case Pieces():
            return update.pieces
        case LayoutUpdate():
            return _laid_out(update)
        case ChopsUpdate():
            return _chopped(update)
        case _:
            raise TypeError(f"{type(update).__name__} paints nothing")


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


def _runs(strip: Iterable[Segment], colours: ColorSystem) -> Iterator[StyledRun]:
    for text, style, control in strip:
        if text and not control:
            yield StyledRun(PLAIN if style is None else _look(style, colours), text)


def _look(style: Style, colours: ColorSystem) -> CellStyle:
    sgr = style._ansi
    if sgr is None:
        # Without its metadata: Textual caches 16,384 styles here, and every line has metadata of its own.
        sgr = style._ansi = Strip.render_ansi(style.clear_meta_and_links(), colours)
    return CellStyle(sgr, style._link, style._link_id) if style._link else CellStyle(sgr)
