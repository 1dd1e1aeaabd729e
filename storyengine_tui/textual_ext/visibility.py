"""Whether a widget is on the page that shows."""

from textual.widget import Widget


def is_shown(widget: Widget) -> bool:
    """Whether it is displayed, and so is all that it lies in; it may be scrolled out of sight."""
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))
