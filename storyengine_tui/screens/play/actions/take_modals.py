"""The dialogs of tab 2 about takes: another model, a branch, the GM's own text of a reply (design 12)."""

from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from core.domain.session.profile import LONGEST_MODEL
from core.text.cleaning import is_blank
from storyengine_tui.widgets.dialogs.line_modal import LineModal
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea


class ModelOnceModal(LineModal):
    """Ends with the model that writes the next take."""

    HEADING = "Re-roll with another model"
    PLACEHOLDER = "The model's name"
    NOTE = "A model of the account that answers now, or ACCOUNT:MODEL; for this take alone."
    LIMIT = LONGEST_MODEL
    SAVE = "Re-roll"


class BranchModal(LineModal):
    """Ends with the number of the last prompt that the branch has, as it was typed."""

    HEADING = "Branch the chapter"
    PLACEHOLDER = "The number of a prompt"
    LIMIT = 9
    SAVE = "Branch"

    def __init__(self, at: int, last: int) -> None:
        super().__init__(str(at))
        which = "1" if last == 1 else f"1 to {last:,}"
        self.note = (
            f"The last prompt that the new chapter has, {which}. It begins with the same cast, story and "
            "memory up to there, and opens at once. This chapter stays as it is."
        )


class ReplyModal(BoxModal[str]):
    """Ends with the GM's own text of a reply; Esc leaves the reply as it is."""

    AUTO_FOCUS = "CappedTextArea"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    _area = getters.query_one(CappedTextArea)

    def __init__(self, reply: str, limit: int) -> None:
        super().__init__()
        self._reply, self._limit = reply, max(limit, len(reply))

    def compose(self) -> ComposeResult:
        """Compose what it does, the field, and the two answers."""
        with Vertical(classes="dialog--box"):
            yield Static("Correct the reply", classes="dialog--title")
            yield Static(
                "Your text becomes another take, and counts from now on. The model's own take stays.",
                classes="dialog--text",
            )
            yield CappedTextArea(self._reply, limit=self._limit)
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Store", id="store", classes="action", disabled=True)

    @on(CappedTextArea.Edited)
    def _show_possible(self) -> None:
        text = self._area.text
        self.query_one("#store", Button).disabled = is_blank(text) or text.strip() == self._reply.strip()

    @on(Button.Pressed, "#store")
    def _store(self) -> None:
        self.dismiss(self._area.text)
