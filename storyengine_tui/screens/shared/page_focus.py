"""Keeps the focus on the page of a tab: restored where it is lost, and in view."""

from collections.abc import Callable

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.widget import Widget

from storyengine_tui.textual_ext.painting.visibility import is_displayed

RETRIES = 5
"""Number of times that a page sets the focus again, if the focused widget was removed at once."""


class PageFocus:
    """Moves the focus on a page, and watches that it is neither lost nor out of view.

    `go_on` focuses the widget where the GM continues; it is called only while `is_open`.
    """

    def __init__(
        self, page: VerticalScroll, *, is_open: Callable[[], bool], go_on: Callable[[], None]
    ) -> None:
        self._page, self._is_open, self._go_on = page, is_open, go_on
        self._size: Size | None = None
        """The size of the page at the last `Resize`."""

    def watch(self) -> None:
        """Watch for a lost focus: keys would go nowhere.

        A focused button may be removed with its banner. The screen is watched, for a removed widget posts no
        Blur. Behind a dialog or in an inactive terminal the focus is restored later.
        """
        page = self._page
        page.watch(page.screen, "focused", self._restore_soon, init=False)
        page.watch(page.screen, "stack_updates", self._restore_soon, init=False)
        page.watch(page.app, "app_focus", self._restore_soon, init=False)

    def move_to(self, widget: Widget, *, scroll_visible: bool = False) -> None:
        """Move the focus now: `Widget.focus` is queued, and would undo a Tab that is handled before it."""
        self._page.screen.set_focus(widget, scroll_visible=False)
        if scroll_visible:
            # The widgets of a page that was hidden until now have no regions before the next layout.
            self._page.call_after_refresh(self._center, widget)

    def follow_size(self, size: Size) -> None:
        """Keep the focused text visible on a smaller page.

        Textual sends `Resize` also when only the scrolled content has grown; the page does not scroll then.
        """
        before, self._size = self._size, size
        focused = self._page.screen.focused
        if before != size and focused is not None and self._page.has_focus_within:
            self._page.call_after_refresh(self._keep_in_view, focused)

    def _keep_in_view(self, focused: Widget) -> None:
        from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea  # After the first paint.

        if isinstance(focused, CappedTextArea):
            focused.bring_cursor_into_sight()
        else:
            self._center(focused)

    def _center(self, widget: Widget) -> None:
        # Not `can_view_entire`, which is wrong until every container has received its size.
        scroller = next((node for node in widget.ancestors if isinstance(node, VerticalScroll)), self._page)
        if widget.has_focus and not scroller.region.contains_region(widget.region):
            self._page.screen.scroll_to_center(widget, origin_visible=True)

    def _restore_soon(self) -> None:
        if self._page.screen.focused is None:
            self._page.call_after_refresh(self._restore)

    def _restore(self, retries: int = RETRIES) -> None:
        page = self._page
        # Not `is_on_screen`, which is right for another tab only after the next layout.
        is_in_front = is_displayed(page) and page.app.screen is page.screen
        if self._is_open() and page.app.app_focus and is_in_front and page.screen.focused is None:
            self._go_on()
            if retries:
                # The widget that received it may be removed as well, as a panel is for the next one.
                page.call_after_refresh(self._restore, retries - 1)
