"""Option lists that accept keys and clicks before their layout and for removed options (`Part.OPTION_LISTS`).

Textual raises KeyError for a page key in a list without lines, and IndexError for a click on an option that
was painted and is removed.
"""

from typing import TYPE_CHECKING, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.widgets import OptionList, Select

from storyengine_tui.textual_ext.parts import Part, is_enabled, is_tested

Value = TypeVar("Value")

if TYPE_CHECKING:
    from textual._widget_navigation import Direction

    Base = OptionList
else:
    Base = object  # No widget: styles and queries follow the first base that is one.


class GuardedOptions(Base):
    """Turns a page, and accepts a click, only where there is an option to go to."""

    def _move_page(self, direction: "Direction") -> None:
        if not is_enabled(Part.OPTION_LISTS) or (self.highlighted or 0) in self._index_to_line:
            super()._move_page(direction)

    async def _on_click(self, event: events.Click) -> None:
        clicked = event.style.meta.get("option")
        if is_enabled(Part.OPTION_LISTS) and clicked is not None and clicked >= self.option_count:
            event.prevent_default()


# mypy sees one class each; an untested Textual gets none of the overrides.
if TYPE_CHECKING or is_tested():
    from textual.widgets._select import SelectOverlay

    class GuardedOptionList(GuardedOptions, OptionList):
        """A list of options."""

    class GuardedOverlay(GuardedOptions, SelectOverlay):
        """The options of a `GuardedSelect`."""

    class GuardedSelect(Select[Value]):
        """A choice whose options accept a page key right behind the key that opens them."""

        def compose(self) -> ComposeResult:
            """Compose as Textual does, with a guarded list."""
            for part in super().compose():
                if isinstance(part, SelectOverlay):
                    yield GuardedOverlay(type_to_search=self._type_to_search).data_bind(
                        compact=Select.compact
                    )
                else:
                    yield part

else:
    GuardedOptionList = OptionList
    GuardedSelect = Select
