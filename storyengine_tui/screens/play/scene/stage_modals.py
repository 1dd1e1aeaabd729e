"""The dialogs of tab 2 about those who are away, may be silent, or were silent for long (design 17)."""

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from core.text.cleaning import clean, clean_line
from storyengine_tui.screens.play.scene.line_modals import AddedLineModal
from storyengine_tui.widgets.dialogs.line_modal import LineModal, refusal_of
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.one_line import LineField

_LONGEST_NUMBER = 9


class AwayModal(AddedLineModal):
    """Stores who is away, and until when."""

    HEADING = "Who is away"
    NOTE = "They hear nothing, are not called next, and the others are told that they are away."
    SAVE = "Save"
    WHO = "Tick those who are away; without a tick they are back:"
    AUTO_FOCUS = "SlotChecks"

    def compose_fields(self) -> ComposeResult:
        """Compose the field for the return of those who leave now."""
        yield Static("Back at prompt number; empty until you remove the tick:", classes="dialog--muted")
        yield LineField("", limit=_LONGEST_NUMBER, placeholder="until you bring them back")

    def ticked(self) -> Iterable[Slot]:
        """Return those who are away now."""
        session = self._session.snapshot.session
        return [slot for slot in session.away if session.is_away(slot)]

    async def store(self, hearers: tuple[Slot, ...]) -> None:
        """Store who is away; those who are away already keep their return, unless there is a new one."""
        session, typed = self._session.snapshot.session, self.query_one(LineField).text
        away = dict.fromkeys(hearers, read_number(typed))
        if not typed.strip():
            away |= {slot: session.away[slot] for slot in hearers if session.is_away(slot)}
        await self._session.scene.set_away(away)


class SilenceModal(AddedLineModal):
    """Stores who may act without words or say nothing."""

    HEADING = "Silence and action"
    NOTE = (
        "These may answer by an action, or say nothing. Their reason is for your eyes alone: w on the "
        "transcript shows it, and F7."
    )
    SAVE = "Save"
    WHO = "Tick those who may:"
    AUTO_FOCUS = "SlotChecks"

    def ticked(self) -> Iterable[Slot]:
        """Return those who may now."""
        return self._session.snapshot.session.may_be_silent

    async def store(self, hearers: tuple[Slot, ...]) -> None:
        """Store those who may."""
        await self._session.scene.set_silence(hearers)


class HintModal(LineModal):
    """Ends with after how many prompts a silent character is pointed out, as it was typed."""

    HEADING = "Point out silent characters"
    PLACEHOLDER = "A number of prompts, such as 9"
    NOTE = (
        "A character in the scene without a reply for as many prompts, or for many minutes of play, gets "
        "a mark on its panel. Nothing is written into the story. 0 or nothing ends the hints."
    )
    LIMIT = _LONGEST_NUMBER
    REPLACES = True

    def refusal(self, line: str) -> str:
        """Refuse what is no number."""
        return refusal_of(read_number, line)


class ReasonModal(BoxModal[None]):
    """Shows why a character has no words; any key of its own closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,w", "close", "Close")]

    def __init__(self, line: str, reason: str) -> None:
        super().__init__()
        self._line, self._reason = clean_line(line), clean(reason)

    def compose(self) -> ComposeResult:
        """Compose the line of the story, the reason, and the way back."""
        with Vertical(classes="dialog--box"):
            yield Static(Content(self._line), classes="dialog--title")
            with VerticalScroll(classes="dialog--scroll", can_focus=False):
                yield Static(Content(self._reason), classes="dialog--text")
            yield Static("For your eyes alone: no model and no character is told.", classes="dialog--muted")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Close", id="close", classes="action", action="screen.close")


def read_number(typed: str) -> int:
    """Return a number as it was typed; 0 for nothing. Raises IllegalCommandError for anything else."""
    digits = typed.strip().replace(",", "")
    if not digits:
        return 0
    if not (digits.isascii() and digits.isdigit()):
        raise IllegalCommandError("That is not a number; write one, or leave it empty.")
    return int(digits)
