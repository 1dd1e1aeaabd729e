"""Lists of options that take keys and clicks before they are laid out, and for options that are gone.

Textual's raise KeyError where a page is turned in a list without lines, and IndexError where an option is
clicked that was painted, and is not there any more.
"""

from typing import TYPE_CHECKING, TypeVar

from textual import events
from textual._widget_navigation import Direction
from textual.app import ComposeResult
from textual.widgets import OptionList, Select
from textual.widgets._select import SelectOverlay

Value = TypeVar("Value")

if TYPE_CHECKING:
    Base = OptionList
else:
    Base = object  # No widget: styles and queries follow the first base that is one.


class EarlyKeys(Base):
    """Turns a page, and takes a click, only where there is something to go to."""

    def _move_page(self, direction: Direction) -> None:
        if (self.highlighted or 0) in self._index_to_line:
            super()._move_page(direction)

    async def _on_click(self, event: events.Click) -> None:
        clicked = event.style.meta.get("option")
        if clicked is not None and clicked >= self.option_count:
            event.prevent_default()


class PagedOptionList(EarlyKeys, OptionList):
    """A list of options."""


class PagedOverlay(EarlyKeys, SelectOverlay):
    """The options of a `PagedSelect`."""


class PagedSelect(Select[Value]):
    """A choice whose options take a page key in the same moment as the key that opens them."""

    def compose(self) -> ComposeResult:
        """Compose as Textual does, with a list of our own."""
        for part in super().compose():
            if isinstance(part, SelectOverlay):
                yield PagedOverlay(type_to_search=self._type_to_search).data_bind(compact=Select.compact)
            else:
                yield part
