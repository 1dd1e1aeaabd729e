"""Replies without words: the marks by which a model says so, and what becomes of them.

`[action]` begins what a character does, `[silent]` says that it does nothing that others notice, `[why]`
begins the reason, which only the GM reads. A reply may have them anywhere: no part of a reason may be taken
for a part of the story. `[why: …]` counts as well, as small models write it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from core.domain.story.event import LONGEST_REASON, MANNER, REASON, Manner
from core.text.cleaning import clean_line, is_blank

SAYS_NOTHING: Final = "says nothing."
"""The text of a silent reply; the name of the character comes before it."""

_WORDS: Final = ("action", "silent", "silence", "why")
_MARK: Final = re.compile(
    rf"(?<![*_`])[*_`]*\[[ \t]*({'|'.join(_WORDS)})[ \t]*(?:\][*_`]*:?|:)", re.IGNORECASE
)
_BEGUN: Final = re.compile(r"(?<![*_`])[*_`]*(?:\[[ \t]*([a-z]*)[ \t]*)?\Z", re.IGNORECASE)
_AROUND: Final = " *_`"


@dataclass(frozen=True, slots=True)
class Spoken:
    """A reply as it is stored: the text of the story, what it is if it has no words, and the reason."""

    text: str
    manner: Manner | None = None
    reason: str = ""

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the event; empty for plain words."""
        manner = {} if self.manner is None else {MANNER: self.manner.value}
        return {**manner, REASON: self.reason} if self.reason else manner


def read_spoken(reply: str) -> Spoken:
    """Return what a cleaned reply of a character says that may be silent; a blank one is silence."""
    words, *marked = _MARK.split(reply)
    told = [] if is_blank(words) else [words.strip()]
    reasons: list[str] = []
    for mark, rest in zip(marked[::2], marked[1::2], strict=True):
        line = clean_line(rest).strip(_AROUND)
        if line.count("]") > line.count("["):  # of `[why: …]`
            line = line.removesuffix("]").rstrip(_AROUND)
        if is_blank(line):
            continue
        if mark.lower() == "action":
            told.append(f"*{line.replace('*', '')}*")
        else:
            reasons.append(line)
    reason = " ".join(reasons)
    if len(reason) > LONGEST_REASON:
        reason = f"{reason[: LONGEST_REASON - 1].rstrip()}…"
    if not told:
        return Spoken(SAYS_NOTHING, Manner.SILENT, reason)
    return Spoken("\n\n".join(told), Manner.ACTION if is_blank(words) else None, reason)


def before_marks(arrived: str) -> str:
    """Return the beginning of a reply that still streams, up to a mark or a possible beginning of one."""
    mark = _MARK.search(arrived)
    if mark is not None:
        return arrived[: mark.start()]
    begun = _BEGUN.search(arrived)
    if begun is None or not any(word.startswith((begun[1] or "").lower()) for word in _WORDS):
        return arrived
    return arrived[: begun.start()]
