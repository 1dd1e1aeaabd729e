"""Goes to a place on tab 3 that was found elsewhere: in memory, in the bank, in a draft of the chapter."""

import re
from collections.abc import Sequence
from uuid import UUID

from core.domain.ids import ItemId
from core.engine.recall.texts import texts_within
from core.text.cleaning import clean, clean_line
from core.text.letters import WORD_BEGINS
from storyengine_tui.screens.narrative.draft_cell import DraftCell
from storyengine_tui.screens.narrative.memory.bank_part import BankPart
from storyengine_tui.screens.narrative.memory.block_reader import SourceRange
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.memory.memory_loader import MemoryLoader
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.reading.transcript_lines import Paragraph, SourcePos


class SearchTargets:
    """The actions of tab 3 that show a place of a search."""

    def __init__(self, page: SessionTab, memory: MemoryLoader, bank: BankPart) -> None:
        self._page = page
        self._memory = memory
        self._bank = bank

    @property
    def _cell(self) -> MemoryCell:
        return self._page.query_one(MemoryCell)

    def _view_all(self) -> None:
        """Show memory and bank as the GM knows them: one character may not know the place."""
        if self._memory.viewpoint is not None:
            self._memory.view_as(None)
            self._bank.show_viewpoint()

    def action_go_to_block(self, block_id: str, part: int, start: int, end: int) -> None:
        """Select words of a text of a block of memory, once memory is read."""

        def arrive() -> None:
            self._view_all()
            cell, blocks = self._cell, self._cell.memory.blocks
            number = next((n for n, one in enumerate(blocks) if str(one.id) == block_id), None)
            if number is None:
                return
            texts = list(texts_within(blocks[number].payload))
            text = texts[part] if part < len(texts) else ""
            cell.go_to_list(None)
            cell.memory.go_to(number, lambda shown: place_of(shown, text, start, end))
            self._page.page_focus.move_to(cell.memory.view, scroll_visible=True)

        self._memory.when_read(arrive)

    def action_go_to_item(self, item_id: str) -> None:
        """Put the cursor on an item of the bank, once that is read."""

        def arrive() -> None:
            self._view_all()
            self._cell.go_to_item(ItemId(UUID(item_id)))

        self._bank.when_read(arrive)

    def action_go_to_draft(self, version: int, start: int, end: int) -> None:
        """Select words of a draft of the chapter."""
        cell = self._page.query_one(DraftCell)
        if cell.choose(version):
            cell.view.mark_at(cell.view.place_at(start), cell.view.place_at(end))
        self._page.page_focus.move_to(cell.view, scroll_visible=True)


def place_of(paragraphs: Sequence[Paragraph], text: str, start: int, end: int) -> SourceRange | None:
    """Return where a part of a text is in paragraphs, of which one may have all of the text."""
    words = clean(text[start:end]).split()
    if not words:
        return None
    pattern = re.compile(WORD_BEGINS + r"\s+".join(map(re.escape, words)))
    line, first = clean_line(text), None
    for number, paragraph in enumerate(paragraphs):
        whole = paragraph.text.find(line)
        found = pattern.search(paragraph.text, max(0, whole))
        if found is None:
            continue
        place = SourcePos(number, found.start()), SourcePos(number, found.end())
        if whole >= 0:
            return place
        first = first or place
    return first
