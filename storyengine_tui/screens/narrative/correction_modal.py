"""Asks what is true instead of what memory says, and stores it as a correction of canon."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from core.domain.errors import StoryEngineError
from core.domain.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.text.cleaning import is_blank
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.overlay_screen import TextDialog
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.char_counter import CharCounter

EFFECT = (
    "From now on every character, summary and narrative is given this text, after what it corrects. "
    "What is already written stays."
)
BEGUN = "You wrote this before, and did not add it."
PLACEHOLDER = "What is true instead, such as: Jonas holds the lamp, not Mira."


class CorrectionModal(TextDialog):
    """Ends with True once `store` has accepted the text, else with False.

    The reason of a refusal is shown here, and the text stays. `room` is how many characters are left of the
    total that all corrections of a chapter may have. `kept` holds the text until it is stored or discarded:
    if the program is killed in between, the text is shown once more, for it must not be lost.
    """

    IS_FINAL = False
    AUTO_FOCUS = "CappedTextArea"
    CSS_PATH = "../../widgets/dialogs/dialog.tcss"
    HELP = f"A correction of canon. {EFFECT}"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    _area = getters.query_one(CappedTextArea)

    def __init__(
        self, store: Callable[[str], Awaitable[None]], room: int, kept: KeptText | None = None
    ) -> None:
        super().__init__()
        self._store = store
        self._kept = kept
        self._begun = kept.read() if kept is not None else ""
        self._limit = min(LONGEST_CORRECTION, room)
        self._is_storing = False

    def compose(self) -> ComposeResult:
        """Compose what a correction does, the field with its counter, and the two answers."""
        with Vertical(classes="dialog--box"):
            with Horizontal(classes="dialog--line"):
                yield Static("Correct what is remembered", classes="dialog--title")
                yield CharCounter(self._limit, id="correction-counter")
            yield Static(EFFECT, classes="dialog--text")
            if self._begun:
                yield Static(BEGUN, classes="dialog--muted")
            # A text that was begun is never cut, even if there is less room now: storing it is refused.
            limit = max(self._limit, len(self._begun))
            yield CappedTextArea(self._begun, limit=limit, placeholder=PLACEHOLDER, id="correction")
            if self._limit < LONGEST_CORRECTION:
                bound = (
                    f"All corrections of a chapter together have at most {LONGEST_CORRECTIONS:,} characters."
                )
                yield Static(bound, classes="dialog--muted")
            yield Static("", id="correction-refused", classes="dialog--text", markup=False)
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Add", id="add", classes="action", disabled=True)

    def on_mount(self) -> None:
        """Put the cursor at the end of a text that was begun; nothing has been refused yet."""
        self.query_one("#correction-refused").display = False
        self._area.move_cursor(self._area.document.end)
        self._show_length()

    @on(CappedTextArea.Edited)
    def _keep(self) -> None:
        if self._kept is not None:
            self._kept.keep(self._area.text)
        self._show_length()

    def _show_length(self) -> None:
        self.query_one(CharCounter).show(self._area.length)
        self.query_one("#add", Button).disabled = self._is_storing or is_blank(self._area.text)

    @on(Button.Pressed, "#add")
    def _add(self) -> None:
        if not self._is_storing:
            self._is_storing = True
            self.run_worker(self._save(self._area.text), group="store", exit_on_error=False)

    async def _save(self, text: str) -> None:
        """Store the text and close; if it is refused, say why and let the GM edit it."""
        refused = self.query_one("#correction-refused", Static)
        try:
            await self._store(text)
        except StoryEngineError as error:
            refused.update(Content(f"Not stored. {error}"))
            refused.display = True
            self._is_storing = False
            self._show_length()
            self._area.focus()
        else:
            self._close(is_stored=True)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Leave; if a text would be lost, ask first."""
        if is_blank(self._area.text):
            self._close(is_stored=False)
            return
        question = ConfirmModal(
            "Discard the correction?",
            "What you wrote here is not part of the chapter yet, and will be deleted.",
            confirm="Discard",
            cancel="Keep writing",
        )
        self.app.push_screen(question, self._leave)

    def _leave(self, is_discarded: bool | None) -> None:
        if is_discarded:
            self._close(is_stored=False)

    def _close(self, *, is_stored: bool) -> None:
        if self._kept is not None:
            self._kept.forget()
        self.dismiss(is_stored)
