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
