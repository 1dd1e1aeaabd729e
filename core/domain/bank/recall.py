"""Queries of an input to the memory bank, and their results (design 15).

Candidates are found by words and by meaning, and are merged here by their ranks. The store finds them, among
the items that the label and the chapters of the query allow.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, chain
from math import log
from typing import Final, NamedTuple

from core.domain.bank.item import Item, ItemAccess, strength_of
from core.domain.ids import ItemId, SessionId
from core.domain.session.language import Language
from core.text.graphemes import composed
from core.text.letters import CJK, MARKS, SPELLED, UNSPACED

Vector = tuple[float, ...]
"""A direction of length 1, so that the product of two vectors is the cosine of their angle."""

MOST_WORDS: Final = 24
"""Words that one query has at most; two pieces of a script without spaces count as one."""
LEAST_CANDIDATES: Final = 30
"""Candidates by words, and as many by meaning, where a query asks for fewer."""
MOST_WITH_A_WORD: Final = 500
"""A word that more items than this have tells nothing, and is passed over."""
LEAST_SIMILARITY: Final = 0.2
"""A cosine below it says that two texts are about different things."""
MOST_SPANS: Final = 8
"""Parts of a query that are compared with the parts of a name."""
COMPARED: Final = 3
"""As many items as are wanted, so often: of these those come first whose names fit parts of a query. Where an
index finds them, as many as are wanted alone."""
_FARTHEST: Final = 4.0
"""More than any distance."""
_RANKS: Final = 60
"""The constant of the merging by ranks: how little a place more or less counts."""
_RARE: Final = 0.002
"""The share of the items that have a word which says by itself which one is meant."""
_FADED: Final = 0.9
"""Share of its merged rank that a wholly faded item keeps."""
PINNED_EVERY: Final = 10
"""One place of so many in an input is for pinned items, whatever the query."""
KEPT_EVERY: Final = 5
"""One place of so many is for pinned or confirmed items, the nearest first."""
_TOKEN: Final = re.compile(rf"[^\W_](?:[^\W_]+|[{MARKS}]+)*")
_RUN: Final = re.compile(rf"(?P<spelled>{SPELLED}+)|(?P<cjk>{CJK}+)|(?:(?!{UNSPACED}).)+")
"""Matches a part of a token in one kind of script."""
_UNSPACED: Final = re.compile(UNSPACED)
_HIRAGANA: Final = re.compile("[\u3040-\u309f]+")
_ENDS: Final = '.!?:\n"“”„»«(['


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A chapter whose items may be found."""

    session_id: SessionId
    mask: int
    """The slots that all must be in an item's label, as a mask; 0 finds what anyone knows, for the GM."""
    before: int | None = None
    """The last prompt of which items are found, except those that the GM wrote; None for all."""
    now: int
    """The number that the prompt asked about has, counted on from this chapter's own prompts."""
    language: Language = Language.ENGLISH
    """That of the chapter: in it the words of its items are made, and so are those of the query there."""


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query. A name is also found as it is written, whatever the language makes of it."""

    word: str
    weight: float = 1.0
    is_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query; `session_id` is the chapter that asks."""

    session_id: SessionId
    scopes: tuple[Scope, ...]
    words: tuple[QueryWord, ...] = ()
    vector: Vector | None = None
    """The meaning, by the model that `model` names; None to look by words alone."""
    model: str = ""
    spans: tuple[str, ...] = ()
    """The signs of the meanings of its parts (`signs_of`); of the nearest items, those that they fit come
    first."""
    limit: int
    at: datetime | None = None
    """The time that it is, where items fade by hours; None where they fade by prompts."""
    is_for_input: bool = False
    """Whether what the GM pinned or confirmed has places of its own among what is found, and the chapters
    before the one that asks are read too."""

    @property
    def candidates(self) -> int:
        """Number of candidates for each way of searching."""
        return max(LEAST_CANDIDATES, self.limit)

    @property
    def size(self) -> int:
        """About how many items there are: as many as prompts."""
        return sum(max(1, scope.now) for scope in self.scopes)

    def scopes_by_id(self) -> dict[SessionId, Scope]:
        """Return the chapters by their ids."""
        return {scope.session_id: scope for scope in self.scopes}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVector:
    """The meaning of one version of an item."""

    session_id: SessionId
    item_id: ItemId
    version: int
    vector: Vector
    name_parts: tuple[Vector, Vector] | None = None
    """The meanings of the first and the last part of its name; of two such parts many names are made."""


