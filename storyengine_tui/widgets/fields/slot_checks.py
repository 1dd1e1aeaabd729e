"""A list of characters that are ticked and unticked; the ticks are readable without colour."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets.option_list import Option

from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.fields.capped_text_area import run_binding_now


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
        self._ticked = list(ticked)
        """The slots that are ticked, in the order of ticking."""
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
        self._ticked = list(slots)
        for index in range(len(self._cast)):
            self.replace_option_prompt_at_index(index, self._shown(index))

    def _shown(self, index: int) -> Content:
        slot, text = self._cast[index]
        return Content(f"[{'x' if slot in self._ticked else ' '}] {text}")

    async def on_key(self, event: events.Key) -> None:
        """Tick before the next key: one that closes the dialog came in the same packet on a slow line."""
        await run_binding_now(self, event)

    def action_select(self) -> None:
        """Tick the line at the cursor or remove its tick, at once and without a message."""
        if self.highlighted is not None:
            slot = self._cast[self.highlighted][0]
            others = [one for one in self._ticked if one is not slot]
            self.tick_only(others if slot in self._ticked else [*others, slot])


class SlotOrder(SlotChecks):
    """A list in which the ticked characters have numbers: the order in which they were ticked."""

    @property
    def ticked(self) -> tuple[Slot, ...]:
        """The slots that are ticked, in the order of ticking."""
        return tuple(self._ticked)

    def _shown(self, index: int) -> Content:
        slot, text = self._cast[index]
        place = str(self._ticked.index(slot) + 1) if slot in self._ticked else " "
        return Content(f"[{place}] {text}")
