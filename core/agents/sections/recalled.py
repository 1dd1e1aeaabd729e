"""Sections of the memory bank in an input: the sheet, and recalled items with reasons (design 15 and 16).

A sheet has a line for each change that play made. What structured memory or recent context already say is
not recalled. The items are in the order of play; where there is no room for all, the last of the ranking go
first.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import chain
from math import log
from typing import Final, NamedTuple

from core.agents.role.setup import AgentSetup, total
from core.config.models.model_config import PromptStyle
from core.context.bank import Recalled, Remembered
from core.context.lore import BANK, NO_ROOM, LoreNote
from core.context.segments import Segment
from core.context.visibility import CharacterKnowledge
from core.domain.bank.details import Aspect, Details, QuoteDetails, StateDetails, ThreadDetails
from core.domain.bank.recall import LEAST_SIMILARITY
from core.domain.ids import ItemId
from core.domain.story.event import Event
from core.text.analysis.repetition import terms_of
from core.text.cleaning import clean_line
from core.text.delimiters import SegmentName
from core.text.graphemes import head
from core.text.letters import STOPS
from core.text.numbers import counted

NEWER_COUNTS: Final = "Where something newer says otherwise, that counts."
_CHANGED: Final = (
    f"What has become of the character in play, each with the prompt that says so. {NEWER_COUNTS}"
)
"""The first line of the section: no system prompt needs to name it, in a chapter without a bank."""
_SHARE: Final = 0.04
"""Maximum share of the budget for the sheet."""
_MOST_TOKENS: Final = {PromptStyle.FULL: 600, PromptStyle.SMALL: 160}


def sheet_of(
    setup: AgentSetup, knowledge: CharacterKnowledge, room: int
) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """Return the section, within its budget and at most `room` tokens, and in words what has no room in it.

    Nothing where nothing has changed. What the GM pinned goes last, and before that the newest lines.
    """
    lines = knowledge.bank.sheet
    most = min(room, int(setup.budget * _SHARE), _MOST_TOKENS[setup.style])
    by_worth = sorted(lines, key=lambda line: line.item.is_pinned)

    def worthiest(count: int) -> tuple[Segment, ...]:
        kept = {line.item.id for line in by_worth[len(lines) - count :]}
        return _section(setup, [line for line in lines if line.item.id in kept])

    # By halves: measured line by line, a sheet of a thousand lines would take seconds.
    count = bisect_right(range(1, len(lines) + 1), most, key=lambda count: total(worthiest(count)))
    dropped = len(lines) - count
    left_out = f"{counted(dropped, 'older line')} of its sheet (no room)"
    return worthiest(count), (left_out,) if dropped else ()


def line_text(line: Remembered) -> str:
    """Return a line of a sheet: what it is about, what it says, and where it is from."""
    item = line.item
    aspect = item.details.aspect if isinstance(item.details, StateDetails) else Aspect.OTHER
    about = "" if aspect is Aspect.OTHER else f"{aspect}: "
    return f"- {about}{clean_line(item.text)} ({line.place})"


def _section(setup: AgentSetup, lines: list[Remembered]) -> tuple[Segment, ...]:
    if not lines:
        return ()
    return (setup.fenced(SegmentName.CHARACTER_SHEET, "\n".join((_CHANGED, *map(line_text, lines)))),)


LEAD: Final = f"What the character remembers of earlier, each with the prompt that it is from. {NEWER_COUNTS}"
"""The first line of the section: no system prompt needs to name it, in a chapter without a bank."""
SAID: Final = 0.9
"""The share of an item's words that one line must have to say it, each by how few lines have it: what tells
an item from others like it must be there."""
_ROUNDING: Final = 1e-9
"""Tolerance for sums of weights that were added in another order."""
_FEWEST_WORDS: Final = 3
"""An item of fewer words is said nowhere: they could be in any line."""
_LONGEST_NAME: Final = 60
_MOST_NAMED: Final = 10
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SENTENCES: Final = re.compile(rf"(?<=[{STOPS}])[\"”’)]*\s+|(?<=[。！？])[\"”’）」』]*|\n+")
_SHORT: Final = 2
_TOLD: Final = "The input says it already."
_ON_SHEET: Final = "It is on the sheet."


@dataclass(frozen=True)
class RecalledItems:
    """The recalled items of an input, the best first, and the other items found, by outcome."""

    setup: AgentSetup
    kept: tuple[Recalled, ...] = ()
    told: tuple[Recalled, ...] = ()
    """Those that the input says already."""
    on_sheet: tuple[Recalled, ...] = ()
    dropped: tuple[Recalled, ...] = ()
    """Those that had no room."""
    lines: Sequence["_Line"] = ()
    """The lines of all that were found, in the order of play."""

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The section; nothing where nothing is recalled."""
        if not self.kept:
            return ()
        ranks = {one.rank for one in self.kept}
        lines = [line.text for line in self.lines if line.rank in ranks]
        section = self.setup.fenced(SegmentName.RECALLED, "\n".join((LEAD, *lines)))
        return (replace(section, relevance=sum(map(_fits, self.kept)) / len(self.kept)),)

    def within(self, room: int) -> "RecalledItems":
        """Return what fits into `room` tokens: the last of the ranking go first."""
        if total(self.segments) <= room:
            return self
        counts = range(1, len(self.kept) + 1)
        fitting = bisect_right(counts, room, key=lambda count: total(self._first(count).segments))
        found = self._first(fitting)
        return replace(found, dropped=(*self.kept[fitting:], *self.dropped))

    def _first(self, count: int) -> "RecalledItems":
        return replace(self, kept=self.kept[:count])

    def without_told(self, memory: str, events: Sequence[Event]) -> "RecalledItems":
        """Return what neither a line of `memory` nor one of the events says already."""
        if not self.kept:
            return self
        said = said_by([_lines(memory), *(_sentences(event.text) for event in events)], self.kept)
        if not said:
            return self
        told = tuple(one for one in self.kept if one.found.item.id in said)
        left = tuple(one for one in self.kept if one.found.item.id not in said)
        return replace(self, kept=left, told=told)

    @property
    def uses(self) -> tuple[tuple[ItemId, int], ...]:
        """The items that are in the input, and how often each was recalled before."""
        return tuple((one.found.item.id, one.access_count) for one in self.kept)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The items without room, in words."""
        names = [f"“{_name(one.found.item.title)}”" for one in self.dropped]
        if not names:
            return ()
        more = len(names) - _MOST_NAMED
        listed = ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        return (f"Memory bank: {listed} (no room)",)

    def notes(self) -> tuple[LoreNote, ...]:
        """Return what became of every item that was found, for the GM; those that are in first."""
        listed = (
            *((one, _why(one), True) for one in self.kept),
            *((one, NO_ROOM, False) for one in self.dropped),
            *((one, _TOLD, False) for one in self.told),
            *((one, _ON_SHEET, False) for one in self.on_sheet),
        )
        return tuple(LoreNote(BANK, _name(one.found.item.title), is_in, why) for one, why, is_in in listed)


def recalled_of(setup: AgentSetup, knowledge: CharacterKnowledge) -> RecalledItems:
    """Return what was recalled for a character, whatever its length."""
    bank = knowledge.bank
    if not bank.recalled:
        return RecalledItems(setup)
    sheet = {line.item.id for line in bank.sheet}
    return RecalledItems(
        setup,
        kept=tuple(one for one in bank.recalled if not sheet or one.found.item.id not in sheet),
        on_sheet=tuple(one for one in bank.recalled if sheet and one.found.item.id in sheet),
        lines=sorted([_line(one) for one in bank.recalled]),
    )


class _Line(NamedTuple):
    """A line of the section; lines are in the order of play."""

    chapter: int
    prompt: int
    item_id: ItemId
    text: str
    rank: int


def _line(one: Recalled) -> _Line:
    item = one.found.item
    speaker = item.details.speaker if isinstance(item.details, QuoteDetails) else None
    text = f"- {_told_as(item.name, item.text, speaker)} ({one.found.place}{_end_of(item.details)})"
    # The chapter that is played has the number 0, and comes last.
    return _Line(one.found.chapter or 1_000_000, item.proved_at, item.id, text, one.rank)


def _end_of(details: Details) -> str:
    """Return in words that a thread is closed, or a state over, whose text may be of the time before that."""
    match details:
        case ThreadDetails(is_closed=True):
            return ", settled"
        case StateDetails(is_over=True):
            return ", over"
        case _:
            return ""


@lru_cache(maxsize=4_096)
def _told_as(name: str, text: str, speaker: str | None) -> str:
    name, text = clean_line(name), clean_line(text)
    if speaker is not None:
        return f"{clean_line(speaker) or name}: “{text}”"
    return text if name.casefold() in text.casefold() else f"{name}: {text}"


@lru_cache(maxsize=4_096)
def _name(name: str) -> str:
    return head(clean_line(name), _LONGEST_NAME)


def _fits(one: Recalled) -> bool:
    """Whether it was found for the prompt, and not only because the GM has pinned it."""
    return bool(one.words) or _is_near(one)


def _is_near(one: Recalled) -> bool:
    """Whether it was found by its meaning; what is pinned has the cosine of its own, however small."""
    return one.similarity is not None and one.similarity >= LEAST_SIMILARITY


def _why(one: Recalled) -> str:
    """Return in a sentence why an item was recalled."""
    reasons = []
    if one.words:
        reasons.append(f"it has “{'”, “'.join(one.words)}”")
    if _is_near(one):
        reasons.append(f"its meaning is near ({one.similarity:.2f})")
    pinned = "pinned, " if one.found.item.is_pinned else ""
    why = " and ".join(reasons) or "whatever is asked"
    return f"Rank {one.rank}, {pinned}{one.found.place}: {why}; strength {one.strength:.2f}."


@dataclass(frozen=True, slots=True)
class Lines:
    """The words of each line of a text, and the numbers of the lines that have a word."""

    words: Sequence[frozenset[str]]
    having: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Lines":
        """Return the lines `texts`."""
        words = [_words(text) for text in texts]
        having: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(words):
            for word in line:
                having[word].append(number)
        return cls(words, dict(having))


@lru_cache(maxsize=16)
def _lines(memory: str) -> Lines:
    """Return the phrases of structured memory: the texts in its JSON, or else its lines."""
    lines = (_QUOTED.findall(line) if "{" in line else [line] for line in memory.splitlines())
    return Lines.of(chain.from_iterable(lines))


@lru_cache(maxsize=256)
def _sentences(text: str) -> Lines:
    """Return a text by its sentences."""
    return Lines.of(_SENTENCES.split(text))


def said_by(told: Sequence[Lines], items: Iterable[Recalled]) -> set[ItemId]:
    """Return those of the items that some line says."""
    having = [lines.having for lines in told]
    count = sum(len(lines.words) for lines in told)

    @cache
    def weight(word: str) -> float:
        return log(1 + count / (1 + sum([len(one[word]) for one in having if word in one])))

    @cache
    def lines_with(word: str) -> Sequence[frozenset[str]]:
        return [lines.words[number] for lines in told for number in lines.having.get(word, ())]

    def says(line: frozenset[str], ordered: Sequence[tuple[float, str]], may_lack: float) -> bool:
        for weight_of_one, word in ordered:
            if word not in line:
                may_lack -= weight_of_one
                if may_lack < 0:
                    return False
        return True

    def is_said(words: frozenset[str]) -> bool:
        ordered = sorted([(weight(word), word) for word in words], reverse=True)
        may_lack = lacking = (1 - SAID) * sum([one for one, _ in ordered]) + _ROUNDING
        needed = {word for weight_of_one, word in ordered if weight_of_one > may_lack}
        # Few lines are looked at: one that has none of the rarest words lacks too much.
        for weight_of_one, word in ordered:
            lines = [line for line in lines_with(word) if needed <= line]
            if any(says(line, ordered, may_lack) for line in lines):
                return True
            lacking -= weight_of_one
            if lacking < 0:
                return False
        return False

    found = ((one.found.item.id, _words_of(one.found.item.text)) for one in items)
    return {item_id for item_id, words in found if len(words) >= _FEWEST_WORDS and is_said(words)}


@lru_cache(maxsize=4_096)
def _words_of(text: str) -> frozenset[str]:
    """Return the words of an item, which most inputs recall again."""
    return _words(text)


def _words(text: str) -> frozenset[str]:
    """Return the words that say something, in lower case."""
    return frozenset(
        word for word in terms_of(text) if len(word) > _SHORT or not word.isascii() or word.isdecimal()
    )
