"""What a session's state is called where the GM reads it."""

from core.session import SessionState

STANDING = {
    SessionState.DRAFT_TAB1: "being set up",
    SessionState.LOCKING: "being locked",
    SessionState.ACTIVE: "being played",
    SessionState.SUMMARIZING: "being summarised",
    SessionState.ENDED: "ended",
    SessionState.NARRATING: "being written",
    SessionState.RESETTING: "being reset",
}
