"""A table in which a whole row is chosen."""

from rich.text import Text
from textual.widgets import DataTable


class RowTable(DataTable[Text]):
    """Its cursor is a row, and Home and End take it to the first and the last one."""

    def __init__(self, *, id: str, cell_padding: int = 1) -> None:
        super().__init__(id=id, cursor_type="row", cell_padding=cell_padding)

    def action_scroll_home(self) -> None:
        """Go to the first row."""
        self.action_scroll_top()

    def action_scroll_end(self) -> None:
        """Go to the last row."""
        self.action_scroll_bottom()
