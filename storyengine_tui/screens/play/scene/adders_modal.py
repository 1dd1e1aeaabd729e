"""The list by which the GM chooses which characters may add something unasked."""

from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from core.domain.session.session import Session
from core.domain.slot import Slot
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.slot_checks import SlotChecks


@dataclass(frozen=True, slots=True)
class Adders:
    """The GM's choice."""

    slots: tuple[Slot, ...]
    is_on: bool
    """Whether any of them adds something in this chapter."""


class AddersModal(BoxModal[Adders]):
    """Ends with who was chosen; Esc changes nothing."""

    HELP = (
        "The character that spoke last is asked after 10 seconds, 1, 5 and 15 minutes and 1 hour without a "
        "word of yours whether it adds something. Typing, sending and leaving stop it. F7 says what it "
        "decided."
    )
    AUTO_FOCUS = "SlotChecks"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "choose(True)", "On"),
        Binding("f", "choose(False)", "Off"),
        Binding("a", "tick_all", "Tick all"),
        Binding("escape", "cancel", "Cancel"),
    ]

    _checks = getters.query_one(SlotChecks)

    def __init__(self, session: Session, most: int) -> None:
        super().__init__()
        self._session = session
        self._most = most

    def compose(self) -> ComposeResult:
        """Compose the list, and below it what it costs."""
        session = self._session
        lines = [(slot, session.name_of(slot)) for slot in sorted(session.slots)]
        is_on = "On" if session.adds_unasked else "Off"
        with Vertical(classes="dialog--box"):
            yield Static("Who may add something unasked", classes="dialog--title")
            yield SlotChecks(lines, [slot for slot in session.slots if slot in session.may_add])
            yield Static(
                f"{is_on} now. While you are idle after a reply, its character decides whether it says more: "
                f"a call each time, and at most {self._most} additions to one reply.",
                classes="dialog--muted",
            )
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Off", id="off")
                yield Button("On", id="on", classes="action")

    @on(Button.Pressed, "#on")
    def _switch_on(self) -> None:
        self.action_choose(is_on=True)

    @on(Button.Pressed, "#off")
    def _switch_off(self) -> None:
        self.action_choose(is_on=False)

    def action_choose(self, is_on: bool) -> None:
        """Choose those that are ticked, and whether any does."""
        self.dismiss(Adders(self._checks.ticked, is_on))

    def action_tick_all(self) -> None:
        """Tick every character."""
        self._checks.tick_only(self._session.slots)
