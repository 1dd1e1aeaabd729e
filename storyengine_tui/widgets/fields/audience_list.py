"""A list of the characters of a chapter, each chosen or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content

from core.domain.audience import Audience, audience_of
from core.domain.slot import Slot
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.fields.capped_text_area import run_binding_now
from storyengine_tui.widgets.widget_message import WidgetMessage


class AudienceList(GuardedOptionList):
    """Space, Enter, a click or a character's number chooses a character, or takes the choice back.

    `audience` is who is chosen: everyone, if the whole cast is. Slots that have no character now keep their
    place in it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "select", "Choose"),
        *(Binding(str(slot.value), f"choose({slot.value})", show=False) for slot in Slot),
    ]

    @dataclass
    class Changed(WidgetMessage["AudienceList"]):
        """The user changed who is chosen."""

        audience: Audience

    def __init__(
        self, roster: Sequence[tuple[Slot, str]], audience: Audience, *, id: str | None = None
    ) -> None:
        self._roster = roster
        self.audience = audience
        super().__init__(*(self._row(slot, name) for slot, name in roster), id=id, markup=False, compact=True)

    def _row(self, slot: Slot, name: str) -> Content:
        mark = "[x]" if slot in self.audience else "[ ]"
        return Content.assemble(f"{mark} ", (f"{slot.value} {name}", f"$slot-{slot.colour}"))

    def show(self, audience: Audience) -> None:
        """Show who is chosen."""
        self.audience = audience
        for index, (slot, name) in enumerate(self._roster):
            self.replace_option_prompt_at_index(index, self._row(slot, name))

    async def on_key(self, event: events.Key) -> None:
        """Choose before the next key: one that leaves the list came in the same packet on a slow line."""
        await run_binding_now(self, event)

    def action_select(self) -> None:
        """Choose the character at the cursor, or take the choice back, at once."""
        if self.highlighted is not None:
            self.action_choose(self._roster[self.highlighted][0].value)

    def action_choose(self, number: int) -> None:
        """Choose the character with this number, or take the choice back."""
        slot, cast = Slot(number), frozenset(slot for slot, _ in self._roster)
        if slot in cast:
            chosen = cast if self.audience.is_everyone else self.audience.slots
            self.show(audience_of(chosen ^ {slot}, cast))
            self.post_message(self.Changed(self, self.audience))
