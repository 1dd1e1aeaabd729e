"""Drops the sentences of a text that repeat it: a small model writes almost the same sentence many times.

A sentence repeats a text if at least `REPEATED_RUNS` of its runs of three words already occur in the text,
ignoring case, punctuation and markup. Sentences of fewer than `LEAST_WORDS` words are always kept, and
dialogue that occurs twice in the source of the text may occur in it twice.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from core.text.analysis.repetition import LEAST_WORDS, words_of
from core.text.letters import STOPS, UNSPACED
from core.text.numbers import counted

REPEATED_RUNS: Final = 0.6
"""The least share of its runs by which a sentence repeats a text: about one sentence in a hundred of a
person's prose reaches it, and every third of the bundled model's."""
_RUN: Final = 3
_RUN_UNSPACED: Final = 6
"""Words of a run, and characters of one in a script without spaces."""

_STOP: Final = rf"[{STOPS}]++[\"'”’»)\]*_]*+(?=\s)"
# Only the first mark of a row is tried: a row of thousands, which ends nothing, is read once.
_END: Final = rf"(?:(?<![{STOPS}]){_STOP}|[。！？]+[」』”’)）]*)"
_UNSPACED: Final = re.compile(UNSPACED)
_SENTENCE: Final = re.compile(rf"(?:(?=[{STOPS}]{{2}}){_STOP}|(?s:.+?)(?:{_END}|\Z))\s*")
_TITLE: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Capt|Lt|Sgt|Prof|Rev)\.\s*\Z")
"""An abbreviation before a name, which does not end a sentence."""
_QUOTED: Final = re.compile(r"[\"“«]([^\"“”«»]+)[\"”»]|「([^「」]+)」")
_QUOTES: Final = (('"', '"'), ("“", "”"), ("«", "»"), ("「", "」"), ("(", ")"))


@dataclass(frozen=True, slots=True)
class Shortened:
    """A text without its repeated sentences, and how many there were."""

    text: str
    dropped: int

    @property
    def in_words(self) -> tuple[str, ...]:
        """Describe for the GM what was dropped; empty for nothing."""
        if not self.dropped:
            return ()
        what = counted(self.dropped, "sentence that repeats", "sentences that repeat")
        return (f"{what} what the chapter has already",)


def without_repeated_sentences(text: str, before: Iterable[str], source: str) -> Shortened:
    """Return `text` without the sentences that repeat the texts in `before` or earlier parts of `text`.

    Dialogue that occurs more often in `source` than in the text so far is kept, and so is a sentence with one
    of a pair of quotation marks.
    """
    told, said = _Words(), _Words(source)
    runs: set[tuple[str, ...]] = set()
    for sentence in (one for earlier in before for one in sentences_of(earlier)):
        told.add(sentence)
        runs |= _runs_of(sentence)
    kept: list[str] = []
    dropped = 0
    for sentence in sentences_of(text):
        own = _runs_of(sentence)
        if (
            len(own & runs) >= REPEATED_RUNS * max(1, len(own))
            and len(words_of(sentence)) >= LEAST_WORDS
            and _is_balanced(sentence)
            and said.times(speeches := _speeches_of(sentence)) <= told.times(speeches)
        ):
            dropped += 1
            _end_paragraph(kept, sentence)
        else:
            kept.append(sentence)
            told.add(sentence)
            runs |= own
    return Shortened("".join(kept).rstrip(), dropped) if dropped else Shortened(text, 0)


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, each with the white space after it; joined they are the text."""
    begun = ""
    for match in _SENTENCE.finditer(text):
        begun += match[0]
        if not _TITLE.search(match[0]):
            yield begun
            begun = ""
    if begun:
        yield begun


def _runs_of(sentence: str) -> set[tuple[str, ...]]:
    words = words_of(sentence)
    is_spaced = len(sentence.split()) > 1 and 2 * len(_UNSPACED.findall(sentence)) < len(words)
    length = _RUN if is_spaced else _RUN_UNSPACED
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def _end_paragraph(kept: list[str], dropped: str) -> None:
    """Let a paragraph end where its last sentence was dropped."""
    gap = dropped[len(dropped.rstrip()) :]
    if kept and "\n" in gap and "\n" not in kept[-1][len(kept[-1].rstrip()) :]:
        kept[-1] = kept[-1].rstrip() + gap


def _is_balanced(sentence: str) -> bool:
    """Whether the quotation marks and brackets of `sentence` all have their other half in it."""
    return all(
        sentence.count(opening) % 2 == 0
        if opening == closing
        else sentence.count(opening) == sentence.count(closing)
        for opening, closing in _QUOTES
    )


def _speeches_of(sentence: str) -> list[str]:
    """Return the speech in `sentence`, or all of it where it has none, as runs that `_Words` counts."""
    speeches = [words_of(first or second) for first, second in _QUOTED.findall(sentence)]
    return [f" {_joined(one)}" for one in [one for one in speeches if one] or [words_of(sentence)]]


def _joined(words: Iterable[str]) -> str:
    """Return words as one text, each with a space after it."""
    return "".join(f"{word} " for word in words)


class _Words:
    """The words of a text that grows, in which each run of words is counted once."""

    def __init__(self, text: str = "") -> None:
        self._text = " "
        self._counted: dict[str, tuple[int, int]] = {}
        """The count of each run, and the place up to which it was counted."""
        self.add(text)

    def add(self, text: str) -> None:
        """Add the words of a text at the end."""
        self._text += _joined(words_of(text))

    def times(self, runs: Iterable[str]) -> int:
        """Return how often the rarest of some runs is there; those that overlap count."""
        return min(map(self._times, runs))

    def _times(self, run: str) -> int:
        times, start = self._counted.get(run, (0, 0))
        place = self._text.find(run, start)
        while place >= 0:
            times += 1
            start = self._text.index(" ", place + 1)
            # In a run that repeats itself no search begins: each would prepare for the whole of it.
            place = start if self._text.startswith(run, start) else self._text.find(run, start)
        self._counted[run] = times, max(start, len(self._text) - len(run) + 1)
        return times
