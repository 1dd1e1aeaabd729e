"""The blocks that the first cell of tab 3 shows, as paragraphs: which paragraph is of which block."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.story.memory import MemoryBlock
from storyengine_tui.widgets.reading.memory_outline import MemoryForm, MemoryMarks, passages_of
from storyengine_tui.widgets.reading.passage_view import Keyed
from storyengine_tui.widgets.reading.transcript_lines import SourcePos


@dataclass(frozen=True, slots=True)
class ShownBlocks:
    """Blocks, and the paragraphs made of them."""

    blocks: Sequence[MemoryBlock] = ()
    paragraphs: Sequence[Keyed] = ()
    begins: Sequence[int] = ()
    """The paragraphs with which the blocks begin."""

    @classmethod
    def of(cls, blocks: Sequence[MemoryBlock], form: MemoryForm, marks: MemoryMarks) -> "ShownBlocks":
        """Return blocks in one of the two forms."""
        paragraphs: list[Keyed] = []
        begins = []
        for block in blocks:
            begins.append(len(paragraphs))
            passages = passages_of(block, form, marks)
            paragraphs += [Keyed((block.id, number), passage) for number, passage in enumerate(passages)]
        return cls(blocks, paragraphs, begins)

    def number_at(self, paragraph: int) -> int:
        """Return the number of the block that a paragraph belongs to, from 0."""
        return max(0, bisect_right(self.begins, paragraph) - 1)

    def block_at(self, paragraph: int) -> MemoryBlock | None:
        """Return the block that a paragraph belongs to; None where there are no blocks."""
        return self.blocks[self.number_at(paragraph)] if self.blocks else None

    def paragraphs_of(self, number: int) -> range:
        """Return the paragraphs of a block."""
        end = self.begins[number + 1] if number + 1 < len(self.begins) else len(self.paragraphs)
        return range(self.begins[number], end)

    def lock_at(self, place: SourcePos) -> str | None:
        """Return the canon lock at a place."""
        return self.paragraphs[place.paragraph].passage.lock_at(place.offset)

    def lock_from(self, top: int) -> SourcePos | None:
        """Return the first place of a canon lock from a paragraph on; without one, the last before it."""
        places = [
            SourcePos(index, passage.heading + 1)
            for index, passage in enumerate(keyed.passage for keyed in self.paragraphs)
            if passage.locks
        ]
        return next((place for place in places if place.paragraph >= top), places[-1] if places else None)
