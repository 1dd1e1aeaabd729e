"""A screen that paints once per layout (`Part.BATCHED_SCREEN`)."""

import asyncio
from time import monotonic
from typing import NamedTuple

from textual import events
from textual.geometry import Size
from textual.messages import Update
from textual.reactive import Reactive
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget

from storyengine_tui.textual_ext.parts import Part, is_enabled, tested_or

MAX_LAYOUTS = 2
"""Maximum layouts that widgets may request at their new sizes, before a page is painted."""
FRAME = 1 / 60


class _Sizes(NamedTuple):
    """Sizes that a layout sets on a widget."""

    virtual: Size
    has_bars: tuple[bool, bool]

    @classmethod
    def of(cls, widget: Widget) -> "_Sizes":
        bars = widget.show_vertical_scrollbar, widget.show_horizontal_scrollbar
        return cls(widget.virtual_size, bars)


def _repeats_last_layout(before: _Sizes, after: _Sizes) -> bool:
    """Whether a widget requests a layout only because the last one changed its virtual size.

    Textual's widgets do. A scroll bar that came or went is a real reason: it takes room from the rest.
    """
    return before.virtual != after.virtual and before.has_bars == after.has_bars


def _satisfy_layout_request(widget: Widget) -> None:
    """Fold the widget's pending layout request into the layout that is about to run."""
    if not widget._layout_required:
        return
    widget._layout_required = False
    for around in widget.ancestors:
        if not isinstance(around, Widget):
            return
        around._clear_arrangement_cache()
        around._layout_updates += 1
        if not around.styles.auto_dimensions:
            return


@tested_or(Screen)
class BatchedScreen(Screen[ScreenResultType]):
    """Paints after the widgets have handled their new sizes.

    After a layout Textual paints, sends each widget its size, and paints again what changed by that. Here the
    sizes come first: one paint, and no flicker between old and new.
    """

    # Textual repaints the whole screen for a new focus; widgets whose style changes repaint themselves.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__()
        self._is_batching = is_enabled(Part.BATCHED_SCREEN) and is_enabled(Part.COMPOSITOR)
        self._is_settling = False
        self._layouts_left = 0
        self._painted_at = 0.0
        """When the field in focus was last painted without waiting for Textual's timer."""
        if is_enabled(Part.COMPOSITOR):
            from storyengine_tui.textual_ext.painting.compositor import FrontCompositor

            self._compositor = FrontCompositor()

    async def _on_update(self, message: Update) -> None:
        # Requested twice, painted once. Another turn of Textual's timer would find nothing to paint, and
        # delay what is typed next: up to two frames pass between two turns.
        if self._is_batching and not message.widget._repaint_regions:
            message.stop()
            message.prevent_default()

    async def _on_idle(self, event: events.Idle) -> None:
        # Paint what is typed at once. While a reply streams, Textual's timer would wait for the rest of the
        # frame that the last token began.
        is_asked = self._is_batching and self.focused in self._dirty_widgets
        may_paint = self.app.screen is self and not self._is_settling and not self.app._batch_count
        if is_asked and may_paint and monotonic() - self._painted_at >= FRAME:
            self._painted_at = monotonic()
            self._on_timer_update()

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        was_settling, self._is_settling = self._is_settling, self._is_batching
        widgets = self._laid_out() if self._is_batching else []
        if self._layout_widgets or not scroll:  # Otherwise Textual only moves what is there.
            for widget in widgets:
                _satisfy_layout_request(widget)
        before = {widget: _Sizes.of(widget) for widget in widgets if not widget._layout_required}
        super()._refresh_layout(size, scroll)
        for widget, known in before.items():
            if widget._layout_required and _repeats_last_layout(known, _Sizes.of(widget)):
                widget._layout_required = False
        if self._is_settling and not was_settling:
            self._layouts_left = MAX_LAYOUTS
            self._settle()

    def _laid_out(self) -> list[Widget]:
        widgets: list[Widget] = [self]
        for widget in widgets:
            # Widgets that are not displayed receive no events.
            widgets += widget.displayed_children
            bars = widget._vertical_scrollbar, widget._horizontal_scrollbar
            widgets += [bar for bar in bars if bar is not None]
        return widgets

    def _screen_resized(self, size: Size) -> None:
        # Ignore a size that the terminal no longer has: each layout sends the screen its size in a message,
        # so two sizes in the queue would cause layouts without end.
        if size != self.app.size:
            return
        # Textual lays out once more for the Resize that the layout itself has sent to the screen.
        if not (self._is_settling and size == self._compositor.size):
            super()._screen_resized(size)

    def _settle(self) -> None:
        if not self.call_later(self._flush_widget_events):
            self._is_settling = False

    async def _flush_widget_events(self) -> None:
        # Widgets handle their Resize now; the layouts that they request are queued before our own message.
        await asyncio.sleep(0)
        self.call_later(self._paint_after_layout)

    def _paint_after_layout(self) -> None:
        if self.app._batch_count:
            self.set_timer(FRAME, self._paint_after_layout)
            return
        if self._layout_required and self._layouts_left:
            self._layouts_left -= 1
            self._on_timer_update()
            self._settle()
            return
        self._is_settling = False
        self._compositor.update_widgets(self._dirty_widgets)
        self._compositor_refresh()

    def _compositor_refresh(self) -> None:
        if not self._is_settling:
            super()._compositor_refresh()

    async def _invoke_and_clear_callbacks(self) -> None:
        # Callbacks after a refresh wait until it is painted.
        if not self._is_settling:
            await super()._invoke_and_clear_callbacks()
