"""Lines of a page that take no room while they have no text."""

from textual.content import Content
from textual.dom import DOMNode
from textual.widgets import Static


def show_line(page: DOMNode, selector: str, text: str) -> None:
    """Show a text in a line of a page; hide the line without one."""
    line = page.query_one(selector, Static)
    line.update(Content(text))
    line.display = bool(text)
