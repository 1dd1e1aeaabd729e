"""Labels of session states, reasons of failures and shortened titles, for the screen and the command line."""

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from core.domain.errors import ErrorCode
from core.domain.session.session_state import SessionState

if TYPE_CHECKING:
    from core.domain.requests.request import Request

STATE_LABELS = {
    SessionState.DRAFT_TAB1: "being set up",
    SessionState.LOCKING: "being locked",
    SessionState.ACTIVE: "being played",
    SessionState.SUMMARIZING: "being summarised",
    SessionState.ENDED: "ended",
    SessionState.NARRATING: "being written",
    SessionState.RESETTING: "being reset",
}


def reason_of(request: "Request") -> str:
    """Return why a request failed; at a ceiling also what Retry does."""
    reason = request.error_message or (request.error_code or ErrorCode.LLM_ERROR).sentence
    is_refused = request.error_code is ErrorCode.CEILING_REACHED
    return f"{reason} Retry asks whether to go on." if is_refused else reason


def shortened_title(title: str, width: int) -> str:
    """Return a title in at most `width` cells, with the end of a suffix in brackets.

    Restored chapters and branches differ by it. It takes at most three fifths of the width, so that the
    beginning of the title can be read as well.
    """
    if cell_len(title) <= width:
        return title
    found = re.search(r" \([^()]*\)$", title)
    suffix = found[0] if found else ""
    beginning = title.removesuffix(suffix)
    most = width * 3 // 5
    if cell_len(suffix) > most:
        words = suffix.split()
        while len(words) > 1 and cell_len(" ".join(words)) > most - 3:
            del words[0]
        suffix = " ".join(words)
        while cell_len(suffix) > most - 3:
            suffix = suffix[1:]
        suffix = f" (…{suffix}"
    room = width - cell_len(suffix)
    if cell_len(beginning) > room:
        beginning = set_cell_size(beginning, room - 1).rstrip() + "…"
    return beginning + suffix