class Candidate(NamedTuple):
    """An item that has some of the words, or is near by meaning. An input looks at hundreds."""

    item: Item
    score: float | None = None
    """Score of its words; None for one that was found by meaning alone."""
    words: tuple[str, ...] = ()
    similarity: float | None = None
    """The cosine; None for one that was found by words alone."""
    nearness: float | None = None
    """The rank by meaning goes by it, where the query has spans; else by the cosine."""
    access: ItemAccess | None = None
    """Earlier recalls by the chapter that asks."""


class Found(NamedTuple):
    """An item that was found, and why."""

    item: Item
    strength: float
    """Share of its importance that has not faded, 0 to 1."""
    words: tuple[str, ...] = ()
    similarity: float | None = None
    access_count: int = 0


def signs_of(vector: Iterable[float]) -> str:
    """Return which numbers of a vector are positive, as ones and noughts.

    The share of signs in which two vectors differ is about that of the angle between them, in a hundredth of
    the room: the parts of a name are only compared, among a few hundred items.
    """
    return "".join(["1" if number > 0 else "0" for number in vector])


def _fit(score: float, size: int) -> float:
    """Return how much the words of an item tell, 0 to 1: all where it has a rare one, such as a name.

    Words that many items have are met by chance; without this the best of them would count as much as the
    item that is nearest by meaning.
    """
    rare = log(1 + size / (_RARE * size + 0.5))
    return float(min(1.0, score / rare) ** 2)


def merged(candidates: Iterable[Candidate], query: Query) -> tuple[Found, ...]:
    """Return the best of the candidates, by both ranks and their strength.

    Of two with the same rank the newer and then the more important one comes first, whatever the order of
    `candidates`; a branch has items with the ids of those of its chapter. Without places of their own
    (`_with_places`) pinned ones come first.
    """
    listed = list(candidates)
    by_words = _ranks([one.score for one in listed])
    by_meaning = _ranks([_nearness(one) for one in listed])
    ranked: list[tuple[bool, float, tuple[int, float, ItemId, SessionId, int]]] = []
    kept: list[int] = []
    strengths: list[float] = []
    scopes, size, at = query.scopes_by_id(), query.size, query.at
    asks = scopes.get(query.session_id)
    has_places = query.is_for_input
    chapter: SessionId | None = None
    now = counted = 0
    for number, (item, score, _, _, _, access) in enumerate(listed):
        if item.session_id is not chapter:  # an id takes long to look up, and most items are of one chapter
            chapter = item.session_id
            now = scopes[chapter].now
            # Both are counted on in the chapter's own prompts; the recall was counted in those of the one
            # that asks.
            counted = now - asks.now if asks else 0
        strength = strength_of(item, now, None if access is None else access.last_accessed + counted, at)
        strengths.append(strength)
        share = _fit(score, size) / (_RANKS + by_words[number]) if score is not None else 0.0
        if by_meaning[number]:
            share += 1 / (_RANKS + by_meaning[number])
        if has_places and not item.is_fading and (share or item.is_pinned):
            kept.append(number)
        if share:
            is_first = item.is_pinned and not has_places
            share *= _FADED + (1 - _FADED) * strength
            order = -item.prompt_index, -item.importance, item.id, item.session_id, number
            ranked.append((not is_first, -share, order))
    ranked.sort()
    best = [order[-1] for *_, order in ranked]
    if kept:
        kept.sort(key=lambda number: _nearest_first(listed[number]))
        best = _with_places(
            best, kept, {number for number in kept if listed[number].item.is_pinned}, query.limit
        )
    return tuple([_found(listed[number], strengths[number]) for number in best[: query.limit]])


def _found(one: Candidate, strength: float) -> Found:
    item, _, words, similarity, _, access = one
    return Found(item, strength, words, similarity, 0 if access is None else access.access_count)


def _nearness(one: Candidate) -> float | None:
    """Return how near an item is by meaning; None where it is about something else."""
    if one.similarity is None or one.similarity < LEAST_SIMILARITY:
        return None
    return one.similarity if one.nearness is None else one.nearness


