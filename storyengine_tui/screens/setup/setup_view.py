"""What tab 1 says about a session: pure, from its snapshot to words (design 10)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.domain.request import LockRequest, Request
from core.domain.session import Session, SessionState, Tab1Inputs
from core.domain.state_machine import Command
from core.store import Snapshot

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle

HELP = (
    "World and chapter are locked when you first go to 2 Play. The entries at the bottom switch between the "
    "characters; the number of agents shows or hides panels and forgets nothing."
)
INTRO = "Write world, chapter and cast; then go on to 2 Play (F3)."
READ_ONLY_TEXT = "Read-only in this window: you can read and copy."
LOCKED = "Locked: you can read and copy. Reset Chapter, below, starts a new one."
RESET_WARNING = (
    "Warning, resetting the chapter will delete all cells from the Story Engine, please make sure you "
    "have saved any and all character and setting information before you reset."
)
"""The words of the specification."""
RESET_KEEPS = (
    "Only the cells of this window are emptied. The chapter itself is kept: it moves to the archive "
    "(F5, then v), where you can restore it or delete it for good."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupView:
    """Everything that tab 1 shows of a session."""

    session: Session
    stored: Tab1Inputs
    failed: Request | None
    """The lock that was tried and failed."""
    is_writer: bool
    """Whether this window may write."""
    is_editable: bool
    can_reset: bool

    @property
    def is_locked(self) -> bool:
        """Whether nothing here can be changed any more."""
        return self.session.state not in (SessionState.DRAFT_TAB1, SessionState.LOCKING)

    @property
    def intro(self) -> str:
        """The line above the cells."""
        if not self.is_writer:
            return READ_ONLY_TEXT
        return LOCKED if self.is_locked else INTRO


def setup_view(handle: "SessionHandle") -> SetupView:
    """Return what tab 1 shows of an open session."""
    snapshot = handle.snapshot
    return SetupView(
        session=snapshot.session,
        stored=snapshot.tab1,
        failed=failed_lock(snapshot),
        is_writer=not handle.is_read_only,
        is_editable=handle.can(Command.EDIT_TAB1),
        can_reset=handle.can(Command.RESET),
    )


def failed_lock(snapshot: Snapshot) -> Request | None:
    """Return the lock that was tried and failed, while the chapter is still being set up."""
    if snapshot.session.state is not SessionState.DRAFT_TAB1:
        return None
    return next(iter(snapshot.failed(LockRequest)), None)
