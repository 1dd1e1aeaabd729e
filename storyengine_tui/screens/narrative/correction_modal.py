"""Asks what is true instead of what memory says, and stores it as a correction of canon."""

from collections.abc import Awaitable, Callable, Iterable

from core.domain.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.text.cleaning import is_blank
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal

EFFECT = (
    "From now on every character, summary and narrative is given this text, after what it corrects. "
    "What is already written stays."
)
BEGUN = "You wrote this before, and did not add it."


class CorrectionModal(StoredTextModal):
    """Asks for a correction.

    `room` is how many characters are left of the total that all corrections of a chapter may have. `kept`
    holds the text until it is stored or discarded: if the program is killed in between, the text is shown
    once more, for it must not be lost.
    """

    HELP = f"A correction of canon. {EFFECT}"
    EFFECT = EFFECT
    PLACEHOLDER = "What is true instead, such as: Jonas holds the lamp, not Mira."
    ADD = "Add"
    LOSS = (
        "Discard the correction?",
        "What you wrote here is not part of the chapter yet, and will be deleted.",
    )

    def __init__(
        self, store: Callable[[str], Awaitable[None]], room: int, kept: KeptText | None = None
    ) -> None:
        super().__init__(store, min(LONGEST_CORRECTION, room), kept.read() if kept is not None else "")
        self._kept = kept

    @property
    def heading(self) -> str:
        """The title of the dialog."""
        return "Correct what is remembered"

    @property
    def has_changes(self) -> bool:
        """Whether anything is written."""
        return not is_blank(self._area.text)

    @property
    def notes(self) -> Iterable[tuple[str, bool]]:
        """Say that the text was begun before, and what bounds it."""
        if self._begun:
            yield BEGUN, True
        if self._limit < LONGEST_CORRECTION:
            bound = f"All corrections of a chapter together have at most {LONGEST_CORRECTIONS:,} characters."
            yield bound, False

    def _keep(self, text: str) -> None:
        if self._kept is not None:
            self._kept.keep(text)

    def _forget(self) -> None:
        if self._kept is not None:
            self._kept.forget()
