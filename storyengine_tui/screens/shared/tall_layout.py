"""What is higher where the terminal has the rows for it."""

from typing import Final

from textual.widget import Widget

from storyengine_tui.textual_ext.visibility import is_displayed

TALL: Final = 36


def apply_tall_class(root: Widget, rows: int, *, is_shown_only: bool = False) -> None:
    """Make what has the class `grows` as high as it is in a terminal of so many rows, by the class `-tall`.

    A class of the screen, as Textual's breakpoints are, would say the same, and would have the styles of
    all widgets of all pages computed again. Nothing within what grows depends on it.
    """
    is_tall = rows >= TALL
    for widget in root.walk_children(Widget):
        # Not by a query: it checks what every widget lies in as well, seven times as long.
        if not widget.has_class("grows") or widget.has_class("-tall") is is_tall:
            continue
        if is_shown_only and not is_displayed(widget):
            continue
        widget.set_class(is_tall, "-tall", update=False)
        widget.app.stylesheet.apply(widget)
