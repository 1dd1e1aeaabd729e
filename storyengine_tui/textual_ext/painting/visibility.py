"""Whether a widget is on a page that is displayed."""

from textual.widget import Widget


def is_displayed(widget: Widget) -> bool:
    """Whether the widget and all its ancestors are displayed; it may be scrolled out of view."""
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))
