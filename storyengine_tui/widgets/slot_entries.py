"""The entries below a cell of several panels, from which the GM goes on into one of them (design 10)."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from storyengine_tui.widgets.panel_switcher import PanelSwitcher


class SlotEntries(PanelSwitcher):
    """Entries of panels to write in. Digits, the mouse and Enter lead into the panel, arrows stay here."""

    HELP = "Digits and clicks pick a character and go to its panel; arrows only show the panels."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,down", "enter", "To the panel")]

    is_stepping = False

    class Entered(Message):
        """The GM goes on to the panel that shows."""

    def action_enter(self) -> None:
        """Go to the panel that shows."""
        self.post_message(self.Entered())

    def action_step(self, step: int) -> None:
        """Pick the entry `step` places on, and stay here."""
        self.is_stepping = self.has_focus
        super().action_step(step)

    def action_pick_number(self, number: int) -> None:
        """Pick the entry with this number."""
        self.is_stepping = False
        super().action_pick_number(number)

    def on_mouse_down(self) -> None:
        """A click picks and goes on."""
        self.is_stepping = False
