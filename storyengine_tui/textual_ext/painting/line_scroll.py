"""Sets the size of a scrolled area without a layout of the whole screen (`Part.LINE_SCROLL`)."""

from textual.geometry import Size
from textual.scroll_view import ScrollView

from storyengine_tui.textual_ext.parts import Part, is_enabled


def set_virtual_size(view: ScrollView, size: Size) -> None:
    """Set what `view` scrolls over; the public attribute lays the whole screen out for every new line."""
    if is_enabled(Part.LINE_SCROLL):
        view.set_reactive(ScrollView.virtual_size, size)
        view._scroll_update(size)
    else:
        view.virtual_size = size
