"""Reads blocks of memory in the first cell of tab 3: in pages, readable or raw, searched (design 10)."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Input, Static

from core.domain.story.memory import MemoryBlock
from core.engine.changes.canon import stale_blocks
from storyengine_tui.screens.narrative.download_row import CopyRequested
from storyengine_tui.screens.narrative.memory.memory_pages import (
    MemoryPages,
    count_text,
    first_delta,
    found_text,
    title_text,
)
from storyengine_tui.widgets.reading.memory_outline import (
    NO_MARKS,
    MemoryForm,
    MemoryMarks,
    Names,
    all_text,
    marks_of,
    passages_of,
)
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView, pattern_of
from storyengine_tui.widgets.reading.transcript_lines import Paragraph, SourcePos


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
            paragraphs += [Keyed((block.place, number), passage) for number, passage in enumerate(passages)]
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


EMPTY_TEXT = (
    "Nothing yet. The first block comes when world, chapter and cast are locked; then one every {} prompts."
)
LOADING_TEXT = "Reading the memory …"
SourceRange = tuple[SourcePos, SourcePos]
"""The beginning and the end of words in a view."""


class BlockReader:
    """Shows blocks of memory in a view, as the GM or as one character knows them.

    `field` has the words that are searched; `changed` is called after each change.
    """

    def __init__(self, chunk_size: int, field: Input, changed: Callable[[], None]) -> None:
        self.view = PassageView(id="memory-view")
        """The widget in which the GM reads."""
        self.empty = Static(LOADING_TEXT, id="memory-empty", markup=False)
        """The sentence in place of the view while there are no blocks."""
        self._chunk_size = chunk_size
        self._field = field
        self._changed = changed
        self.pages = MemoryPages()
        """All blocks, and the page of them that shows."""
        self._names: Names = ()
        self.form = MemoryForm.READABLE
        """The form in which the blocks are shown."""
        self._pinned: tuple[str, ...] = ()
        self._struck: tuple[str, ...] = ()
        self._marks = NO_MARKS
        self.viewpoint = ""
        """The number and name of the character as which memory is shown; empty for the GM."""
        self._shown = ShownBlocks()
        self.is_known = False
        """Whether memory has been read."""

    # What there is

    @property
    def blocks(self) -> Sequence[MemoryBlock]:
        """Every block, oldest first."""
        return self.pages.blocks

    @property
    def title(self) -> str:
        """The heading of memory."""
        return title_text(self.viewpoint)

    def count(self, work: str) -> str:
        """Return how many blocks there are, and the running work."""
        return count_text(self.blocks, work)

    @property
    def found(self) -> str:
        """The number of the current match, and of how many; empty while nothing is searched."""
        text = found_text(len(self.view.matches), self.view.current, self.pages.are_all_shown)
        return text if self._field.value.strip() else ""

    def copy(self) -> CopyRequested:
        """Return the request to copy all of memory in the form that shows."""
        what = "Memory" if self.form is MemoryForm.READABLE else "Memory as JSON"
        return CopyRequested(all_text(self.blocks, self.form, self._marks), what)

    # What shows

    def forget(self) -> None:
        """Drop every block, before another session is shown."""
        self.pages, self.is_known = MemoryPages(), False
        self.show()

    def show_memory(self, blocks: Sequence[MemoryBlock], names: Names, viewpoint: str = "") -> None:
        """Show these blocks, the newest from its beginning; a block that was in view stays in view.

        `viewpoint` is the character that knows them; without one they are shown as the GM knows them.
        """
        self.viewpoint = viewpoint
        top = self._top_block() if self.is_known else None
        self.pages, self._names, self.is_known = MemoryPages(blocks), names, True
        place = None if top is None else top.place
        number = next((n for n, block in enumerate(blocks) if block.place == place), None)
        if number is not None:
            self.pages.show(number)
        self.show(-1 if number is None else number - self.pages.start)

    def show_marks(self, pinned: tuple[str, ...], struck: tuple[str, ...]) -> None:
        """Show which canon locks the GM has pinned and struck."""
        if (pinned, struck) != (self._pinned, self._struck):
            self._pinned, self._struck = pinned, struck
            top = self.view.position.pinned
            self.show(None if top is None else self._shown.number_at(top))

    def append(self, *blocks: MemoryBlock) -> None:
        """Add new blocks; scroll to them only if the newest block was in view."""
        newest = self._shown.begins[-1] if self._shown.begins else 0
        position = self.view.position
        is_at_newest = position.is_following or self.view.top_passage >= newest or position.pinned == newest
        for block in blocks:
            self.pages.append(block)
        if is_at_newest:
            self.go_to_newest()
        else:
            self.show()

    def show_form(self, form: MemoryForm) -> None:
        """Show the same block in a form."""
        block = self._shown.number_at(self.view.top_passage)
        self.form = form
        self.show(block)

    def turn(self, step: int) -> None:
        """Show earlier (-1) or later (1) blocks of a long memory."""
        self.pages.turn(step)
        self.show(-1 if step < 0 else 0)

    def go_to_newest(self) -> None:
        """Show the newest block from its beginning."""
        self.pages.show(len(self.blocks) - 1)
        self.show(-1)

    def go_to(self, number: int, find: Callable[[Sequence[Paragraph]], SourceRange | None]) -> None:
        """Show a block, counted within all, and select the place in its paragraphs that `find` returns."""
        self.pages.show(number)
        self.show()
        shown = self._shown.paragraphs_of(number - self.pages.start)
        first = shown.start
        place = find(self.view.lines.paragraphs[first : shown.stop])
        if place is None:
            self.view.pin(first)
        else:
            self.view.mark_at(*(SourcePos(first + one.paragraph, one.offset) for one in place))

    def show(self, top: int | None = None) -> None:
        """Show the chosen page, with its block `top` at the top; without one, keep the scroll position."""
        marks = marks_of(self._pinned, self._struck, self.blocks, stale_blocks(self.blocks), self._names)
        self._marks = NO_MARKS if self.viewpoint else marks
        self._shown = ShownBlocks.of(self.pages.shown, self.form, self._marks)
        self.view.show_passages(self._shown.paragraphs, self._names)
        self.empty.update(Content(EMPTY_TEXT.format(self._chunk_size) if self.is_known else LOADING_TEXT))
        self._changed()
        if top is not None and self._shown.begins:
            self.view.pin(self._shown.begins[top])

    # Searching

    def search(self) -> None:
        """Mark every match of the words, and go to the first."""
        self.view.search(self._field.value)
        first = self.view.next_match(1)
        if first is not None:
            self.view.go_to_match(first)
        self._changed()

    def next_match(self, step: int) -> None:
        """Go to the next match (1) or the previous one (-1), and wrap around at the ends."""
        number = self.view.next_match(step)
        if number is not None:
            self.view.go_to_match(number)
            self._changed()
        else:
            self.view.run_worker(self._search_on(step), group="search", exclusive=True, exit_on_error=False)

    async def _search_on(self, step: int) -> None:
        """Search the blocks of other pages, wrap around at the ends, and search this page last."""
        pattern, pages = pattern_of(self._field.value), self.pages
        if pattern is None or not pages.blocks:
            return
        marks = self._marks
        number = await pages.find(
            lambda block: any(pattern.search(one.text) for one in passages_of(block, self.form, marks)), step
        )
        # Other words may be searched by now, or other blocks show.
        if number is None or pages is not self.pages or pattern != pattern_of(self._field.value):
            return
        pages.show(number)
        self.show()
        within = self._shown.paragraphs_of(number - pages.start)
        found = [n for n, match in enumerate(self.view.matches) if match.paragraph in within]
        if found:  # None, where the form was changed meanwhile.
            self.view.go_to_match(found[0 if step > 0 else -1])
            self._changed()

    # Choosing a block or a canon lock

    def _top_block(self) -> MemoryBlock | None:
        """Return the block at the top of the view."""
        pinned = self.view.position.pinned
        return self._shown.block_at(self.view.top_passage if pinned is None else pinned)

    @property
    def chosen(self) -> MemoryBlock | None:
        """The block with the cursor or the selection; without one, the first block of prompts in view."""
        place = self.view.selection.place
        if place is not None:
            return self._shown.block_at(place.paragraph)
        top = self._top_block()
        return None if top is None else first_delta(self._shown.blocks, top)

    @property
    def stale(self) -> list[MemoryBlock]:
        """The blocks that were made from older memory, in their order."""
        return [block for block in self.blocks if block.id in self._marks.stale]

    @property
    def marked_lock(self) -> str | None:
        """The canon lock with the cursor or the end of the selection."""
        place = self.view.selection.place
        return None if place is None else self._shown.lock_at(place)

    def mark_first_lock(self) -> bool:
        """Put the cursor on the first canon lock from the top of the view on; return whether there is one."""
        place = self._shown.lock_from(self.view.top_passage)
        if place is None:
            return False
        self.view.mark_at(place)
        return True

    def can(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action of the cell is possible here, as `check_action` does."""
        match action:
            case "next_match":
                return bool(self._field.value.strip())
            case "turn":
                return self.pages.has_earlier if parameters[0] == -1 else self.pages.has_later
            case "revise":
                # Without a cursor a letter is the beginning of a text, which goes to the definition.
                has_cursor = self.view.selection.place is not None
                return has_cursor and (parameters[0] != "rebuild_later" or bool(self._marks.stale))
            case "filter" | "widen" | "find_alike":
                return False
            case _:
                return bool(self.blocks)
