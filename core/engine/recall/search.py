"""The GM's search: over transcript, memory, bank and drafts of a chapter, or of a whole book (design 15).

Every word must be in a text, or begin a word of it. Items of the bank, and the events that prove them, are
also found by their meaning. What has the words comes before what has their meaning alone, and of both the
items come first, the others by how new they are. The GM knows everything, so that no label counts here. Where
nothing has the words, a name may be spelled otherwise than in the story, and what is most like it is looked
for instead.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final, NamedTuple, TypeVar

from core.domain.bank.details import texts_of
from core.domain.bank.item import Item
from core.domain.bank.recall import Found, Query, Scope, query_words
from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.engine.recall.asking import Embed, Meaning
from core.engine.recall.hits import MOST_HITS, GivenUp, Hit, SearchedChapter, hit_of_item
from core.engine.recall.texts import HitPlace, KeptTexts
from core.engine.recall.words import MARKS, Matcher, matcher_of
from core.storage.bank_store import BankStore
from core.storage.session_store import SessionStore
from core.text.analysis.trigrams import FEWEST_LETTERS, nearest
from core.text.cleaning import clean_line
from core.text.graphemes import head

T = TypeVar("T")
LONGEST_SEARCH: Final = 500
ITEMS_AT_ONCE: Final = 200
"""Items that may have the words and are read at once; most of these have them."""
MOST_NEAR: Final = 20
"""Pieces of texts that are found by their meaning."""
LEAST_NEAR: Final = 0.35
"""The cosine of a piece that is near enough: prose is about more than one thing, and an item is not."""


class Searched(NamedTuple):
    """The outcome of a search."""

    hits: tuple[Hit, ...] = ()
    unread: tuple[int, ...] = ()
    """The numbers of chapters that cannot be read, so that nothing was looked for there."""

    @property
    def gap(self) -> str:
        """Return which chapters were not searched, as a clause; empty where all were."""
        if not self.unread:
            return ""
        chapters = "chapters" if len(self.unread) > 1 else "chapter"
        return f"{chapters} {', '.join(map(str, self.unread))} cannot be read"


async def search(
    store: SessionStore,
    chapters: Sequence[SessionId],
    text: str,
    embed: Embed | None = None,
    texts: KeptTexts | None = None,
) -> Searched:
    """Return what is found in these chapters, of which some may be unreadable; raises StorageError.

    `texts` are those that an earlier search has read, and keeps what this one reads.
    """
    text = head(clean_line(text), LONGEST_SEARCH)
    if not text:
        return Searched()
    read, unread = await _read(store, chapters, texts or KeptTexts(store))
    hits, has_words = await _search(store.bank, read, text, embed)
    if has_words:
        return Searched(hits, unread)
    names = await _names(store.bank, read)
    other = await _in_thread(lambda is_given_up: with_likely_names(text, names, is_given_up))
    if other == text:
        return Searched(hits, unread)
    found, _ = await _search(store.bank, read, other, None)
    places = {hit.where for hit in found}
    instead = (replace(hit, instead=other) for hit in found)
    return Searched((*instead, *(hit for hit in hits if hit.where not in places)), unread)


async def _read(
    store: SessionStore, chapters: Sequence[SessionId], texts: KeptTexts
) -> tuple[Sequence[SearchedChapter], tuple[int, ...]]:
    """Return the chapters with their texts, and the numbers of those that cannot be read.

    Raises StorageError where no chapter can be read, or the database cannot.
    """
    read: list[SearchedChapter] = []
    unread: list[int] = []
    for number, session_id in enumerate(chapters, start=1):
        try:
            snapshot = await store.load(session_id)
            names = [name for one in snapshot.cast.playing for name in (one.name, *one.profile.aliases)]
            found = await texts.of(snapshot.session)
            read.append(SearchedChapter(snapshot.session, names, number, found))
        except StorageError as error:
            texts.forget(session_id)
            if error.is_transient or len(unread) + 1 == len(chapters):
                raise
            unread.append(number)
    return read, tuple(unread)


async def _in_thread(work: Callable[[GivenUp], T]) -> T:
    """Return the result of work in a thread, which is told when its result is outdated."""
    given_up = threading.Event()
    try:
        return await asyncio.to_thread(work, given_up.is_set)
    finally:
        given_up.set()


def with_likely_names(text: str, names: Collection[str], is_given_up: GivenUp = lambda: False) -> str:
    """Return a search in which words that are not names are replaced by the most similar names."""
    known = {name.casefold() for name in names}
    words = text.split()
    return " ".join(
        word if is_given_up() or word.casefold() in known else nearest(word.strip(MARKS), names) or word
        for word in words
    )


async def _names(bank: BankStore, chapters: Sequence[SearchedChapter]) -> Collection[str]:
    """Return the words of the names of the cast, and of the people and places of the banks."""
    names = [name for one in chapters for name in one.names]
    names += await bank.all_names([one.id for one in chapters if one.session.keeps_bank])
    words = (word.strip(MARKS) for name in names for word in clean_line(name).split())
    return {word for word in words if len(word) >= FEWEST_LETTERS - 1}


async def _search(
    bank: BankStore, chapters: Sequence[SearchedChapter], text: str, embed: Embed | None
) -> tuple[tuple[Hit, ...], bool]:
    """Return what is found, and whether some of it has the words."""
    matches = matcher_of(text)
    if matches is None:
        return (), False
    sessions = [one.session for one in chapters]
    scopes = [
        Scope(session_id=one.id, mask=0, now=0, language=one.language) for one in sessions if one.keeps_bank
    ]
    meaning: Meaning | None = None
    if embed is not None and scopes and await bank.can_recall_by_meaning():
        meaning = await embed(text)
    items = await _recalled(bank, scopes, text, meaning)
    items = await _with_words(bank, scopes, matches, items)
    near = await _near(bank, [one.session_id for one in scopes], meaning)
    numbers = {chapter.id: chapter.number for chapter in chapters}
    hits = [hit_of_item(one, numbers[one.item.session_id]) for one in items]
    for chapter in chapters:
        hits += await _in_thread(partial(chapter.hits, matches, near.get(chapter.id, {})))
        proved = [one for one in items if one.item.session_id == chapter.id]
        hits += chapter.of_proofs(proved, hits)
    order = list(HitPlace)
    whole = {str(one.item.id) for one in items if matches(_searched(one.item))}

    def rank(hit: Hit) -> tuple[int, int]:
        """Return 0 for all of the words, 1 for some of them, which only the bank finds, 2 for none."""
        of_words = 0 if hit.has_words else 2
        if hit.place is HitPlace.BANK:
            of_words = 0 if hit.source in whole else max(1, of_words)
        return of_words, order.index(hit.place)

    ranked = sorted(hits, key=rank)
    return tuple(ranked), bool(ranked) and rank(ranked[0])[0] == 0


async def _recalled(
    bank: BankStore, scopes: Sequence[Scope], text: str, meaning: Meaning | None
) -> Sequence[Found]:
    """Return items that have the words or the meaning, the best first, of chapters that keep a bank."""
    if not scopes:
        return ()
    query = Query(
        session_id=scopes[-1].session_id,
        scopes=tuple(scopes),
        words=query_words([(text, 1.0)]),
        vector=None if meaning is None else meaning.numbers,
        model="" if meaning is None else meaning.model,
        spans=() if meaning is None else meaning.spans,
        limit=MOST_HITS,
    )
    return await bank.recall(query)


async def _with_words(
    bank: BankStore, scopes: Sequence[Scope], matches: Matcher, items: Sequence[Found]
) -> Sequence[Found]:
    """Return items with those that have all of the words as they are typed, also where these only begin one.

    Recall looks for whole words, and passes over those that very many items have.
    """
    found = {one.item.id: one for one in items}
    for scope in scopes:
        for item in await _items_with(bank, scope.session_id, matches):
            known = found.get(item.id, Found(item, 1.0))
            found[item.id] = known._replace(words=known.words or (item.name,))
    return tuple(found.values())


async def _items_with(bank: BankStore, session_id: SessionId, matches: Matcher) -> Sequence[Item]:
    """Return the newest items of a chapter that have all of the words, at most `MOST_HITS`."""
    found: list[Item] = []

    def chosen(some: Sequence[Item]) -> list[Item]:
        return [one for one in some if matches(_searched(one))]

    for skipped in count(0, ITEMS_AT_ONCE):
        some = await bank.having(session_id, matches.words, most=ITEMS_AT_ONCE, skipped=skipped)
        found += await asyncio.to_thread(chosen, some)
        if len(found) >= MOST_HITS or len(some) < ITEMS_AT_ONCE:
            break
    return found[:MOST_HITS]


def _searched(item: Item) -> str:
    """Return all texts of an item, of which recall has the words too."""
    proofs = (one.words for one in item.evidence)
    return " ".join((item.name, item.text, *texts_of(item.details), *proofs))


async def _near(
    bank: BankStore, kept: Sequence[SessionId], meaning: Meaning | None
) -> Mapping[SessionId, Mapping[str, float]]:
    """Return the cosines of the pieces of texts that are near enough, by chapter and hash."""
    near: dict[SessionId, dict[str, float]] = {}
    if meaning is not None:
        for one in await bank.near_pieces(kept, meaning.model, meaning.numbers, MOST_NEAR):
            if one.similarity >= LEAST_NEAR:
                near.setdefault(one.session_id, {})[one.hash] = one.similarity
    return near
