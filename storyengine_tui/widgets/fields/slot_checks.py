"""A list of characters that are ticked and unticked; the ticks are readable without colour."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content

from core.domain.audience import Audience, audience_of
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.fields.capped_text_area import run_binding_now
from storyengine_tui.widgets.widget_message import WidgetMessage


class SlotChecks(GuardedOptionList):
    """Space, Enter, a click or a character's number ticks a character, or removes the tick."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "select", "Tick"),
        *(Binding(str(slot.value), f"tick({slot.value})", show=False) for slot in Slot),
    ]

    @dataclass
    class Changed(WidgetMessage["SlotChecks"]):
        """The user changed who is ticked."""

        audience: Audience

    def __init__(
        self, roster: Sequence[tuple[Slot, str]], ticked: Iterable[Slot], *, id: str | None = None
    ) -> None:
        """Make a list of characters, each with its name and what is said beside it."""
        self._roster = [(slot, clean_line(words)) for slot, words in roster]
        self._cast = frozenset(slot for slot, _ in roster)
        self._ticked = list(ticked)
        """Those who are ticked, in the order of ticking."""
        rows = (self._row(slot, words) for slot, words in self._roster)
        super().__init__(*rows, id=id, markup=False, compact=True)

    def on_mount(self) -> None:
        """Put the cursor on the first line, so that one key ticks it."""
        self.highlighted = 0 if self._roster else None

    @property
    def ticked(self) -> tuple[Slot, ...]:
        """The slots that are ticked, in order."""
        return tuple(slot for slot, _ in self._roster if slot in self._ticked)

    @property
    def audience(self) -> Audience:
        """Those who are ticked: everyone, if all in the list are. Slots without a line keep their place."""
        return audience_of(self._ticked, self._cast)

    def tick_only(self, slots: Iterable[Slot]) -> None:
        """Tick these and no other."""
        self._ticked = list(slots)
        for index, (slot, words) in enumerate(self._roster):
            self.replace_option_prompt_at_index(index, self._row(slot, words))

    def _row(self, slot: Slot, words: str) -> Content:
        return Content.assemble(f"{self._mark(slot)} ", (f"{slot.value} {words}", f"$slot-{slot.colour}"))

    def _mark(self, slot: Slot) -> str:
        return "[x]" if slot in self._ticked else "[ ]"

    async def on_key(self, event: events.Key) -> None:
        """Tick before the next key: one that closes the dialog came in the same packet on a slow line."""
        await run_binding_now(self, event)

    def action_select(self) -> None:
        """Tick the character at the cursor or remove the tick, at once."""
        if self.highlighted is not None:
            self.action_tick(self._roster[self.highlighted][0].value)

    def action_tick(self, number: int) -> None:
        """Tick the character with this number, or remove the tick."""
        slot = Slot(number)
        if slot in self._cast:
            ticked = [one for one in self._ticked if one in self._cast]
            others = [one for one in ticked if one is not slot]
            self.tick_only(others if slot in ticked else [*others, slot])
            self.post_message(self.Changed(self, self.audience))


class SlotOrder(SlotChecks):
    """A list in which the ticked characters have numbers: the order in which they were ticked."""

    @property
    def ticked(self) -> tuple[Slot, ...]:
        """The slots that are ticked, in the order of ticking."""
        return tuple(self._ticked)

    def _mark(self, slot: Slot) -> str:
        return f"[{self._ticked.index(slot) + 1 if slot in self._ticked else ' '}]"
