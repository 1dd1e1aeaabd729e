"""Drops whole sentences that a text already has: a small model often writes the same one again and again.

Sentences are compared by their words, ignoring case, punctuation and markup. Only those of at least
`LEAST_WORDS` words count, and what was said twice in the source of the text may stand in it twice.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from core.text.repetition import LEAST_WORDS, words_of

_END: Final = r"(?:[.!?…]+[\"'”’»)\]*_]*(?=\s)|[。！？]+[」』”’)）]*)"
_SENTENCE: Final = re.compile(rf"(?s:.+?)(?:{_END}|\Z)\s*")
_TITLE: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Capt|Lt|Sgt|Prof|Rev)\.\s*\Z")
"""An abbreviation that stands before a name, and ends no sentence."""
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
        sentences = "1 sentence" if self.dropped == 1 else f"{self.dropped:,} sentences"
        return (f"{sentences} that the chapter already has",) if self.dropped else ()


def without_repeated_sentences(text: str, before: Iterable[str], source: str) -> Shortened:
    """Return `text` without the sentences that it, or a text in `before`, has had already.

    Speech that is in `source` more than once may be told as often. Nothing is dropped that would leave one of
    a pair of quotation marks.
    """
    seen = Counter(tuple(words_of(sentence)) for told in before for sentence in sentences_of(told))
    spoken = words_of(source)
    kept: list[str] = []
    dropped = 0
    for sentence in sentences_of(text):
        words = tuple(words_of(sentence))
        seen[words] += 1
        if (
            seen[words] > 1
            and len(words) >= LEAST_WORDS
            and _is_balanced(sentence)
            and seen[words] > _times_said(sentence, spoken)
        ):
            dropped += 1
            _end_paragraph(kept, sentence)
        else:
            kept.append(sentence)
    return Shortened("".join(kept).rstrip(), dropped) if dropped else Shortened(text, 0)


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, each with the white space after it; joined they are the text."""
    begun = ""
    for match in _SENTENCE.finditer(text):
        begun += match[0]
        if not _TITLE.search(begun):
            yield begun
            begun = ""
    if begun:
        yield begun


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


def _times_said(sentence: str, source: list[str]) -> int:
    """Return how often the speech in `sentence`, or all of it where it has none, occurs in `source`."""
    speeches = [words_of(first or second) for first, second in _QUOTED.findall(sentence)]
    wanted = [speech for speech in speeches if speech] or [words_of(sentence)]
    return min(_count(speech, source) for speech in wanted)


def _count(run: list[str], words: list[str]) -> int:
    length = len(run)
    return sum(words[at : at + length] == run for at in range(len(words) - length + 1) if words[at] == run[0])