def _with_places(found: Sequence[int], kept: Sequence[int], pinned: Container[int], limit: int) -> list[int]:
    """Return the numbers of found items with the pinned and confirmed ones at their places, each once.

    They are spread over the list, so that whatever has room of it has its share of them.
    """
    listed: dict[int, None] = {}

    def others(numbers: Iterable[int]) -> Iterator[int]:
        return (one for one in numbers if one not in listed)

    first, confirmed, left = others(one for one in kept if one in pinned), others(kept), others(found)
    for place in range(limit):
        is_for_kept = place % KEPT_EVERY == KEPT_EVERY // 2
        order = (confirmed, left) if is_for_kept else (left, confirmed)
        one = next(chain(*((first, left, confirmed) if place % PINNED_EVERY == 0 else order)), None)
        if one is None:
            break
        listed[one] = None
    return list(listed)


def words_of(text: str, weight: float = 1.0) -> Iterator[QueryWord]:
    """Yield the words of a text, in lower case and composed, as the store has those of items.

    One with a capital inside a sentence is taken for a name.
    """
    text = composed(text)
    for found in _TOKEN.finditer(text):
        word = found[0]
        if word.isascii() or not _is_unspaced(word):
            yield QueryWord(_lowered(word), weight, word[0].isupper() and not _begins(text, found.start()))
        else:
            yield from (QueryWord(_lowered(piece), weight) for piece in _pieces(word))


def _is_unspaced(word: str) -> bool:
    return _UNSPACED.search(word) is not None


def _pieces(token: str) -> Iterator[str]:
    """Yield each two characters beside each other of Chinese or Japanese, each three of a spelled script.

    What is in another script is one piece. The store makes the words of items alike.
    """
    for run in _RUN.finditer(token):
        length = 2 if run["cjk"] else 3 if run["spelled"] else len(run[0])
        for place in range(max(1, len(run[0]) - length + 1)):
            yield run[0][place : place + length]


def _begins(text: str, place: int) -> bool:
    """Whether a sentence begins at a place of a text."""
    while place and text[place - 1] == " ":
        place -= 1
    return not place or text[place - 1] in _ENDS


def _lowered(word: str) -> str:
    """Return a word in lower case letter by letter, as the store has it: “ß” and the “ς” at an end stay."""
    return word.lower() if word.isascii() else "".join(letter.lower()[0] for letter in word)


def capitalised(text: str) -> Iterator[str]:
    """Yield the words of a text that begin with a capital, in lower case; some of them are names."""
    return (_lowered(found[0]) for found in _TOKEN.finditer(composed(text)) if found[0][0].isupper())


def query_words(parts: Sequence[tuple[str, float]]) -> tuple[QueryWord, ...]:
    """Return the words of texts with their weights, each once, the most telling first.

    A number or a name tells more than another word, and a long word more than a short one: the most common
    words of a language are short. Hiragana alone is mostly grammar.
    """
    best: dict[str, QueryWord] = {}
    for text, weight in parts:
        for one in words_of(text, weight):
            if len(one.word) < 2 and not one.word.isdecimal():
                continue
            known = best.get(one.word)
            if known is None or (one.weight, one.is_name) > (known.weight, known.is_name):
                is_name = one.is_name or (known is not None and known.is_name)
                best[one.word] = QueryWord(one.word, max(one.weight, known.weight if known else 0.0), is_name)
    ordered = sorted(best.values(), key=lambda one: -_told_by(one))
    room = accumulate(0.5 if _is_unspaced(one.word) else 1.0 for one in ordered)
    return tuple(one for one, taken in zip(ordered, room, strict=True) if taken <= MOST_WORDS)


def _told_by(one: QueryWord) -> float:
    if _is_unspaced(one.word):
        return one.weight * (0.4 if _HIRAGANA.fullmatch(one.word) else 1.0)
    is_telling = one.is_name or one.word.isdecimal()
    return one.weight * (2.0 if is_telling else min(len(one.word), 8) / 5)


def _ranks(values: Sequence[float | None]) -> list[int]:
    """Return the ranks of values, from 1 for the greatest, and 0 for none; equal ones share a rank."""
    ranks = [0] * len(values)
    rank, last = 0, None
    with_values = sorted([(-value, place) for place, value in enumerate(values) if value is not None])
    for number, (value, place) in enumerate(with_values, start=1):
        rank, last = (rank if value == last else number), value
        ranks[place] = rank
    return ranks


def _nearest_first(one: Candidate) -> tuple[float, float, int, float, ItemId, SessionId]:
    near, item = one.similarity if one.nearness is None else one.nearness, one.item
    order = -item.prompt_index, -item.importance, item.id, item.session_id
    return _FARTHEST if near is None else -near, -(one.score or 0.0), *order
