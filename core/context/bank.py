"""The memory bank's part of an input: the sheet of a character, and recalled items (design 15).

`core.context.visibility` decides which of it a character may know.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from core.domain.audience import Audience
from core.domain.bank.details import ItemKind, StateDetails
from core.domain.bank.item import Item, Replacement, has_expired
from core.domain.bank.matching import state_key
from core.domain.ids import ItemId, LogPlace, SessionId
from core.domain.session.cast import Character
from core.domain.session.language import Language
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.text.name_list import name_key


@dataclass(frozen=True, slots=True, kw_only=True)
class BankChapter:
    """A chapter whose items an input may draw on: the one that is played, or an earlier one of its book."""

    session_id: SessionId
    number: int = 0
    """Its number in the book; 0 for the chapter that is played."""
    now: int = 0
    """The number that the newest prompt of the chapter that is played has, counted on from its own."""
    language: Language = Language.ENGLISH
    slots: Mapping[Slot, Slot]
    """Of its cast, those who play here too: the slot there, and the one here."""
    never_sent: frozenset[LogPlace] = frozenset()
    """The places of its events that no model is sent."""
    _labels: dict[Audience, Audience] = field(default_factory=dict, compare=False, repr=False)

    def may_send(self, item: Item) -> bool:
        """Whether models may be sent an item of it: not the words of a quote whose events are never sent.

        Other items that tell of such an event stay, as memory of it does.
        """
        if not self.never_sent or item.kind is not ItemKind.QUOTE or not item.evidence:
            return True
        return not self.never_sent.issuperset(one.place for one in item.evidence)

    def label_of(self, item: Item | Replacement, session: Session) -> Audience:
        """Return who of the chapter that is played may know an item of this one.

        What everyone knew in an earlier chapter is known to those who were in its cast.
        """
        label = self._labels.get(item.label)
        if label is None:
            label = session.audience_of(self.slots[slot] for slot in item.label if slot in self.slots)
            self._labels[item.label] = label
        return label

    def audience_there(self, audience: Audience, session: Session) -> Audience | None:
        """Return who in this chapter are those of `audience`; None where not all of them play in it."""
        here = frozenset(audience) & frozenset(session.slots)
        there = Audience.of(one for one, other in self.slots.items() if other in here)
        return there if here and len(there.slots) == len(here) else None

    def remembered(self, item: Item, session: Session) -> "Remembered":
        """Return an item of this chapter as the chapter that is played has it."""
        about = None if item.about is None else self.slots.get(item.about)
        return Remembered(item, self.label_of(item, session), about, self.number, has_expired(item, self.now))


class Remembered(NamedTuple):
    """An item, and what it is in the chapter that is played."""

    item: Item
    label: Audience
    """Characters of this chapter that may know it."""
    about: Slot | None = None
    """The slot here of the character that it belongs to."""
    chapter: int = 0
    """The number in the book of the earlier chapter that it is from; 0 for this one."""
    has_expired: bool = False

    @property
    def place(self) -> str:
        """The prompt that proves it, in words: “prompt 12”, or “chapter 2, prompt 12”."""
        prompt = f"prompt {self.item.proved_at}"
        return f"chapter {self.chapter}, {prompt}" if self.chapter else prompt


class Recalled(NamedTuple):
    """An item that was found for an input, and why; `rank` is 1 for the best."""

    found: Remembered
    rank: int
    words: tuple[str, ...] = ()
    """The words of the query that it has."""
    similarity: float | None = None
    """The cosine of its meaning and the query's; None where it was found by words alone."""
    strength: float = 1.0
    """Share of its importance that has not faded."""
    access_count: int = 0
    """Number of earlier recalls by the chapter."""


@dataclass(frozen=True, slots=True)
class ChapterBank:
    """Items that an input may draw on; empty in a chapter without a bank."""

    sheet: tuple[Remembered, ...] = ()
    """The lines of character sheets."""
    recalled: tuple[Recalled, ...] = ()
    """The best first."""
    left_out: tuple[str, ...] = ()
    """Why there is nothing, or less, in words for the GM."""

    def __bool__(self) -> bool:
        """Whether there is anything in it."""
        return bool(self.sheet or self.recalled or self.left_out)


NO_BANK: Final = ChapterBank()


