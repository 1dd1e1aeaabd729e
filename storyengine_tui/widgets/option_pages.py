"""Lists of options that take a page key before they are laid out, where Textual's raise KeyError."""

from typing import TypeVar

from textual._widget_navigation import Direction
from textual.app import ComposeResult
from textual.widgets import OptionList, Select
from textual.widgets._select import SelectOverlay

Value = TypeVar("Value")


class PagedOptionList(OptionList):
    """A list of options that turns no page before it has lines."""

    def _move_page(self, direction: Direction) -> None:
        if is_laid_out(self):
            super()._move_page(direction)


class PagedOverlay(SelectOverlay):
    """The same for the options of a `PagedSelect`; queries and styles know it by its only base."""

    def _move_page(self, direction: Direction) -> None:
        if is_laid_out(self):
            super()._move_page(direction)


class PagedSelect(Select[Value]):
    """A choice whose options take a page key in the same moment as the key that opens them."""

    def compose(self) -> ComposeResult:
        """Compose as Textual does, with a list of our own."""
        for part in super().compose():
            if isinstance(part, SelectOverlay):
                yield PagedOverlay(type_to_search=self._type_to_search).data_bind(compact=Select.compact)
            else:
                yield part


def is_laid_out(options: OptionList) -> bool:
    """Whether Textual knows on which line each option begins: not before the first layout, nor in no room."""
    return (options.highlighted or 0) in options._index_to_line
