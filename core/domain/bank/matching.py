"""Finds what the bank already has of something new, by names and words (design 15).

What is clearly the same, and what is clearly new, needs no model; only what may be the same is asked about.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from math import ceil
from typing import Final

from core.domain.bank.details import NAMED, Aspect, ItemKind, QuoteDetails, StateDetails, ThreadDetails
from core.domain.bank.item import Item, Validation
from core.domain.ids import ItemId
from core.text.analysis.grounding import Vocabulary
from core.text.analysis.repetition import terms_of, words_of
from core.text.name_list import name_key

Similar = Callable[[Item, Item], float]
"""Returns how near two items are by meaning: the cosine of their vectors, -1 to 1."""

SAME_BY_MEANING: Final = 0.85
"""The least cosine by which two items say the same."""
SAME_BY_WORDS: Final = 0.75
"""The least share of common words by which two items say the same."""
SAME_IF_NAMED_ALIKE: Final = 0.4
"""The same for two that have one name."""
DOUBTFUL_BY_WORDS: Final = 0.3
SAME_TEXT: Final = 0.95
MOST_ASKED: Final = 3
"""Items that one new item is compared with by a model, at most."""
THIS_CHAPTER: Final = 1_000_000
"""The number of the chapter that is played, among those of its book."""
_SHORT: Final = 2
"""Words of up to so many letters say little, but for numbers and for scripts without spaces."""
_NAMED: Final = frozenset(NAMED)
_COMPARED_BY_WORDS: Final = frozenset({ItemKind.EVENT, ItemKind.FACT, ItemKind.THREAD, ItemKind.TRAIT})
COMPARED_BY_MEANING: Final = _COMPARED_BY_WORDS | _NAMED
"""Items of the other kinds are the same by their words or by their subject."""


class Likeness(StrEnum):
    """Likeness of a finding and an item of the bank."""

    NEW = "new"
    DOUBTFUL = "doubtful"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Match:
    """Items that a finding repeats, or may repeat, the nearest first."""

    likeness: Likeness = Likeness.NEW
    items: tuple[Item, ...] = ()


class BankIndex:
    """Items by kind, name and words. Making it takes some 20 µs for each: make it in a thread."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._by_kind: dict[ItemKind, list[Item]] = defaultdict(list)
        self._known: dict[ItemId, tuple[Item, frozenset[str]]] = {}
        self._names: dict[ItemId, str] = {}
        """The keys of the names: making one takes longer than all else in a comparison."""
        self._places: dict[ItemId, tuple[int, int, ItemId]] = {}
        """The chapter and the prompt of each: the newest comes first where nothing else decides."""
        self._with_word: dict[tuple[ItemKind, str], list[ItemId]] = defaultdict(list)
        for item in items:
            self.add(item)

    def add(self, item: Item, chapter: int = THIS_CHAPTER) -> None:
        """Add an item; `chapter` is the number in the book of the earlier chapter that it is of."""
        self._places[item.id] = chapter, item.prompt_index, item.id
        self._by_kind[item.kind].append(item)
        words = content_words(item)
        self._known[item.id] = item, words
        self._names[item.id] = item_name_key(item.name)
        for word in words:
            self._with_word[item.kind, word].append(item.id)

    def match(self, new: Item, similar: Similar | None = None) -> Match:
        """Return what there is of something new; with `similar` also by meaning."""
        same = self._same(new, similar)
        doubtful = self._doubtful(new)
        if new.kind is ItemKind.EVENT:
            # What happens again with another number or another end reads much like the first time.
            once = next((item for item in same if is_same_event(new, item)), None)
            asked = {item.id: item for item in (*same, *doubtful)}
            doubtful, same = tuple(asked.values())[:MOST_ASKED], (once,) if once else ()
        if same:
            return Match(Likeness.SAME, same[:1])
        return Match(Likeness.DOUBTFUL, doubtful) if doubtful else Match()

    def _same(self, new: Item, similar: Similar | None) -> tuple[Item, ...]:
        """Return what says the same as something new, the nearest first."""
        key = item_name_key(new.name)
        found = [
            (shared, item)
            for item, shared in self._near(new)
            if _says_the_same(new, item, shared, is_named_alike=key == self._names[item.id])
        ]
        if not found and similar is not None and new.kind in COMPARED_BY_MEANING:
            near = ((similar(new, item), item) for item in self._by_kind[new.kind] if _fits(new, item))
            found = [(cosine, item) for cosine, item in near if cosine >= SAME_BY_MEANING]
        found.sort(key=lambda pair: (pair[0], self._places[pair[1].id]), reverse=True)
        return tuple(item for _, item in found)

    def _doubtful(self, new: Item) -> tuple[Item, ...]:
        if new.kind in _NAMED:
            own = set(terms_of(new.name))
            near = [(len(own & set(self._names[item.id].split())), item) for item, _ in self._near(new)]
            found = [(float(count), item) for count, item in near if count]
        elif new.kind in _COMPARED_BY_WORDS:
            key = item_name_key(new.name)
            found = [
                (shared, item)
                for item, shared in self._near(new)
                if shared >= DOUBTFUL_BY_WORDS or key == self._names[item.id]
            ]
        else:
            return ()
        found.sort(key=lambda pair: (pair[0], self._places[pair[1].id]), reverse=True)
        return tuple(item for _, item in found[:MOST_ASKED])

    def _near(self, new: Item) -> list[tuple[Item, float]]:
        """Return the items that it can be compared with, each with the share of words that both have."""
        if new.kind is ItemKind.STATE:
            return [(item, 0.0) for item in self._by_kind[new.kind] if _fits(new, item)]
        words = content_words(new)
        common = Counter(one for word in words for one in self._with_word.get((new.kind, word), ()))
        near = ((*self._known[one], count) for one, count in common.items())
        return [(item, count / len(words | others)) for item, others, count in near if _fits(new, item)]


