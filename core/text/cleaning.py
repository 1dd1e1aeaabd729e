"""Removes what could act on a terminal or a database from the text of models, files and pastes (design 8)."""

import re

# Patterns for rare characters are compiled by their first use: the first paint waits for this module.

# Matches complete escape sequences, so that their printable ends do not remain: CSI, then the string kinds
# (OSC, DCS, SOS, PM, APC) up to their terminator or the end of the line, then the two-character ones. What
# begins a string in one character does so only with its terminator: “ is “â€œ” and ” “â€\x9d” where UTF-8 was
# read as another encoding, and the rest of the line is text.
_SEQUENCES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|[\x90\x98\x9d-\x9f][^\x07\x1b\x90\x98\x9c-\x9f\n]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"
_LINE_ENDS = r"\r\n?|[\x85\u2028\u2029]"
# Bidirectional overrides and isolates can make a line look different from the stored text.
_BIDI_CONTROLS = r"[\u202a-\u202e\u2066-\u2069]"

_ZERO_WIDTH = frozenset("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad")

# Most text contains none of these and is returned unchanged after one search.
_SUSPECT = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def clean(text: str) -> str:
    """Return `text` without control characters and escape sequences.

    Keeps tabs, newlines and all printable scripts, and turns line ends into newlines. Removes lone surrogates
    and NUL too, which PostgreSQL's JSONB refuses. Idempotent.
    """
    if _SUSPECT.search(text) is None:
        return text
    text = re.sub(_LINE_ENDS, "\n", text)
    text = re.sub(_SEQUENCES, "", text)
    text = re.sub(_CONTROLS, "", text)
    return re.sub(_BIDI_CONTROLS, "", text)


def clean_line(text: str) -> str:
    """Return `text` cleaned and on one line, with runs of white space as one space."""
    return " ".join(clean(text).split())


def has_controls(text: str) -> bool:
    """Whether a text of one line contains anything that `clean` removes, a tab or a newline."""
    return _SUSPECT.search(text) is not None or "\n" in text or "\t" in text


def is_blank(text: str) -> bool:
    """Whether `text` is invisible: white space and zero-width characters only."""
    return all(character.isspace() or character in _ZERO_WIDTH for character in text)


_UNFINISHED = (
    r"(?:\x1b(?:\[[0-?]*[ -/]*|[ -/]*)?"
    r"|\x9b[0-?]*[ -/]*"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*\x1b?"
    r"|\r)\Z"
)
_LONGEST_HOLD = 4_096


class StreamCleaner:
    """Cleans a stream of text; holds a possible start of an escape sequence back until its end arrives."""

    def __init__(self) -> None:
        self._held = ""
        self._unfinished = re.compile(_UNFINISHED)

    def feed(self, piece: str) -> str:
        """Return the next text that no later piece can change."""
        text = self._held + piece
        unfinished = self._unfinished.search(text, max(0, len(text) - _LONGEST_HOLD))
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return clean(text[:cut])

    def flush(self) -> str:
        """Return the rest at the end of the stream."""
        rest, self._held = clean(self._held), ""
        return rest
