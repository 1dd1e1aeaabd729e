"""A list of characters that are ticked and unticked; the ticks are readable without colour."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList


class SlotChecks(GuardedOptionList):
    """Space, and Enter, tick the line at the cursor or remove its tick."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "select", "Tick", show=False)]

    def __init__(
        self,
        lines: Sequence[tuple[Slot, str]],
        ticked: Iterable[Slot] = (),
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Make a list of slots, each with its line."""
        self._cast = [(slot, clean_line(text)) for slot, text in lines]
        self._ticked = set(ticked)
        options = [Option(self._shown(index)) for index in range(len(self._cast))]
        super().__init__(*options, id=id, classes=classes, markup=False)

    def on_mount(self) -> None:
        """Put the cursor on the first line, so that one key ticks it."""
        self.highlighted = 0

    @property
    def ticked(self) -> tuple[Slot, ...]:
        """The slots that are ticked, in order."""
        return tuple(slot for slot, _ in self._cast if slot in self._ticked)

    def tick_only(self, slots: Iterable[Slot]) -> None:
        """Tick these and no other."""
        self._ticked = set(slots)
        for index in range(len(self._cast)):
            self.replace_option_prompt_at_index(index, self._shown(index))

    def _shown(self, index: int) -> Content:
        slot, text = self._cast[index]
        return Content(f"[{'x' if slot in self._ticked else ' '}] {text}")

    @on(OptionList.OptionSelected)
    def _toggle(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.tick_only(self._ticked ^ {self._cast[event.option_index][0]})
