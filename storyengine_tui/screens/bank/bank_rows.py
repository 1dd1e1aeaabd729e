"""Rows of the lists of the memory bank; pure (design 15)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.context.bank import BankChapter, Remembered
from core.context.visibility import names_of
from core.domain.bank.details import ItemKind, QuoteDetails, StateDetails, ThreadDetails, texts_of
from core.domain.bank.item import Item, ItemAccess, Validation, strength_of
from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.services.bank.item_changes import GM
from core.text.cleaning import clean_line
from core.text.graphemes import head
from core.text.letters import folded
from storyengine_tui.widgets.reading.column import Column


class BankList(StrEnum):
    """The lists, with the names that the palette and the strip of lists use."""

    PEOPLE = "people"
    PLACES = "places"
    THREADS = "threads"
    FACTS = "facts"
    QUOTES = "quotes"

    @property
    def number(self) -> int:
        """The key that shows it; 1 and 2 are the forms of memory."""
        return 3 + list(BankList).index(self)


LONGEST_TITLE: Final = 60
KIND, ASPECT = "Kind", "About"
"""Titles of the column that says what kind an item is of: any kind, or the part of a sheet."""
SPEAKER: Final = "Said by"
"""Title of the column of quotes that has the name of other items."""
KINDS: Final[Mapping[BankList, frozenset[ItemKind]]] = {
    BankList.PEOPLE: frozenset({ItemKind.PERSON}),
    BankList.PLACES: frozenset({ItemKind.PLACE}),
    BankList.THREADS: frozenset({ItemKind.THREAD}),
    BankList.FACTS: frozenset({ItemKind.FACT, ItemKind.EVENT, ItemKind.TRAIT, ItemKind.STATE}),
    BankList.QUOTES: frozenset({ItemKind.QUOTE}),
}
"""Kinds of items by list: together every kind once."""


class Wanted(StrEnum):
    """Filter of a list by the GM's verdict; the value is the list's word for it."""

    ALL = ""
    NEW = "new"
    CONFIRMED = "confirmed"
    PINNED = "pinned"
    OUT = "taken out"
    """Rejected, or merged into another; only these do not count."""
    ALIKE = "alike"
    """Those of which another may say the same, once the GM has asked for these."""

    def has(self, row: "BankRow") -> bool:
        """Whether an item is one of them."""
        match self:
            case Wanted.OUT:
                return row.is_out
            case Wanted.NEW:
                return row.item.validation is Validation.NONE and not row.is_out
            case Wanted.CONFIRMED:
                return row.item.validation is Validation.CONFIRMED and not row.is_out
            case Wanted.PINNED:
                return row.item.is_pinned and not row.is_out
            case _:
                return not row.is_out


@dataclass(frozen=True, slots=True)
class BankRow:
    """An item, what is left of its importance, and the words by which it is found."""

    item: Item
    strength: float
    words: str
    chapter: int = 0
    """The number in the book of the earlier chapter that it is from; 0 for this one."""
    is_out: bool = False
    """It was taken out. What was merged counts again while the item in which it goes on does not."""

    @property
    def place(self) -> tuple[bool, int, int, ItemId]:
        """The sort key: the newest first."""
        return bool(self.chapter), -self.chapter, -self.item.proved_at, self.item.id


def rows_of(
    items: Iterable[Item],
    accesses: Mapping[ItemId, ItemAccess],
    prompt_index: int,
    earlier: Iterable[tuple[BankChapter, Sequence[Remembered]]] = (),
    at: datetime | None = None,
    counting: Collection[ItemId] = (),
) -> list[BankRow]:
    """Return the rows of items, the newest first, and after them those of earlier chapters of the book.

    `counting` are the ids of those that count, also where they were merged. An item of an earlier chapter has
    the label and character that it has in this one. `at` is the time that it is, where items fade by hours.
    """
    rows = [_row(item, accesses.get(item.id), prompt_index, at) for item in items]
    out = {row.item.id for row in rows if row.item.is_out} - set(counting)
    rows = [replace(row, is_out=True) if row.item.id in out else row for row in rows]
    for chapter, found in earlier:
        for one in found:
            item, is_as_there = one.item, (one.label, one.about) == (one.item.label, one.item.about)
            seen = item if is_as_there else replace(item, label=one.label, about=one.about)
            rows.append(_row(seen, accesses.get(seen.id), prompt_index, at, chapter))
    return sorted(rows, key=lambda row: row.place)


def _row(
    item: Item,
    access: ItemAccess | None,
    prompt_index: int,
    at: datetime | None,
    chapter: BankChapter | None = None,
) -> BankRow:
    # The prompts of this chapter are counted on from those of the item's own.
    now = prompt_index if chapter is None else chapter.now
    last = None if access is None else access.last_accessed + now - prompt_index
    number = 0 if chapter is None else chapter.number
    words = folded(" ".join((item.name, item.text, *texts_of(item.details))))
    return BankRow(item, strength_of(item, now, last, at), words, number)


def found(
    rows: Sequence[BankRow], shown: BankList, wanted: Wanted, viewpoint: Slot | None, words: str
) -> list[BankRow]:
    """Return the rows of a list: those that a character may know, with all of the words in any case."""
    needles, kinds = folded(words).split(), KINDS[shown]
    return [
        row
        for row in rows
        if row.item.kind in kinds
        and wanted.has(row)
        and (viewpoint is None or viewpoint in row.item.label)
        and all(needle in row.words for needle in needles)
    ]


def grouped(rows: Sequence[BankRow], groups: Sequence[Sequence[ItemId]]) -> list[list[BankRow]]:
    """Return the rows of each group of items, but for groups of which one row is left at most."""
    by_id = {row.item.id: row for row in rows}
    found = ([by_id[item_id] for item_id in group if item_id in by_id] for group in groups)
    return [group for group in found if len(group) > 1]


def new_here(rows: Iterable[BankRow]) -> str:
    """Return how many items of this chapter are new, and in which lists; nothing where none is."""
    new = Counter(row.item.kind for row in rows if not row.chapter and Wanted.NEW.has(row))
    lists = [one.number for one, kinds in KINDS.items() if kinds & new.keys()]
    match lists:
        case []:
            return ""
        case [number]:
            where = f"list {number}"
        case [first, *_, last] if last - first == len(lists) - 1 > 1:
            where = f"lists {first} to {last}"
        case _:
            where = f"lists {', '.join(map(str, lists))}"
    return f"{new.total():,} new in {where}"


def columns_of(rows: Sequence[BankRow], width: int, *, kind: str) -> list[Column]:
    """Return the columns for so many cells; who may know it is one only where not everyone may.

    `kind` is the title of the column that says what kind an item is of; without it there is none.
    """
    label = 0 if all(row.item.label.is_everyone for row in rows) else max(8, min(18, width // 7))
    kinds = {"": 0, KIND: 6}.get(kind, 11)
    chapter = 3 if any(row.chapter for row in rows) else 0
    fixed = [1, 8, kinds, chapter, 6, label, 4]
    room = max(24, width - 1 - sum(fixed) - sum(map(bool, fixed)) - 1)
    name = max(10, min(30, room // 3))
    are_quotes = bool(rows) and all(isinstance(row.item.details, QuoteDetails) for row in rows)
    columns = [
        Column("", 1),
        Column("", 8),
        Column(kind, kinds),
        Column(SPEAKER if are_quotes else "Name", name),
        Column("Text", room - name),
        Column("Ch.", chapter, is_number=True),
        Column("Prompt", 6, is_number=True),
        Column("Known to", label),
        Column("Left", 4, is_number=True),
    ]
    return [column for column in columns if column.width]


def cells_of(row: BankRow, session: Session, columns: Sequence[Column], *, sign: str) -> list[str]:
    """Return the cells of a row; `sign` is in the first."""
    item = row.item
    texts = {
        KIND: item.kind.value,
        ASPECT: item.details.aspect.value if isinstance(item.details, StateDetails) else "",
        "Name": called(item),
        SPEAKER: called(item),
        "Text": spoken(item),
        "Ch.": str(row.chapter or ""),
        "Prompt": str(item.proved_at) if item.proved_at else "–",
        "Known to": "" if item.label.is_everyone else names_of(item.label, session),
        "Left": "1.0" if row.strength >= 0.995 else f"{row.strength:.2f}"[-3:],
    }
    return [sign, mark_of(item, is_out=row.is_out), *(texts[one.title] for one in columns[2:])]


def mark_of(item: Item, *, is_out: bool) -> str:
    """Return what the GM made of an item, in eight cells; `is_out` says that it does not count for that."""
    if is_out and item.merged_into is not None:
        return "merged"
    if item.validation is Validation.REJECTED:
        return "rejected"
    if isinstance(item.details, ThreadDetails) and item.details.is_closed:
        return "closed"
    if isinstance(item.details, StateDetails) and item.details.is_over:
        return "over"
    sign = "✓" if item.validation is Validation.CONFIRMED else ""
    if item.is_pinned:
        return f"pinned {sign}".strip()
    return sign or ("new" if item.validation is Validation.NONE else "")


def called(item: Item) -> str:
    """Return the name of an item on one line; in its place who said a quote, where that is known."""
    name = item.name
    if isinstance(item.details, QuoteDetails):
        is_gm = bool(item.evidence) and item.about is None
        name = item.details.speaker or (GM if is_gm else name)
    return clean_line(name)


def shown_title(item: Item) -> str:
    """Return what an item is told by in a sentence: its name, or the first words of a quote."""
    return head(clean_line(item.title), LONGEST_TITLE)


def spoken(item: Item) -> str:
    """Return the text of an item on one line; that of a quote in quotation marks."""
    text = clean_line(item.text)
    return f"“{text}”" if item.kind is ItemKind.QUOTE else text
