"""The panels of the characters on tab 1, of which one shows; each is made when it is first wanted."""

from collections.abc import Mapping

from textual.containers import Vertical
from textual.widget import Widget

from core.domain.cast import Cast
from core.domain.limits import Limits
from core.domain.slot import Slot, first_slots
from storyengine_tui.screens.setup.agent_panel import AgentPanel


class CastPanels(Vertical):
    """Holds what the GM typed for every character whose panel was shown once, also while it is hidden."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._panels: dict[Slot, AgentPanel] = {}
        self._is_read_only = False
        self.slot = Slot.RED
        """The character whose panel shows."""

    async def clear(self) -> None:
        """Remove every panel, as before another session is shown."""
        for panel in self._panels.values():
            await panel.remove()
        self._panels.clear()
        self.slot = Slot.RED

    @property
    def names(self) -> Mapping[Slot, str]:
        """The names as they were typed."""
        return {slot: panel.agent_name for slot, panel in self._panels.items()}

    @property
    def identities(self) -> Mapping[Slot, str]:
        """The identities as they were typed."""
        return {slot: panel.identity for slot, panel in self._panels.items()}

    @property
    def shown(self) -> AgentPanel | None:
        """The panel that shows; None before the first does."""
        return self._panels.get(self.slot)

    def show_stored(self, cast: Cast) -> None:
        """Show what is stored where it differs from what stands in the panels."""
        for slot, panel in self._panels.items():
            panel.show_stored(cast[slot])

    def set_read_only(self, is_read_only: bool) -> None:
        """Let the texts be changed, or only be read and copied."""
        self._is_read_only = is_read_only
        for panel in self._panels.values():
            panel.set_read_only(is_read_only)

    def say_clashes(self, doubles: Mapping[Slot, str]) -> None:
        """Say in each panel of `doubles` that another character has this name."""
        for slot, panel in self._panels.items():
            panel.say_clash(doubles.get(slot, ""))

    async def show(
        self, slot: Slot, cast: Cast, limits: Limits, agent_count: int, *, is_from_beginning: bool
    ) -> None:
        """Show the panel of `slot`, or the last of `agent_count`; it has the focus if another had."""
        slots = first_slots(agent_count)
        self.slot = slot if slot in slots else slots[-1]
        if self.slot not in self._panels:
            panel = AgentPanel(limits, cast[self.slot], is_read_only=self._is_read_only)
            self._panels[self.slot] = panel
            await self.mount(panel)
            if is_from_beginning:
                panel.fields[1].action_document_end(False)
        shown, focused = self._panels[self.slot], self.screen.focused
        around = focused.ancestors if focused is not None else []
        is_leaving = any(panel in around for panel in self._panels.values() if panel is not shown)
        for panel in self._panels.values():
            panel.display = panel is shown
        if is_leaving:
            shown.focus_name()

    def neighbour(self, focused: Widget, step: int, agent_count: int) -> Slot | None:
        """Return the character that Tab (1) or back (-1) leads to from `focused`; None within a panel."""
        slots, panel = first_slots(agent_count), self.shown
        to = slots.index(self.slot) + step
        if panel is None or not 0 <= to < len(slots):
            return None
        name, identity = panel.fields
        return slots[to] if focused is (identity if step > 0 else name) else None
