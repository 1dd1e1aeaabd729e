"""Labels of session states and shortened titles, for the screen and the command line."""

import re

from rich.cells import cell_len, set_cell_size

from core.domain.session.session_state import SessionState

STATE_LABELS = {
    SessionState.DRAFT_TAB1: "being set up",
    SessionState.LOCKING: "being locked",
    SessionState.ACTIVE: "being played",
    SessionState.SUMMARIZING: "being summarised",
    SessionState.ENDED: "ended",
    SessionState.NARRATING: "being written",
    SessionState.RESETTING: "being reset",
}


def shortened_title(title: str, width: int) -> str:
    """Return a title in at most `width` cells; keep a suffix in brackets: restored chapters differ by it."""
    if cell_len(title) <= width:
        return title
    found = re.search(r" \([^()]*\)$", title)
    suffix = found[0] if found else ""
    while cell_len(suffix) > width - 4:
        suffix = suffix[1:]
    return set_cell_size(title, width - 1 - cell_len(suffix)).rstrip() + "…" + suffix
