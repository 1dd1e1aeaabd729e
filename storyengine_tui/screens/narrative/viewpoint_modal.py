"""Asks as which character the chapter is to be written (design 13)."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static

from core.domain.session.session import Session
from core.domain.slot import Slot
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal

EFFECT = (
    "The writer is given what this character has witnessed and knows, and nothing else. Enter builds a new "
    "version; those that exist stay."
)


class ViewpointModal(BoxModal[Slot]):
    """Ends with a character; Esc ends with none."""

    AUTO_FOCUS = "OptionList"
    HELP = f"The chapter from one character's viewpoint. {EFFECT}"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Cancel")]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._roster = session.roster

    def compose(self) -> ComposeResult:
        """Compose what it does, and the characters."""
        rows = [Content(f"{slot.value} {name}") for slot, name in self._roster]
        with Vertical(classes="dialog--box"):
            yield Static("From whose viewpoint is the chapter written?", classes="dialog--title")
            yield Static(EFFECT, classes="dialog--text")
            yield GuardedOptionList(*rows, id="viewpoints", markup=False, compact=True)
            yield Static("↑ ↓ and Enter choose · Esc changes nothing", classes="dialog--muted")

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._roster[event.option_index][0])
