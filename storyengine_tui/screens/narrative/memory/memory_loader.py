"""Reads the memory of a session when its tab is first visible, and adds new blocks (design 10)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from core.context.visibility import Story, known_to
from core.domain.errors import StoryEngineError
from core.domain.session.limits import LONGEST_CORRECTIONS
from core.domain.slot import Slot, slot_after
from core.domain.story.memory import MemoryBlock, corrections_length
from storyengine_tui.screens.narrative.memory.block_reader import BlockReader
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.memory.memory_pages import PAGE
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class MemoryLoader:
    """Fills the `MemoryCell` of a page; calls `on_loaded` after reading, if the page is visible then."""

    def __init__(self, page: SessionTab, on_loaded: Callable[[], None]) -> None:
        self._page = page
        self._on_loaded = on_loaded
        self._is_read = False
        """Whether it was read, or is being read."""
        self._has_come = False
        self._readings = 0
        """Number of readings that were begun: what an earlier one gives is not shown."""
        self._blocks: list[MemoryBlock] = []
        """Every block that was read, known to everyone or not."""
        self._unseen: list[MemoryBlock] = []
        """Blocks that arrived while the page was hidden."""
        self._then: Callable[[], None] | None = None
        """Called once memory is read."""
        self.viewpoint: Slot | None = None
        """The character as which memory is shown; None for the GM, who knows all of it."""

    @property
    def _reader(self) -> BlockReader:
        return self._page.query_one(MemoryCell).memory

    @property
    def room(self) -> int:
        """Maximum characters of the next correction of canon."""
        return LONGEST_CORRECTIONS - corrections_length((*self._blocks, *self._unseen))

    def forget(self) -> None:
        """Drop every block, before another session is shown."""
        self._is_read = self._has_come = False
        self.viewpoint = self._then = None
        self._blocks.clear()
        self._unseen.clear()
        self._reader.forget()

    def reread(self) -> None:
        """Read every block again, at once if the page is visible; the shown blocks stay until then."""
        self._is_read = self._has_come = False
        self._unseen.clear()
        if self._page.is_in_view:
            self.read()

    async def prepare(self) -> None:
        """Read a memory that fits one page; a longer one is read only when the tab is visible."""
        if self._is_read or not self._page.has_session:
            return
        session = self._page.session.snapshot.session
        if session.prompt_index <= PAGE * session.limits.chunk_size:
            self._is_read = True
            await self._load(self._page.session)

    def read(self) -> None:
        """Read the memory, if it was not read before, and show the blocks that arrived since."""
        if not self._is_read and self._page.has_session:
            self._is_read = True
            work = self._load(self._page.session)
            run_in_background(self._page, work, group="memory", exclusive=True)
        self._show_unseen()

    def when_read(self, then: Callable[[], None]) -> None:
        """Do something once memory is read: at once if it is."""
        if self._has_come:
            self._show_unseen()
            then()
        else:
            self._then = then
            self.read()

    async def _load(self, session: "SessionHandle") -> None:
        self._readings += 1
        reading = self._readings
        try:
            blocks = await session.reads.memory_blocks()
        except StoryEngineError as error:
            if reading == self._readings:
                self._is_read = False
            self._page.post_message(SessionTab.CommandFailed(error))
            return
        if self._page.shows(session) and reading == self._readings:
            self._blocks, self._has_come = list(blocks), True
            self._show()
            if self._page.is_in_view:
                self._show_unseen()
            then, self._then = self._then, None
            if then is not None:
                then()
            elif self._page.is_in_view:
                self._on_loaded()

    def append(self, block: MemoryBlock) -> None:
        """Add a new block; while the tab is hidden it is not shown, for that would only delay keys."""
        if self._is_read:
            self._unseen.append(block)
            if self._page.is_in_view:
                self._show_unseen()

    def _show_unseen(self) -> None:
        if not (self._unseen and self._has_come):
            return
        new, self._unseen = self._unseen, []
        known = {block.id for block in self._blocks}
        self._blocks += [block for block in new if block.id not in known]
        if self.viewpoint is None:
            self._reader.append(*new)
        else:
            self._show()

    # As one character sees it

    @property
    def has_blocks(self) -> bool:
        """Whether there is memory."""
        return bool(self._blocks)

    @property
    def has_private(self) -> bool:
        """Whether there is a block that not everyone knows."""
        return any(not block.audience.is_everyone for block in self._blocks)

    def view_as(self, viewpoint: Slot | None) -> None:
        """Show what a character knows of memory; None shows all of it."""
        self.viewpoint = viewpoint
        self._show()

    def view_as_next(self) -> None:
        """Show memory as the next character sees it; all of it follows the last one."""
        slots = sorted(self._page.session.snapshot.session.slots)
        if self.viewpoint is None:
            self.view_as(slots[0])
        else:
            following = slot_after(self.viewpoint, tuple(slots))
            self.view_as(None if following is slots[0] else following)

    def _show(self) -> None:
        """Show the blocks that were read, or what the viewpoint knows of them: the gate says what."""
        snapshot = self._page.session.snapshot
        session, viewpoint = snapshot.session, self.viewpoint
        if viewpoint is None:
            self._reader.show_memory(self._blocks, session.roster)
        else:
            known = known_to(snapshot.cast[viewpoint], Story(session, self._blocks, ()))
            name = f"{viewpoint.value} {session.name_of(viewpoint)}"
            self._reader.show_memory(known.blocks, session.roster, name)
