"""The lists by which the GM chooses who hears a prompt, who answers it, and who may add something."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Button, Static

from core.domain.audience import Audience
from core.domain.session.session import Session, absence_text
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.slot_checks import SlotChecks, SlotOrder


class TicksModal(BoxModal[ScreenResultType]):
    """A list of characters, a note, and buttons that run actions of the dialog; Esc changes nothing."""

    AUTO_FOCUS = "SlotChecks"
    BUTTONS: ClassVar[dict[str, str]]
    """The action of each button by its label; the last button is what the dialog is for."""

    _checks = getters.query_one(SlotChecks)

    def __init__(self, session: Session, title: str, note: str, checks: SlotChecks) -> None:
        super().__init__()
        self._session = session
        self._texts = title, note
        self._list = checks

    def compose(self) -> ComposeResult:
        """Compose the list, the note below it, and the buttons."""
        title, note = self._texts
        with Vertical(classes="dialog--box"):
            yield Static(Content(title), classes="dialog--title")
            yield self._list
            yield Static(note, classes="dialog--muted")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                *others, last = self.BUTTONS.items()
                for label, action in others:
                    yield Button(label, name=action)
                yield Button(last[0], name=last[1], classes="action")

    @on(Button.Pressed)
    async def _press(self, event: Button.Pressed) -> None:
        if event.button.name:
            await self.run_action(event.button.name)

    def action_tick_all(self) -> None:
        """Tick every character."""
        self._checks.tick_only(self._session.slots)


@dataclass(frozen=True, slots=True)
class Hearers:
    """The GM's choice."""

    slots: frozenset[Slot]
    lasts: bool
    """Whether they are in the scene from now on, or hear one prompt alone."""


class HearersModal(TicksModal[Hearers]):
    """Ends with who was chosen; Esc changes nothing."""

    HELP = (
        "Tick who hears. A choice for one prompt ends when it is sent: then those in the scene hear again. "
        "The character that a prompt is written to always hears it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "choose(False)", "This prompt"),
        Binding("n", "choose(True)", "From now on"),
        Binding("w", "whisper", "Whisper"),
        Binding("a", "tick_all", "Tick all"),
        Binding("escape", "cancel", "Cancel"),
    ]
    BUTTONS: ClassVar = {"Whisper": "whisper", "From now on": "choose(True)", "This prompt": "choose(False)"}

    def __init__(self, session: Session, slot: Slot, ticked: Audience) -> None:
        lines = [(one, _hearer(session, one, slot)) for one in sorted(session.slots)]
        super().__init__(
            session,
            f"Who hears what you write to {clean_line(session.name_of(slot))}",
            "Space ticks. From now on: in the scene until you change it.",
            SlotChecks(lines, [one for one in session.slots if one in ticked]),
        )
        self._slot = slot

    def action_choose(self, lasts: bool) -> None:
        """Choose those that are ticked."""
        self.dismiss(Hearers(frozenset(self._checks.ticked), lasts))

    def action_whisper(self) -> None:
        """Let the prompt be heard by the one it is written to alone."""
        self.dismiss(Hearers(frozenset({self._slot}), lasts=False))


def _hearer(session: Session, slot: Slot, addressed: Slot) -> str:
    line = session.name_of(slot)
    if slot is addressed:
        line += ", to whom you write"
    if session.is_away(slot):
        return f"{line}, {absence_text(session.away[slot])}"
    return line if slot in session.present else f"{line}, not in the scene"


class CalledModal(TicksModal[tuple[Slot, ...]]):
    """Ends with those who answer after the one addressed, in order; Esc changes nothing."""

    HELP = (
        "Tick in the order in which they answer. Each answers after the one before and sees what came "
        "before it. It holds for one prompt; all who are called hear it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "choose", "This prompt"),
        Binding("a", "tick_present", "All present"),
        Binding("o", "choose_one", "Only this one"),
        Binding("escape", "cancel", "Cancel"),
    ]
    BUTTONS: ClassVar = {
        "Only this one": "choose_one",
        "All present": "tick_present",
        "This prompt": "choose",
    }

    def __init__(self, session: Session, slot: Slot, ticked: Sequence[Slot]) -> None:
        # The other characters, from the next one on and around.
        others = sorted(set(session.slots) - {slot}, key=lambda one: (one < slot, one))
        outside = {one: "" if one in session.here else ", not in the scene" for one in others}
        super().__init__(
            session,
            f"Who answers after {clean_line(session.name_of(slot))}",
            "Space ticks, in the order of the answers.",
            SlotOrder([(one, session.name_of(one) + outside[one]) for one in others], ticked),
        )
        self._others = others

    def action_choose(self) -> None:
        """Choose those that are ticked."""
        self.dismiss(self._checks.ticked)

    def action_choose_one(self) -> None:
        """Let the one addressed answer alone."""
        self.dismiss(())

    def action_tick_present(self) -> None:
        """Tick everyone who is in the scene, in turn."""
        self._checks.tick_only([slot for slot in self._others if slot in self._session.here])


@dataclass(frozen=True, slots=True)
class Adders:
    """The GM's choice."""

    slots: tuple[Slot, ...]
    is_on: bool
    """Whether any of them adds something in this chapter."""


def said_of_adders(session: Session, chosen: Adders) -> str:
    """Return a sentence about the effect of the choice."""
    if not chosen.is_on:
        return "No character adds anything unasked any more."
    names = [clean_line(session.name_of(slot)) for slot in chosen.slots]
    who = names[0] if len(names) == 1 else counted(len(names), "character")
    return f"{who} may add something unasked from now on."


class AddersModal(TicksModal[Adders]):
    """Ends with who was chosen; Esc changes nothing."""

    HELP = (
        "The character that spoke last is asked after 10 seconds, 1, 5 and 15 minutes and 1 hour without a "
        "word of yours whether it adds something. Typing, sending and leaving stop it. F7 says what it "
        "decided."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "choose(True)", "On"),
        Binding("f", "choose(False)", "Off"),
        Binding("a", "tick_all", "Tick all"),
        Binding("escape", "cancel", "Cancel"),
    ]
    BUTTONS: ClassVar = {"Off": "choose(False)", "On": "choose(True)"}

    def __init__(self, session: Session, most: int) -> None:
        is_on = "On" if session.adds_unasked else "Off"
        lines = [(slot, session.name_of(slot)) for slot in sorted(session.slots)]
        super().__init__(
            session,
            "Who may add something unasked",
            f"{is_on} now. While you are idle after a reply, its character decides whether it says more: "
            f"a call each time, and at most {most} additions to one reply.",
            SlotChecks(lines, [slot for slot in session.slots if slot in session.may_add]),
        )

    def action_choose(self, is_on: bool) -> None:
        """Choose those that are ticked, and whether any does; on without any is refused."""
        if is_on and not self._checks.ticked:
            self.notify("Tick who may add something first; Space ticks.", markup=False)
        else:
            self.dismiss(Adders(self._checks.ticked, is_on))
