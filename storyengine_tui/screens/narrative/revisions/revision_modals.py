"""The dialogs that correct memory, make a block of it again, and edit one (design 12)."""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from textual.app import ComposeResult

from core.domain.audience import EVERYONE, Audience
from core.domain.errors import IllegalCommandError
from core.domain.session.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.domain.session.profile import LONGEST_MODEL
from core.domain.slot import Slot
from core.domain.story.memory import MemoryBlock
from core.text.cleaning import clean, is_blank
from storyengine_tui.widgets.dialogs.line_modal import LineModal
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal
from storyengine_tui.widgets.dialogs.storing_modal import UnstoredText
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from storyengine_tui.widgets.reading.memory_outline import title_of

LONGEST_BLOCK = 60_000
"""Characters that an edited block may have; the engine bounds each of its texts and lists."""
EFFECT = (
    "From now on every character, summary and narrative is given this text, after the part that it corrects. "
    "Finished text stays."
)
EFFECT_FOR_SOME = (
    "From now on those chosen below, their summaries and the narrative are given this text, after the part "
    "that it corrects. Finished text stays."
)
NOBODY_GETS_IT = "No character would be given it: choose one."


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
    SAVE = "Add"
    LOSS = ("Discard the correction?", "Your text is not part of the chapter yet, and will be deleted.")

    def __init__(
        self,
        store: Store,
        room: int,
        kept: UnstoredText | None = None,
        roster: Sequence[tuple[Slot, str]] = (),
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


class RebuildModal(LineModal):
    """Ends with the model that makes memory again; an empty line leaves it to the one that summarises."""

    PLACEHOLDER = "The model's name, or nothing"
    NOTE = (
        "A model of the account that summarises, for this once; empty: the one that summarises always. The "
        "revision that counts now is kept. Pinned and struck canon stays as it is."
    )
    LIMIT = LONGEST_MODEL
    SAVE = "Rebuild"

    def __init__(self, what: str) -> None:
        super().__init__("")
        self.heading = f"Rebuild {what}"


class BlockModal(StoredTextModal):
    """Asks for the GM's own revision of a block, as JSON."""

    EFFECT = (
        "Your revision counts from now on, for every character, summary and narrative. The one before is "
        "kept. The prompts it is about cannot be changed here."
    )
    HELP = f"A block of memory, edited by hand. {EFFECT}"
    LOSS = ("Discard your changes?", "The block stays as it was before.")

    def __init__(
        self, block: MemoryBlock, store: Callable[[str], Awaitable[None]], kept: UnstoredText | None = None
    ) -> None:
        written = clean(json.dumps(block.payload, indent=2, ensure_ascii=False))
        super().__init__(store, LONGEST_BLOCK, written, kept)
        self.heading = f"Edit memory: {title_of(block)}"

    @property
    def has_changes(self) -> bool:
        """Whether the text differs from the block's."""
        return super().has_changes and not is_blank(self._area.text)

    def _place_cursor(self) -> None:
        self._area.move_cursor((0, 0))
