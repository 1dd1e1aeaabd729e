"""The lists by which the GM chooses who hears a prompt, who answers it, and who may add something."""

from collections.abc import Sequence
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
from storyengine_tui.widgets.fields.slot_checks import SlotChecks, SlotOrder


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
                "Space ticks. From now on: in the scene until you change it.", classes="dialog--muted"
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
