"""Asks for the truth about a mistake in memory, and stores it as a correction of canon."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol

from textual.app import ComposeResult

from core.domain.audience import EVERYONE, Audience
from core.domain.errors import IllegalCommandError
from core.domain.session.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.domain.slot import Slot
from core.text.cleaning import is_blank
from storyengine_tui.widgets.dialogs.stored_text_modal import Draft, StoredTextModal
from storyengine_tui.widgets.fields.slot_checks import SlotChecks

EFFECT = (
    "From now on every character, summary and narrative is given this text, after the part that it corrects. "
    "Finished text stays."
)
EFFECT_FOR_SOME = (
    "From now on those chosen below, their summaries and the narrative are given this text, after the part "
    "that it corrects. Finished text stays."
)
NOBODY_GETS_IT = "No character would be given it: choose one."
NO_ROOM = (
    f"The corrections of this chapter have {LONGEST_CORRECTIONS:,} characters together, and no more fit: "
    "each of them is sent with every call."
)


class Store(Protocol):
    """Stores a correction."""

    def __call__(self, text: str, *, audience: Audience = EVERYONE) -> Awaitable[None]:
        """Store it for those in `audience`; raise StoryEngineError if it is refused."""


class CorrectionModal(StoredTextModal):
    """Asks for a correction.

    `room` is how many characters are left of the total that all corrections of a chapter may have. `roster`
    is the cast from which the GM chooses who is given it; without one everyone is.
    """

    HELP = f"A correction of canon. {EFFECT}"
    heading = "Correct memory"
    EFFECT = EFFECT
    PLACEHOLDER = "The correct fact, such as: Jonas holds the lamp, not Mira."
    ADD = "Add"
    LOSS = ("Discard the correction?", "Your text is not part of the chapter yet, and will be deleted.")

    def __init__(
        self, store: Store, room: int, kept: Draft | None = None, roster: Sequence[tuple[Slot, str]] = ()
    ) -> None:
        super().__init__(self._store_for_chosen, min(LONGEST_CORRECTION, room), kept=kept)
        self._store_for = store
        self._roster = roster

    @property
    def effect(self) -> str:
        """Effect of a correction, on everyone or on the chosen characters."""
        return EFFECT_FOR_SOME if self._roster else EFFECT

    @property
    def has_changes(self) -> bool:
        """Whether anything is written."""
        return not is_blank(self._area.text)

    @property
    def notes(self) -> Iterable[tuple[str, bool]]:
        """Yield also which bound the text has."""
        yield from super().notes
        if self._limit < LONGEST_CORRECTION:
            bound = f"All corrections of a chapter together have at most {LONGEST_CORRECTIONS:,} characters."
            yield bound, False

    def compose_choices(self) -> ComposeResult:
        """Compose who is given it, in a chapter in which not everyone knows everything."""
        if self._roster:
            yield SlotChecks(self._roster, EVERYONE, id="given-to")

    async def _store_for_chosen(self, text: str) -> None:
        if not self._roster:
            await self._store_for(text)
            return
        audience = self.query_one(SlotChecks).audience
        if not audience.slots:
            raise IllegalCommandError(NOBODY_GETS_IT)
        await self._store_for(text, audience=audience)