class AlikeByWords:
    """Items that may say the same to the same characters, by their names and words.

    Making it takes some 60 µs for each: make it in a thread, while what is near by meaning is read.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        comparable: dict[Hashable, list[Item]] = defaultdict(list)
        for item in items:
            # No states: a newer one takes the place of the older.
            if item.kind is not ItemKind.STATE:
                comparable[_group_of(item)].append(item)
        self._known: Final = {item.id: item for listed in comparable.values() for item in listed}
        self._names: Final = {item_id: item_name_key(item.name) for item_id, item in self._known.items()}
        self._pairs: Final = [
            pair for listed in comparable.values() for pair in _same_by_words(listed, self._names)
        ]

    def groups(self, near: Iterable[tuple[ItemId, ItemId]] = ()) -> list[tuple[Item, ...]]:
        """Return groups of these items, the newest of each first, also by pairs whose meanings are near.

        What is called alike has a meaning that is near by its name alone: there the words decide.
        """
        known, names = self._known, self._names
        groups = {item_id: [item] for item_id, item in known.items()}

        def join(one: Item, other: Item) -> None:
            mine, others = groups[one.id], groups[other.id]
            if mine is not others:
                mine += others
                groups.update((item.id, mine) for item in others)

        for one, other in self._pairs:
            join(one, other)
        for one, other in ((known[one], known[other]) for one, other in near if {one, other} <= known.keys()):
            may_be = one.kind in COMPARED_BY_MEANING and _group_of(one) == _group_of(other)
            if may_be and names[one.id] != names[other.id]:
                join(one, other)
        found = {id(group): group for group in groups.values() if len(group) > 1}
        each = [tuple(sorted(group, key=_newest_first)) for group in found.values()]
        return sorted(each, key=lambda group: _newest_first(group[0]))


def _group_of(item: Item) -> Hashable:
    """Return what two items have in common that may be merged."""
    is_closed = isinstance(item.details, ThreadDetails) and item.details.is_closed
    return item.kind, item.label, item.about, is_closed


def _same_by_words(items: Sequence[Item], names: Mapping[ItemId, str]) -> Iterator[tuple[Item, Item]]:
    """Yield pairs of items of one kind that say the same.

    Only those are compared that have one name, or one of their rarer words: of two sets with so large a share
    of common words each has one of these in the other.
    """
    words = [content_words(item) for item in items]
    counts = Counter(word for one in words for word in one)
    rarest = {word: place for place, word in enumerate(sorted(counts, key=lambda one: (counts[one], one)))}
    # By their places in the list: their ids take long to compare.
    with_sign: dict[Hashable, list[int]] = defaultdict(list)
    for place, (item, own) in enumerate(zip(items, words, strict=True)):
        name = names[item.id]
        signs: list[Hashable] = [(name,)]
        if item.kind not in _NAMED:
            signs += sorted(own, key=rarest.__getitem__)[: len(own) - ceil(SAME_BY_WORDS * len(own)) + 1]
        for other_place in dict.fromkeys(chain.from_iterable(with_sign[sign] for sign in signs)):
            other, others = items[other_place], words[other_place]
            common = len(own & others)
            shared = common / max(1, len(own) + len(others) - common)
            if _says_the_same(item, other, shared, is_named_alike=name == names[other.id]):
                yield item, other
        for sign in signs:
            with_sign[sign].append(place)


def _says_the_same(new: Item, item: Item, shared: float, *, is_named_alike: bool) -> bool:
    """Whether two items are clearly about the same thing, given their share of common words."""
    if isinstance(new.details, StateDetails) and isinstance(item.details, StateDetails):
        return state_key(new.name, new.details) == state_key(item.name, item.details)
    if isinstance(new.details, QuoteDetails):
        return words_of(new.text) == words_of(item.text)
    if new.kind in _NAMED:
        return is_named_alike
    return shared >= (SAME_IF_NAMED_ALIKE if is_named_alike else SAME_BY_WORDS)


def _newest_first(item: Item) -> tuple[int, ItemId]:
    return -item.proved_at, item.id


def item_name_key(name: str) -> str:
    """Return what two spellings of the name of an item have in common."""
    return " ".join(terms_of(name)) or name_key(name)


def state_key(name: str, details: StateDetails) -> tuple[str, ...]:
    """Return what two states of a character have in common where the newer one replaces the other.

    A character is in one place and one mood, and to another as it is to that one last.
    """
    match details.aspect:
        case Aspect.MOOD | Aspect.WHEREABOUTS:
            return (details.aspect,)
        case Aspect.RELATION if details.other.strip():
            return (details.aspect, item_name_key(details.other))
        case _:
            return (details.aspect, item_name_key(name))


def content_words(item: Item) -> frozenset[str]:
    """Return the words of an item that say something."""
    words = terms_of(f"{item.name} {item.text}")
    return frozenset(word for word in words if len(word) > _SHORT or not word.isascii() or word.isdecimal())


def has_same_text(one: Item, other: Item) -> bool:
    """Whether two items say the same in nearly the same words, and with the same numbers."""
    words, others = content_words(one), content_words(other)
    if any(map(_has_digit, words ^ others)):
        return False
    return bool(words) and len(words & others) / len(words | others) >= SAME_TEXT


def is_same_event(one: Item, other: Item) -> bool:
    """Whether two items tell of one event: words of play prove both, or they say the same."""
    if one.session_id == other.session_id and any(
        mine.overlaps(theirs) for mine in one.evidence for theirs in other.evidence
    ):
        return True
    return has_same_text(one, other)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _fits(new: Item, item: Item) -> bool:
    """Whether both are about the same character, if about one; a rejected item fits no other value."""
    return new.about is item.about and not (
        item.validation is Validation.REJECTED and _is_another_value(new, item)
    )


def _is_another_value(new: Item, rejected: Item) -> bool:
    """Whether something new says otherwise than an item of the same subject that the GM rejected.

    Of a mood or a place it is any other text, of another state one with other words, of a fact one with a
    name or a number that is new.
    """
    if isinstance(new.details, StateDetails):
        if new.details.aspect in (Aspect.MOOD, Aspect.WHEREABOUTS):
            return not has_same_text(new, rejected)
        words, others = content_words(new), content_words(rejected)
        return len(words & others) < SAME_BY_WORDS * len(words | others)
    if new.kind is not ItemKind.FACT:
        return False
    known = Vocabulary.of((rejected.name, rejected.text))
    return any(known.unknown_in(new.text))
