"""The dialogs that make a block of memory again, and that edit one (design 12)."""

import json
from collections.abc import Awaitable, Callable

from core.domain.session.profile import LONGEST_MODEL
from core.domain.story.memory import MemoryBlock
from core.text.cleaning import clean, is_blank
from storyengine_tui.widgets.dialogs.line_modal import LineModal
from storyengine_tui.widgets.dialogs.stored_text_modal import Draft, StoredTextModal
from storyengine_tui.widgets.reading.memory_outline import title_of

LONGEST_BLOCK = 60_000
"""Characters that an edited block may have; the engine bounds each of its texts and lists."""


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
        self, block: MemoryBlock, store: Callable[[str], Awaitable[None]], kept: Draft | None = None
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
