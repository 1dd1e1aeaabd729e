"""Text from models, files and pastes is data: what could act on a terminal or a database goes (design 8)."""

import re

# An escape sequence goes as a whole, so that its printable tail does not stay behind as litter:
# CSI, then the string kinds (OSC, DCS, SOS, PM, APC) up to their terminator or, when there is none,
# the end of the line, then the short two-character ones.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
# Bidirectional overrides and isolates can make a line read as something else than what is stored.
_BIDI_CONTROLS = re.compile(r"[\u202a-\u202e\u2066-\u2069]")

_ZERO_WIDTH = frozenset("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad")

# Most text holds none of these, and is returned as it is after one look.
_SUSPECT = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def clean(text: str) -> str:
    """Return `text` without control characters and escape sequences.

    Tabs, newlines and every printable script stay; line ends become newlines. Lone surrogates and
    NUL, which PostgreSQL's JSONB refuses, go as well. Cleaning twice changes nothing more.
    """
    if _SUSPECT.search(text) is None:
        return text
    text = _LINE_ENDS.sub("\n", text)
    text = _SEQUENCES.sub("", text)
    text = _CONTROLS.sub("", text)
    return _BIDI_CONTROLS.sub("", text)


def clean_line(text: str) -> str:
    """Return `text` cleaned and on one line, with runs of white space as one space."""
    return " ".join(clean(text).split())


def has_controls(text: str) -> bool:
    """Whether `text`, which is to be one line, holds anything that `clean` would take or another line."""
    return _SUSPECT.search(text) is not None or "\n" in text or "\t" in text


def is_blank(text: str) -> bool:
    """Whether nothing would be seen of `text`: white space and zero-width characters only, in any order."""
    return all(character.isspace() or character in _ZERO_WIDTH for character in text)


def word_count(text: str) -> int:
    """Return the number of words, that is, of runs without white space."""
    return len(text.split())


_UNFINISHED = re.compile(
    r"(?:\x1b(?:\[[0-?]*[ -/]*|[ -/]*)?"
    r"|\x9b[0-?]*[ -/]*"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*\x1b?"
    r"|\r)\Z"
)
_LONGEST_HOLD = 4_096


class StreamCleaner:
    """Cleans a text that arrives in pieces: what may be the start of a sequence waits for its end."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what of the text so far is certain and not yet returned."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _LONGEST_HOLD))
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return clean(text[:cut])

    def flush(self) -> str:
        """Return the rest; the text is over."""
        rest, self._held = clean(self._held), ""
        return rest


_SENTENCE_END = re.compile(r"[.!?…。！？](?:[\"'”’»)\]]*)(?=\s|\Z)")


def to_last_sentence(text: str) -> str:
    """Return `text` up to the end of its last whole sentence, or all of it when there is none."""
    ends = list(_SENTENCE_END.finditer(text))
    return text[: ends[-1].end()] if ends else text


def cut_in_words(place: str, whole: str, kept: str) -> tuple[str, ...]:
    """Return for the GM what was cut off the end of a model's output; nothing when it was white space."""
    cut = whole[len(kept) :].strip()
    return (f"The end of the output {place} ({len(cut):,} characters)",) if cut else ()
