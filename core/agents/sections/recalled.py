"""What an input recalls of the memory bank: one section, a line each, and why (design 15 and 16).

What structured memory or recent context already say is left out. The items are in the order of play; where
there is no room for all, the last of the ranking go first.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final

from core.agents.role.setup import AgentSetup, total
from core.context.bank import Recalled
from core.context.lore import BANK, LoreNote
from core.context.segments import Segment
from core.context.visibility import CharacterKnowledge
from core.domain.bank.details import QuoteDetails
from core.domain.bank.item import Item
from core.domain.ids import ItemId
from core.domain.story.event import Event
from core.text.cleaning import clean_line
from core.text.delimiters import SegmentName
from core.text.graphemes import head
from core.text.repetition import words_of

LEAD: Final = (
    "What the character remembers of earlier, each with the prompt that it is from. Where something newer "
    "says otherwise, that counts."
)
"""The first line of the section: no system prompt needs to name it, in a chapter without a bank."""
SAID: Final = 0.8
"""The share of an item's words that one line must have to say it."""
_FEWEST_WORDS: Final = 3
"""An item of fewer words is said nowhere: they could be in any line."""
_LONGEST_NAME: Final = 60
_MOST_NAMED: Final = 10
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SHORT: Final = 2
_TOLD: Final = "The input says it already."
_ON_SHEET: Final = "It is on the sheet."
_NO_ROOM: Final = "The input has no room for it: what the story itself needs comes first."


@dataclass(frozen=True, slots=True)
class RecalledItems:
    """What an input recalls, the best first, and what became of the others that were found."""

    kept: tuple[Recalled, ...] = ()
    told: tuple[Recalled, ...] = ()
    """Those that the input says already."""
    on_sheet: tuple[Recalled, ...] = ()
    dropped: tuple[Recalled, ...] = ()
    """Those that had no room."""

    def segments(self, setup: AgentSetup) -> tuple[Segment, ...]:
        """Return the section; nothing where nothing is recalled."""
        if not self.kept:
            return ()
        lines = (_line(one) for one in sorted(self.kept, key=_in_play))
        return (setup.fenced(SegmentName.RECALLED, "\n".join((LEAD, *lines))),)

    def within(self, setup: AgentSetup, room: int) -> "RecalledItems":
        """Return what fits into `room` tokens: the last of the ranking go first."""
        found = self
        while found.kept and total(found.segments(setup)) > room:
            found = replace(found, kept=found.kept[:-1], dropped=(found.kept[-1], *found.dropped))
        return found

    def without_told(self, memory: str, events: Sequence[Event]) -> "RecalledItems":
        """Return what neither a line of `memory` nor one of the events says already."""
        if not self.kept:
            return self
        said = _said_by([_index(memory), *(_index_of_text(event.text) for event in events)], self.kept)
        told = tuple(one for one in self.kept if one.found.item.id in said)
        return replace(self, kept=tuple(one for one in self.kept if one not in told), told=told)

    @property
    def uses(self) -> tuple[tuple[ItemId, int], ...]:
        """The items that are in the input, and how often each was recalled before."""
        return tuple((one.found.item.id, one.access_count) for one in self.kept)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What had no room, in words."""
        names = [f"“{_name(one.found.item)}”" for one in self.dropped]
        if not names:
            return ()
        more = len(names) - _MOST_NAMED
        listed = ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        return (f"Memory bank: {listed} (no room)",)

    def notes(self) -> tuple[LoreNote, ...]:
        """Return what became of every item that was found, for the GM; those that are in first."""
        listed = (
            *((one, _why(one), True) for one in self.kept),
            *((one, _NO_ROOM, False) for one in self.dropped),
            *((one, _TOLD, False) for one in self.told),
            *((one, _ON_SHEET, False) for one in self.on_sheet),
        )
        return tuple(LoreNote(BANK, _name(one.found.item), is_in, why) for one, why, is_in in listed)


NOTHING_RECALLED: Final = RecalledItems()


def recalled_of(setup: AgentSetup, knowledge: CharacterKnowledge, percent: float) -> RecalledItems:
    """Return what was recalled for a character, in at most `percent` of the input."""
    bank = knowledge.bank
    if not bank.recalled:
        return NOTHING_RECALLED
    sheet = {line.item.id for line in bank.sheet}
    found = RecalledItems(
        kept=tuple(one for one in bank.recalled if one.found.item.id not in sheet),
        on_sheet=tuple(one for one in bank.recalled if one.found.item.id in sheet),
    )
    return found.within(setup, int(setup.budget * percent / 100))


def _line(one: Recalled) -> str:
    item = one.found.item
    name, text = clean_line(item.name), clean_line(item.text)
    if isinstance(item.details, QuoteDetails):
        said = f"{clean_line(item.details.speaker) or name}: “{text}”"
    else:
        said = text if name.casefold() in text.casefold() else f"{name}: {text}"
    return f"- {said} ({one.found.place})"


def _in_play(one: Recalled) -> tuple[int, int, ItemId]:
    # The chapter that is played has the number 0, and comes last.
    return one.found.chapter or 1_000_000, one.found.item.proved_at, one.found.item.id


def _name(item: Item) -> str:
    return head(clean_line(item.name), _LONGEST_NAME)


def _why(one: Recalled) -> str:
    """Return in a sentence why an item was recalled."""
    reasons = []
    if one.words:
        reasons.append(f"it has “{'”, “'.join(one.words)}”")
    if one.similarity is not None:
        reasons.append(f"its meaning is near ({one.similarity:.2f})")
    pinned = "pinned, " if one.found.item.is_pinned else ""
    why = " and ".join(reasons) or "nothing else is nearer"
    return f"Rank {one.rank}, {pinned}{one.found.place}: {why}; strength {one.strength:.2f}."


Index = Mapping[str, Sequence[int]]
"""The lines of a text that have a word, by the word."""


@lru_cache(maxsize=16)
def _index(memory: str) -> Index:
    """Return the phrases of structured memory by their words: the texts in its JSON, or else its lines."""
    found: dict[str, list[int]] = defaultdict(list)
    lines = (_QUOTED.findall(line) if "{" in line else [line] for line in memory.splitlines())
    for number, phrase in enumerate(chain.from_iterable(lines)):
        for word in _words(phrase):
            found[word].append(number)
    return found


@lru_cache(maxsize=256)
def _index_of_text(text: str) -> Index:
    """Return a text as one line."""
    return dict.fromkeys(_words(text), (0,))


def _said_by(indexes: Iterable[Index], items: Iterable[Recalled]) -> set[ItemId]:
    wanted = [(one.found.item.id, _words(one.found.item.text)) for one in items]
    said: set[ItemId] = set()
    for index in indexes:
        for item_id, words in wanted:
            if len(words) < _FEWEST_WORDS or item_id in said:
                continue
            counted = Counter(line for word in words for line in index.get(word, ()))
            if counted and max(counted.values()) >= SAID * len(words):
                said.add(item_id)
    return said


def _words(text: str) -> frozenset[str]:
    """Return the words that say something, in lower case."""
    return frozenset(
        word for word in words_of(text) if len(word) > _SHORT or not word.isascii() or word.isdecimal()
    )
