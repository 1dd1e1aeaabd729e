"""A screen that paints what changed, and no more."""

import asyncio
from time import monotonic
from typing import NamedTuple

from textual import events
from textual.geometry import Size
from textual.messages import Update
from textual.reactive import Reactive
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget

from storyengine_tui.textual_ext.diff_display import is_wanted

MOST_LAYOUTS = 2
"""How often a page is laid out anew for what its widgets ask for at their new sizes, before it is painted."""
FRAME = 1 / 60


class _Sizes(NamedTuple):
    """What a layout tells a widget."""

    virtual: Size
    has_bars: tuple[bool, bool]

    @classmethod
    def of(cls, widget: Widget) -> "_Sizes":
        bars = widget.show_vertical_scrollbar, widget.show_horizontal_scrollbar
        return cls(widget.virtual_size, bars)


def _asks_for_what_it_was_given(before: _Sizes, after: _Sizes) -> bool:
    """Whether a widget asks for a layout only because the one before told it how much it holds.

    Textual's widgets do. A scroll bar that came or went is another matter: it takes room from the rest.
    """
    return before.virtual != after.virtual and before.has_bars == after.has_bars


def _answer(widget: Widget) -> None:
    """Have the layout that comes now be the one that `widget` asks for, and not another one after it."""
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


class LeanScreen(Screen[ScreenResultType]):
    """Does less for each paint than Textual's screen, where painting by difference is wanted as well.

    After a layout Textual paints, tells each widget its size, and paints what they make of it. Here they are
    told first, so that there is one paint, and nothing flickers between the old and the new.
    """

    # Textual paints a whole screen anew for a new focus; what looks different by it paints itself.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__()
        self._is_lean = is_wanted()
        self._is_settling = False
        self._layouts_left = 0
        self._painted_at = 0.0
        """When the field in focus was last painted without waiting for Textual's timer."""
        if self._is_lean:
            from storyengine_tui.textual_ext.compositor import FrontCompositor

            self._compositor = FrontCompositor()

    async def _on_update(self, message: Update) -> None:
        # Asked for twice and painted once. Another turn would find nothing, and have what is typed next wait
        # for Textual's timer, which lets up to two frames pass between one turn and the next.
        if self._is_lean and not message.widget._repaint_regions:
            message.stop()
            message.prevent_default()

    async def _on_idle(self, event: events.Idle) -> None:
        # What is typed is painted at once. While a reply streams, Textual's timer would have it wait for
        # what is left of a frame that the last token began.
        is_asked = self._is_lean and self.focused in self._dirty_widgets
        may_paint = self.app.screen is self and not self._is_settling and not self.app._batch_count
        if is_asked and may_paint and monotonic() - self._painted_at >= FRAME:
            self._painted_at = monotonic()
            self._on_timer_update()

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        was_settling, self._is_settling = self._is_settling, self._is_lean
        widgets = self._laid_out() if self._is_lean else []
        if self._layout_widgets or not scroll:  # Otherwise Textual only moves what is there.
            for widget in widgets:
                _answer(widget)
        before = {widget: _Sizes.of(widget) for widget in widgets if not widget._layout_required}
        super()._refresh_layout(size, scroll)
        for widget, known in before.items():
            if widget._layout_required and _asks_for_what_it_was_given(known, _Sizes.of(widget)):
                widget._layout_required = False
        if self._is_settling and not was_settling:
            self._layouts_left = MOST_LAYOUTS
            self._settle()

    def _laid_out(self) -> list[Widget]:
        widgets: list[Widget] = [self]
        for widget in widgets:
            # What is not displayed is told nothing.
            widgets += widget.displayed_children
            bars = widget._vertical_scrollbar, widget._horizontal_scrollbar
            widgets += [bar for bar in bars if bar is not None]
        return widgets

    def _screen_resized(self, size: Size) -> None:
        # A size that the terminal no longer has: each layout tells the screen its size in a message, so two
        # sizes on their way would follow each other without an end.
        if size != self.app.size:
            return
        # Told its own size by the layout for it, Textual's screen lays out once more.
        if not (self._is_settling and size == self._compositor.size):
            super()._screen_resized(size)

    def _settle(self) -> None:
        if not self.call_later(self._let_widgets_hear):
            self._is_settling = False

    async def _let_widgets_hear(self) -> None:
        # Whoever listens hears of its size; what it asks for then stands before our own message to ourselves.
        await asyncio.sleep(0)
        self.call_later(self._paint_settled)

    def _paint_settled(self) -> None:
        if self.app._batch_count:
            self.set_timer(FRAME, self._paint_settled)
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
        # They wait for what is still to be painted.
        if not self._is_settling:
            await super()._invoke_and_clear_callbacks()
