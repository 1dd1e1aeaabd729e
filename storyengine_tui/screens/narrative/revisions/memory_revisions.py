"""The GM's commands for memory that exists: rebuild, edit, compare, pin and strike (design 12)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final

from core.domain.errors import ErrorCode
from core.domain.requests.request import RequestState
from core.domain.session.limits import LONGEST_CORRECTIONS
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.changes.canon import stale_blocks
from core.engine.services.takes.memory_commands import LockMark
from core.text.numbers import counted
from storyengine_tui.screens.narrative.memory.block_reader import BlockReader
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.reading.memory_outline import MemoryForm, MemoryMarks, title_of

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class RevisionAct(StrEnum):
    """Command on a revision; the value is its name for keys and palette."""

    REBUILD = "rebuild"
    REBUILD_LATER = "rebuild_later"
    EDIT = "edit"
    COMPARE = "compare"
    PIN = "pin"
    STRIKE = "strike"


COMMANDS: Final = {
    RevisionAct.REBUILD: Command.REBUILD_BLOCK,
    RevisionAct.REBUILD_LATER: Command.REBUILD_BLOCK,
    RevisionAct.EDIT: Command.EDIT_BLOCK,
    RevisionAct.PIN: Command.CORRECT_CANON,
    RevisionAct.STRIKE: Command.CORRECT_CANON,
}
"""The commands that the state machine knows them by; to compare is always possible."""
READ_ONLY = "Read-only: another window is writing in this chapter."
NO_BLOCK = "No prompts are in memory yet; the first block comes with the first summary."
NOT_A_BLOCK = (
    "Only a block of prompts can be rebuilt or edited: put the cursor on one (v, then the arrow keys). "
    "+ corrects anything else."
)
NOT_ALL = "This is what one character knows; Esc shows all of memory, which can be changed."
NOT_STALE = "No block was made from older memory; there is nothing to rebuild."
NO_LOCKS = "No canon is in memory yet; there is nothing to pin or strike."
NO_ROOM = (
    f"The corrections of this chapter have {LONGEST_CORRECTIONS:,} characters together, and no more fit: "
    "each of them is sent with every call."
)
NOT_READABLE = "A line of canon is chosen in the readable form: 1 shows it."
CHOOSE_LOCK = "The cursor is on a line of canon: the arrow keys choose another, p pins it, x strikes it."


class MemoryRevisions:
    """The part of tab 3 that changes memory; what is refused is said in a sentence."""

    def __init__(self, page: SessionTab) -> None:
        self._page = page
        self._one_by_one = asyncio.Lock()

    @property
    def _reader(self) -> BlockReader:
        return self._page.query_one(MemoryCell).memory

    def is_offered(self, act: RevisionAct) -> bool:
        """Whether the palette offers it now."""
        session = self._page.session.snapshot.session
        if self._why_not(act) or not session.tab1_locked:
            return False
        match act:
            case RevisionAct.REBUILD | RevisionAct.EDIT:
                return session.boundary > 0
            case RevisionAct.REBUILD_LATER:
                return bool(self._reader.stale)
            case RevisionAct.COMPARE:
                return session.canon_version > 0
            case _:
                return True

    def _why_not(self, act: RevisionAct) -> str:
        """Return why it is refused now, whatever is chosen; empty when it is not."""
        return NOT_ALL if self._reader.viewpoint else self._why_refused(act)

    @property
    def refused_acts(self) -> frozenset[str]:
        """The commands that the chapter refuses now, on whichever block or line."""
        return frozenset(act for act in RevisionAct if self._why_refused(act))

    def _why_refused(self, act: RevisionAct) -> str:
        command = COMMANDS.get(act)
        if command is None:
            return ""
        return READ_ONLY if self._page.session.is_read_only else self._page.session.why_not(command)

    def perform(self, act: RevisionAct) -> None:
        """Run the command on the selected block or line, or say why not."""
        if not self._page.has_session:
            return
        if why := self._why_not(act) or self._begin(act):
            self._page.notify(why, severity="warning", markup=False)

    def correct(self, room: int, roster: Sequence[tuple[Slot, str]]) -> None:
        """Ask for a correction of canon, which the dialog stores; `room` is how long it may be."""
        from storyengine_tui.screens.narrative.revisions.revision_modals import CorrectionModal

        session = self._page.session
        if not session.can(Command.CORRECT_CANON):
            return
        if room > 0:
            kept = self._page.kept_text("correction")
            dialog = CorrectionModal(session.edits.correct_canon, room, kept, roster)
            self._page.ask(dialog, self._show_correction)
        else:
            self._page.notify(NO_ROOM, severity="warning", markup=False)

    def _show_correction(self, is_stored: bool | None) -> None:
        if is_stored:
            self._reader.go_to_newest()

    def _begin(self, act: RevisionAct) -> str:
        """Begin with it; return why there is nothing to do it to."""
        session = self._page.session
        if act in (RevisionAct.PIN, RevisionAct.STRIKE):
            return self._mark_lock(LockMark.PINNED if act is RevisionAct.PIN else LockMark.STRUCK)
        if act is RevisionAct.REBUILD_LATER:
            return self._ask_about_stale(session)
        block = self._reader.chosen
        if block is None:
            return NO_BLOCK
        if act is RevisionAct.COMPARE:
            self._page.do(self._compare(session, block))
            return ""
        if block.type is not BlockType.TURN_DELTA:
            return NOT_A_BLOCK
        if act is RevisionAct.REBUILD:
            self._ask_for_model(_named(block), partial(self._rebuild_one, session, block.last))
        else:
            self._edit(session, block)
        return ""

    # Rebuilding

    def _ask_for_model(self, what: str, rebuild: Callable[[str], Awaitable[object]]) -> None:
        from storyengine_tui.screens.narrative.revisions.revision_modals import RebuildModal

        self._page.ask_for(RebuildModal(what), lambda model: rebuild(model.strip()), group="rebuild")

    def _ask_about_stale(self, session: "SessionHandle") -> str:
        stale = self._reader.stale
        if not stale:
            return NOT_STALE
        what = f"{counted(len(stale), 'block')} made from older memory, in order"
        self._ask_for_model(what, partial(self._rebuild_stale, session))
        return ""

    async def _rebuild_one(self, session: "SessionHandle", last: int, model: str) -> bool:
        """Ask for another revision of a block; return whether that succeeded. If it fails, say why."""
        request = await session.wait(await session.takes.rebuild_block(last, model=model))
        if request.has_failed and self._page.shows(session):
            reason = request.error_message or (request.error_code or ErrorCode.LLM_ERROR).sentence
            text = f"Not rebuilt; the revision before counts as it did. {reason}"
            self._page.notify(text, severity="warning", markup=False)
        return request.state is RequestState.DONE

    async def _rebuild_stale(self, session: "SessionHandle", model: str) -> None:
        """Rebuild every block that was made from older memory, each after the one before it."""
        rebuilt = 0
        while self._page.shows(session):
            await session.wait_idle()  # A summary that is due comes first.
            blocks = await session.reads.memory_blocks()
            stale = stale_blocks(blocks)
            last = next((block.last for block in blocks if block.id in stale), 0)
            if last <= rebuilt or not await self._rebuild_one(session, last, model):
                return
            rebuilt = last

    # Editing and comparing

    def _edit(self, session: "SessionHandle", block: MemoryBlock) -> None:
        from storyengine_tui.screens.narrative.revisions.revision_modals import BlockModal

        edit = partial(session.takes.edit_block, block.last, ordinal=block.ordinal, read=block.id)
        kept = self._page.kept_text(f"block.{block.last}.{block.ordinal}")
        self._page.ask(BlockModal(block, edit, kept))

    async def _compare(self, session: "SessionHandle", block: MemoryBlock) -> None:
        from storyengine_tui.screens.narrative.comparing.compared_revisions import (
            revisions_of,
            revisions_to_compare,
        )
        from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparisonScreen

        revisions = revisions_of(block, await session.takes.revisions())
        if not self._page.shows(session):
            return
        if len(revisions) > 1:
            self._page.ask(ComparisonScreen(revisions_to_compare(revisions, block)))
        else:
            text = f"There is one revision of {_named(block)} so far; nothing to compare."
            self._page.notify(text, severity="warning", markup=False)

    # Canon locks

    def _mark_lock(self, mark: LockMark) -> str:
        reader = self._reader
        lock = reader.marked_lock
        if lock is not None:
            self._page.do(self._toggle(self._page.session, lock, mark))
            return ""
        if reader.form is MemoryForm.JSON:
            return NOT_READABLE
        self._page.page_focus.move_to(reader.view, scroll_visible=True)
        return CHOOSE_LOCK if reader.mark_first_lock() else NO_LOCKS

    async def _toggle(self, session: "SessionHandle", lock: str, mark: LockMark) -> None:
        """Pin or strike a lock; release it if that is what it is."""
        async with self._one_by_one:
            stored = session.snapshot.session
            is_marked = MemoryMarks(stored.pinned, stored.struck).word_for(lock) == mark.value
            await session.takes.mark_lock(lock, LockMark.PLAIN if is_marked else mark)


def _named(block: MemoryBlock) -> str:
    title = title_of(block)
    return title[:1].lower() + title[1:]