def replaced_for(
    audience: Audience, replacements: Iterable[Replacement], chapters: Sequence[BankChapter], session: Session
) -> frozenset[ItemId]:
    """Return the items of earlier chapters in whose place each of `audience` knows a newer one.

    Who may not know the newer one goes on with the older.
    """
    known = _replaced(replacements, chapters, session)
    return frozenset(item_id for item_id, label in known if label.includes(audience))


def still_counting(
    lines: Iterable[Remembered],
    replacements: Iterable[Replacement],
    chapters: Sequence[BankChapter],
    session: Session,
) -> list[Remembered]:
    """Return without those in whose place all who know them here know a newer one."""
    known: dict[ItemId, list[Audience]] = {}
    for item_id, label in _replaced(replacements, chapters, session):
        known.setdefault(item_id, []).append(label)
    return [
        line for line in lines if not any(label.includes(line.label) for label in known.get(line.item.id, ()))
    ]


def _replaced(
    replacements: Iterable[Replacement], chapters: Sequence[BankChapter], session: Session
) -> Iterator[tuple[ItemId, Audience]]:
    """Yield items that a later one of these chapters replaces, and who here may know what it has instead."""
    places = {chapter.session_id: place for place, chapter in enumerate(chapters)}
    for one in replacements:
        if places[one.session_id] < places[one.replaced_in]:
            yield one.item_id, chapters[places[one.replaced_in]].label_of(one, session)


def this_chapter(session: Session) -> BankChapter:
    """Return the chapter that is played as one whose items an input may draw on."""
    slots = {slot: slot for slot in session.slots}
    return BankChapter(
        session_id=session.id, now=session.prompt_index, language=session.language, slots=slots
    )


def sheet_of(lines: Iterable[Remembered], slot: Slot) -> tuple[Remembered, ...]:
    """Return the sheet of a character, as far as it may know it; `lines` are in the order of play."""
    newest = newest_states(lines, slot)
    return tuple(line for line in newest if not (line.has_expired or _is_over(line.item)))


def newest_states(lines: Iterable[Remembered], slot: Slot) -> tuple[Remembered, ...]:
    """Return of the states of a character that it may know the newest of each thing, also what is over.

    It is where it went last, and feels as it felt last; of two lines about the same the later one counts.
    What a model says after the GM is beside it, until the GM says more.
    """
    sheet: dict[tuple[str, ...], Remembered] = {}
    for line in lines:
        details = line.item.details
        if line.about is slot and slot in line.label and isinstance(details, StateDetails):
            key = state_key(line.item.name, details)
            beside = (*key, "")
            earlier = sheet.get(key)
            if earlier is not None and earlier.item.is_kept and not line.item.is_kept:
                key = beside
            else:
                sheet.pop(beside, None)
            sheet.pop(key, None)
            sheet[key] = line
    return tuple(sheet.values())


def _is_over(item: Item) -> bool:
    return isinstance(item.details, StateDetails) and item.details.is_over


def same_characters(there: Sequence[Character], here: Sequence[Character]) -> dict[Slot, Slot]:
    """Return which characters of another chapter play here: the slot there, and the one here.

    The same is who is from the same character of the library; else who has the same name; else one of whose
    other names means the other. Of two who are from different characters of the library neither is the other,
    and where several could be meant no one is.
    """
    found: dict[Slot, Slot] = {}
    for is_same in (_same_origin, _same_name, _shared_name):
        old = [one for one in there if one.slot not in found]
        new = [one for one in here if one.slot not in found.values()]
        pairs = [(one.slot, other.slot) for one in old for other in new if is_same(one, other)]
        found |= {
            one: other
            for one, other in pairs
            if sum(one == slot for slot, _ in pairs) == 1 and sum(other == slot for _, slot in pairs) == 1
        }
    return found


def _same_origin(one: Character, other: Character) -> bool:
    return one.profile.character_id is not None and one.profile.character_id == other.profile.character_id


def _same_name(one: Character, other: Character) -> bool:
    return not _are_different(one, other) and name_key(one.name) == name_key(other.name)


def _shared_name(one: Character, other: Character) -> bool:
    return not _are_different(one, other) and not _names(one).isdisjoint(_names(other))


def _names(one: Character) -> set[str]:
    return {name_key(name) for name in (one.name, *one.profile.aliases)}


def _are_different(one: Character, other: Character) -> bool:
    """Whether they are from two characters of the library."""
    ids = (one.profile.character_id, other.profile.character_id)
    return None not in ids and ids[0] != ids[1]
