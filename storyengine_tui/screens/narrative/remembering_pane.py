"""Shows the memory of a session from when it is first looked at, and lets the GM correct it (design 10)."""

from typing import TYPE_CHECKING

from textual import on

from core.domain.errors import StoryEngineError
from core.domain.limits import LONGEST_CORRECTIONS, Limits
from core.domain.memory import MemoryBlock, corrections_length
from core.domain.state_machine import Command
from storyengine_tui.screens.narrative.correction_modal import CorrectionModal
from storyengine_tui.screens.narrative.defining_pane import DefiningPane
from storyengine_tui.screens.narrative.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.memory_pages import PAGE
from storyengine_tui.screens.shared.kept_text import KeptText

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle

_LIMITS = Limits()
NO_ROOM = (
    f"The corrections of this chapter have {LONGEST_CORRECTIONS:,} characters together, and no more fit: "
    "each of them is sent with every call."
)


class RememberingPane(DefiningPane):
    """A page with a `MemoryCell`."""

    def __init__(self) -> None:
        super().__init__()
        self._is_memory_read = False
        self._unseen: list[MemoryBlock] = []
        """Memory that came while the page was not looked at."""

    @property
    def memory(self) -> MemoryCell:
        """Where it is shown."""
        return self.query_one(MemoryCell)

    @property
    def is_looked_at(self) -> bool:
        """Whether the page is the one in sight."""
        return self.display and self.region.height > 0 and not self.is_behind

    def go_on(self) -> None:
        """Focus the field where the GM continues."""

    # Reading it

    def forget_memory(self) -> None:
        """Know of no memory, as before another session is shown."""
        self._is_memory_read = False
        self._unseen.clear()
        self.memory.forget()

    async def prepare(self) -> None:
        """Read a memory that is shown as a whole; a longer one only when it is looked at."""
        if self._is_memory_read or not self.has_session:
            return
        if self.session.snapshot.session.prompt_index <= PAGE * _LIMITS.chunk_size:
            self._is_memory_read = True
            await self._load_memory(self.session)

    def read_memory(self) -> None:
        """Read the memory when it is first wanted, and show what came since."""
        if not self._is_memory_read and self.has_session:
            self._is_memory_read = True
            work = self._load_memory(self.session)
            self.run_worker(work, group="memory", exclusive=True, exit_on_error=False)
        self._show_unseen()

    async def _load_memory(self, session: "SessionHandle") -> None:
        try:
            blocks = await session.memory_blocks()
        except StoryEngineError as error:
            self._is_memory_read = False
            self.post_message(self.CommandFailed(error))
            return
        if self.shows(session):
            self.memory.show_memory(blocks, session.snapshot.session.roster)
            if self.is_looked_at:
                self.go_on()

    def take_in(self, block: MemoryBlock) -> None:
        """Show a new block; not while the tab is hidden, which would only delay keys."""
        if self._is_memory_read:
            self._unseen.append(block)
            if self.is_looked_at:
                self._show_unseen()

    def _show_unseen(self) -> None:
        if self._unseen:
            self.memory.append(*self._unseen)
            self._unseen.clear()

    # Correcting it

    def show_correcting(self) -> None:
        """Offer the key where canon can be corrected."""
        self.memory.offer_correction(self.session.can(Command.CORRECT_CANON))

    @on(MemoryCell.CorrectionRequested)
    def action_correct(self) -> None:
        """Ask for a correction of canon, and store it."""
        session = self.session
        if not session.can(Command.CORRECT_CANON):
            return
        room = LONGEST_CORRECTIONS - corrections_length((*self.memory.blocks, *self._unseen))
        if room > 0:
            kept = KeptText.correction_of(session.id, self.folder) if self.folder is not None else None
            self.ask(CorrectionModal(session.correct_canon, room, kept), self._show_correction)
        else:
            self.notify(NO_ROOM, severity="warning", markup=False)

    def _show_correction(self, is_stored: bool | None) -> None:
        if is_stored:
            self.memory.go_to_newest()
