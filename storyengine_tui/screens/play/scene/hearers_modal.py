"""The list by which the GM chooses who hears a prompt, or who is in the scene from now on (design 13)."""

from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from core.domain.audience import Audience
from core.domain.session.absence import absence_text
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.slot_checks import SlotChecks


@dataclass(frozen=True, slots=True)
class Hearers:
    """The GM's choice."""

    slots: frozenset[Slot]
    lasts: bool
    """Whether they are in the scene from now on, or hear one prompt alone."""


class HearersModal(BoxModal[Hearers]):
    """Ends with who was chosen; Esc changes nothing."""

    HELP = (
        "Tick who hears. A choice for one prompt ends when it is sent: then those in the scene hear again. "
        "The character that a prompt is written to always hears it."
    )
    AUTO_FOCUS = "SlotChecks"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "choose(False)", "This prompt"),
        Binding("n", "choose(True)", "From now on"),
        Binding("w", "whisper", "Whisper"),
        Binding("a", "tick_all", "Tick all"),
        Binding("escape", "cancel", "Cancel"),
    ]

    _checks = getters.query_one(SlotChecks)

    def __init__(self, session: Session, slot: Slot, ticked: Audience) -> None:
        super().__init__()
        self._session = session
        self._slot = slot
        self._ticked = [one for one in session.slots if one in ticked]

    def compose(self) -> ComposeResult:
        """Compose the list, and below it for how long the choice lasts."""
        name = clean_line(self._session.name_of(self._slot))
        with Vertical(classes="dialog--box"):
            yield Static(Content(f"Who hears what you write to {name}"), classes="dialog--title")
            yield SlotChecks([(slot, self._line(slot)) for slot in sorted(self._session.slots)], self._ticked)
            yield Static(
                "Space ticks. From now on: in the scene until you change it.",
                classes="dialog--muted",
            )
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Whisper", id="whisper")
                yield Button("From now on", id="lasting")
                yield Button("This prompt", id="once", classes="action")

    def _line(self, slot: Slot) -> str:
        line = self._session.name_of(slot)
        if slot is self._slot:
            line += ", to whom you write"
        if self._session.is_away(slot):
            return f"{line}, {absence_text(self._session.away[slot])}"
        return line if slot in self._session.present else f"{line}, not in the scene"

    @on(Button.Pressed, "#once")
    def _choose_once(self) -> None:
        self.action_choose(lasts=False)

    @on(Button.Pressed, "#lasting")
    def _choose_lasting(self) -> None:
        self.action_choose(lasts=True)

    def action_choose(self, lasts: bool) -> None:
        """Choose those that are ticked."""
        self.dismiss(Hearers(frozenset(self._checks.ticked), lasts))

    @on(Button.Pressed, "#whisper")
    def action_whisper(self) -> None:
        """Let the prompt be heard by the one it is written to alone."""
        self.dismiss(Hearers(frozenset({self._slot}), lasts=False))

    def action_tick_all(self) -> None:
        """Tick every character."""
        self._checks.tick_only(self._session.slots)
