"""The states of a session, apart from its record: the first paint needs no more than these."""

from enum import StrEnum


class SessionState(StrEnum):
    """The state of a session; `core.domain.session.state_machine` has the commands of each (design 5)."""

    DRAFT_TAB1 = "DRAFT_TAB1"
    LOCKING = "LOCKING"
    ACTIVE = "ACTIVE"
    SUMMARIZING = "SUMMARIZING"
    ENDED = "ENDED"
    NARRATING = "NARRATING"
    RESETTING = "RESETTING"

    @property
    def is_unlocked(self) -> bool:
        """Whether tab 1 is still open, or is being locked."""
        return self in (SessionState.DRAFT_TAB1, SessionState.LOCKING)

    @property
    def is_played(self) -> bool:
        """Whether prompts can be sent."""
        return self in (SessionState.ACTIVE, SessionState.SUMMARIZING)

    @property
    def has_ended(self) -> bool:
        """Whether the chapter has ended; a narrative may be made of it."""
        return self in (SessionState.ENDED, SessionState.NARRATING)
