"""The list by which the GM chooses who answers a prompt, and in which order."""

from collections.abc import Sequence
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from core.domain.session.session import Session
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.slot_checks import SlotOrder


class CalledModal(BoxModal[tuple[Slot, ...]]):
    """Ends with those who answer after the one addressed, in order; Esc changes nothing."""

    HELP = (
        "Tick in the order in which they answer. Each answers after the one before and sees what came "
        "before it. It holds for one prompt; all who are called hear it."
    )
    AUTO_FOCUS = "SlotOrder"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "choose", "This prompt"),
        Binding("a", "tick_present", "All present"),
        Binding("o", "choose_one", "Only this one"),
        Binding("escape", "cancel", "Cancel"),
    ]

    _checks = getters.query_one(SlotOrder)

    def __init__(self, session: Session, slot: Slot, ticked: Sequence[Slot]) -> None:
        super().__init__()
        self._session = session
        self._slot = slot
        self._ticked = ticked

    def compose(self) -> ComposeResult:
        """Compose the list, and below it what can be chosen."""
        name = clean_line(self._session.name_of(self._slot))
        lines = [(slot, self._line(slot)) for slot in self._others]
        with Vertical(classes="dialog--box"):
            yield Static(Content(f"Who answers after {name}"), classes="dialog--title")
            yield SlotOrder(lines, self._ticked)
            yield Static("Space ticks, in the order of the answers.", classes="dialog--muted")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Only this one", id="one")
                yield Button("All present", id="present")
                yield Button("This prompt", id="chosen", classes="action")

    @property
    def _others(self) -> list[Slot]:
        """The other characters, from the next one on and around."""
        following = [slot for slot in self._session.slots if slot > self._slot]
        return [*following, *(slot for slot in self._session.slots if slot < self._slot)]

    def _line(self, slot: Slot) -> str:
        line = self._session.name_of(slot)
        return line if slot in self._session.here else f"{line}, not in the scene"

    @on(Button.Pressed, "#chosen")
    def action_choose(self) -> None:
        """Choose those that are ticked."""
        self.dismiss(self._checks.ticked)

    @on(Button.Pressed, "#one")
    def action_choose_one(self) -> None:
        """Let the one addressed answer alone."""
        self.dismiss(())

    @on(Button.Pressed, "#present")
    def action_tick_present(self) -> None:
        """Tick everyone who is in the scene, in turn."""
        self._checks.tick_only([slot for slot in self._others if slot in self._session.here])
