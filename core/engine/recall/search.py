"""The GM's search: over transcript, memory, bank and drafts of a chapter, or of a whole book (design 15).

Every word must be in a text, or begin a word of it. Items of the bank, and the events that prove them, are
also found by their meaning. What has the words comes before what has their meaning alone, and of both the
items come first, the others by how new they are. The GM knows everything, so that no label counts here. Where
nothing has the words, a name may be spelled otherwise than in the story, and what is most like it is looked
for instead.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, NamedTuple

from core.domain.bank.details import NAMED
from core.domain.bank.pieces import pieces_of
from core.domain.bank.recall import Found, Query, Scope, query_words
from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.engine.recall.asking import Embed, Meaning
from core.engine.recall.texts import PLACES, ChapterTexts, HitPlace, Text, read_texts
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from core.text.analysis.trigrams import FEWEST_LETTERS, nearest
from core.text.cleaning import clean_line
from core.text.graphemes import composed, composed_with_places, head, is_composed, tail
from core.text.letters import LETTER, UNSPACED, WORD_BEGINS

MOST_HITS: Final = 50
"""Hits of each place."""
LONGEST_SEARCH: Final = 500
MOST_NEAR: Final = 20
"""Pieces of texts that are found by their meaning."""
LEAST_NEAR: Final = 0.35
"""The cosine of a piece that is near enough: prose is about more than one thing, and an item is not."""
_MARKS: Final = ".,;:!?…'’\"“”„()[]"
_BEFORE, _AFTER = 60, 140
"""Characters of an excerpt before and after the first word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One text that was found."""

    session_id: SessionId
    chapter: int
    """Its number among the chapters that were searched, from 1."""
    place: HitPlace
    prompt: int | None = None
    """The last prompt that it is from; None for a draft."""
    told: str = ""
    """Its place in words, where the number of a prompt does not say it: a range, a correction."""
    source: str
    """Id of its source: the ordinal of an event, the id of a block or an item, the number of a version."""
    part: int = 0
    """Index of the text within its block, from 0."""
    who: str = ""
    """The name of the speaker, of the item, or of the section of memory."""
    excerpt: str
    text: str
    start: int = 0
    end: int
    """The first word that was found, as characters of the text; all of it where its meaning was."""
    instead: str = ""
    """The search that found it, where nothing has the words that were typed."""
    similarity: float | None = None
    """The cosine of a text found by meaning, or of an item that this event proves."""
    has_words: bool = True
    """Whether it has a word that was searched for; else it was found by its meaning alone."""

    @property
    def by_meaning(self) -> str:
        """Return how near it is, where it was found by its meaning alone; else an empty text."""
        return "" if self.has_words or self.similarity is None else f"≈{self.similarity:.2f} "

    @property
    def prompts(self) -> str:
        """The prompts that it is from, in words; empty for a draft."""
        return self.told or ("" if self.prompt is None else f"prompt {self.prompt:,}")

    @property
    def where(self) -> tuple[SessionId, HitPlace, int | None, str, int]:
        """Identity of the text."""
        return self.session_id, self.place, self.prompt, self.source, self.part


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
    store: SessionStore, chapters: Sequence[SessionId], text: str, embed: Embed | None = None
) -> Searched:
    """Return what is found in these chapters, of which some may be unreadable; raises StorageError."""
    text = head(clean_line(text), LONGEST_SEARCH)
    if not text:
        return Searched()
    read, unread = await _read(store, chapters)
    hits, has_words = await _search(store, read, text, embed)
    if has_words:
        return Searched(hits, unread)
    names = await _names(store, read)
    other = await asyncio.to_thread(with_likely_names, text, names)
    if other == text:
        return Searched(hits, unread)
    found, _ = await _search(store, read, other, None)
    places = {hit.where for hit in found}
    instead = (replace(hit, instead=other) for hit in found)
    return Searched((*instead, *(hit for hit in hits if hit.where not in places)), unread)


async def _read(
    store: SessionStore, chapters: Sequence[SessionId]
) -> tuple[Sequence["_Chapter"], tuple[int, ...]]:
    """Return the chapters with their texts, and the numbers of those that cannot be read.

    Raises StorageError where no chapter can be read, or the database cannot.
    """
    read: list[_Chapter] = []
    unread: list[int] = []
    for number, session_id in enumerate(chapters, start=1):
        try:
            snapshot = await store.load(session_id)
            read.append(_Chapter(snapshot, number, await read_texts(store, snapshot.session)))
        except StorageError as error:
            if error.is_transient or len(unread) + 1 == len(chapters):
                raise
            unread.append(number)
    return read, tuple(unread)


def with_likely_names(text: str, names: Collection[str]) -> str:
    """Return a search in which words that are not names are replaced by the most similar names."""
    known = {name.casefold() for name in names}
    words = text.split()
    return " ".join(
        word if word.casefold() in known else nearest(word.strip(_MARKS), names) or word for word in words
    )


async def _names(store: SessionStore, chapters: Sequence["_Chapter"]) -> Collection[str]:
    """Return the words of the names of the cast, and of the people and places of the banks."""
    names: list[str] = []
    for one in chapters:
        for character in one.snapshot.cast.playing:
            names += (character.name, *character.profile.aliases)
        if one.snapshot.session.keeps_bank:
            items = await store.bank.items(one.id, kinds=NAMED)
            names += (item.name for item in items)
    words = (word.strip(_MARKS) for name in names for word in clean_line(name).split())
    return {word for word in words if len(word) >= FEWEST_LETTERS - 1}


async def _search(
    store: SessionStore, chapters: Sequence["_Chapter"], text: str, embed: Embed | None
) -> tuple[tuple[Hit, ...], bool]:
    """Return what is found, and whether some of it has the words."""
    matches = matcher_of(text)
    if matches is None:
        return (), False
    sessions = [one.snapshot.session for one in chapters]
    scopes = [
        Scope(session_id=one.id, mask=0, now=0, language=one.language) for one in sessions if one.keeps_bank
    ]
    meaning: Meaning | None = None
    if embed is not None and scopes and await store.bank.can_recall_by_meaning():
        meaning = await embed(text)
    items = await _recalled(store, scopes, text, meaning)
    if re.search(UNSPACED, text):
        items = await _with_unspaced(store, scopes, matches, items)
    near = await _near(store, [one.session_id for one in scopes], meaning)
    numbers = {chapter.id: chapter.number for chapter in chapters}
    hits = [_of_item(one, numbers[one.item.session_id]) for one in items]
    for chapter in chapters:
        # A long chapter takes some tenths of a second.
        hits += await asyncio.to_thread(chapter.hits, matches, near.get(chapter.id, {}))
        proved = [one for one in items if one.item.session_id == chapter.id]
        hits += chapter.of_proofs(proved, hits)
    order = list(HitPlace)

    def rank(hit: Hit) -> tuple[int, int]:
        """Return 0 for all of the words, 1 for some of them, which only the bank finds, 2 for none."""
        of_words = 0 if hit.has_words else 2
        if hit.place is HitPlace.BANK:
            of_words = 0 if matches(f"{hit.who} {hit.text}") else max(1, of_words)
        return of_words, order.index(hit.place)

    ranked = sorted(hits, key=rank)
    return tuple(ranked), bool(ranked) and rank(ranked[0])[0] == 0


Matcher = Callable[[str], tuple[int, int] | None]
"""Returns where the first word of a search begins and ends in a text that has all; None where it has not."""


def matcher_of(text: str) -> Matcher | None:
    """Return what finds the words of a search; None where it has none.

    Whether a letter and its accent are one character or two does not count.
    """
    words = [
        re.compile(rf"{WORD_BEGINS}{re.escape(word)}(?:{LETTER})*", re.IGNORECASE)
        for word in composed(text).split()
    ]
    if not words:
        return None

    def first(searched: str) -> tuple[int, int] | None:
        places = []
        for word in words:
            found = word.search(searched)
            if found is None:
                return None
            places.append(found.span())
        return min(places)

    def first_as_written(searched: str) -> tuple[int, int] | None:
        if is_composed(searched):
            return first(searched)
        joined, sources = composed_with_places(searched)
        place = first(joined)
        return place and (sources[place[0]][0], sources[place[1] - 1][1])

    return first_as_written


@dataclass(frozen=True, slots=True)
class _Chapter:
    snapshot: Snapshot
    number: int
    read: ChapterTexts

    @property
    def id(self) -> SessionId:
        return self.snapshot.session.id

    def hits(self, matches: Matcher, near: Mapping[str, float]) -> list[Hit]:
        """Return what has the words, the newest first, and then what is near by its meaning, the best first.

        `near` are the cosines of pieces by their hashes.
        """
        found = []
        for place in PLACES:
            by_words = list(islice(self._by_words(matches, place), MOST_HITS))
            known = {hit.where for hit in by_words}
            by_meaning = [hit for hit in self._by_meaning(near, place) if hit.where not in known]
            by_meaning.sort(key=lambda hit: -(hit.similarity or 0.0))
            found += [*by_words, *by_meaning]
        return found

    def _by_words(self, matches: Matcher, place: HitPlace) -> Iterator[Hit]:
        for one in self.read.texts(place):
            span = matches(one.text)
            if span is not None:
                yield self._hit(one, span)

    def _by_meaning(self, near: Mapping[str, float], place: HitPlace) -> Iterator[Hit]:
        """Yield each text that has a piece which is near, at the nearest of them."""
        for one in self.read.texts(place) if near else ():
            pieces = [(near[piece.hash], piece) for piece in pieces_of(one.text) if piece.hash in near]
            if pieces:
                similarity, piece = max(pieces, key=lambda pair: pair[0])
                yield self._hit(one, (piece.start, piece.end), similarity)

    def of_proofs(self, items: Sequence[Found], known: Sequence[Hit]) -> Iterator[Hit]:
        """Yield the events that prove items which were found by their meaning, the best first, each once."""
        there = {hit.where for hit in known}
        played = {(event.prompt_index, event.take, event.ordinal): event for event in self.read.events}
        for one in items:
            for proof in one.item.evidence if one.similarity is not None else ():
                event = played.get(proof.place)
                if event is None:
                    continue
                hit = self._hit(self.read.of_event(event), (proof.start, proof.end), one.similarity)
                if hit.where not in there:
                    there.add(hit.where)
                    yield hit

    def _hit(self, one: Text, span: tuple[int, int], similarity: float | None = None) -> Hit:
        return Hit(
            session_id=self.id,
            chapter=self.number,
            place=one.place,
            prompt=one.prompt,
            told=one.told,
            source=one.source,
            part=one.part,
            who=one.who,
            excerpt=excerpt_of(one.text, span[0]),
            text=one.text,
            start=span[0],
            end=span[1],
            similarity=similarity,
            has_words=similarity is None,
        )


def excerpt_of(text: str, start: int, before_it: int = _BEFORE) -> str:
    """Return the words around a place, on one line, of those before it so many characters."""
    before, after = tail(text[:start], before_it), head(text[start:], _AFTER)
    ends = ("…" if len(before) < start else "", "…" if len(after) < len(text) - start else "")
    return f"{ends[0]}{clean_line(before + after)}{ends[1]}"


async def _recalled(
    store: SessionStore, scopes: Sequence[Scope], text: str, meaning: Meaning | None
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
    return await store.bank.recall(query)


async def _with_unspaced(
    store: SessionStore, scopes: Sequence[Scope], matches: Matcher, items: Sequence[Found]
) -> Sequence[Found]:
    """Return items with those that have the words of a script without spaces; a database knows none there."""
    found = {one.item.id: one for one in items}
    for scope in scopes:
        own = reversed(await store.bank.items(scope.session_id))
        hits = islice((one for one in own if matches(f"{one.name} {one.text}")), MOST_HITS)
        for item in await asyncio.to_thread(list, hits):
            known = found.get(item.id, Found(item, 1.0))
            found[item.id] = known._replace(words=known.words or (item.name,))
    return tuple(found.values())


async def _near(
    store: SessionStore, kept: Sequence[SessionId], meaning: Meaning | None
) -> Mapping[SessionId, Mapping[str, float]]:
    """Return the cosines of the pieces of texts that are near enough, by chapter and hash."""
    near: dict[SessionId, dict[str, float]] = {}
    if meaning is not None:
        for one in await store.bank.near_pieces(kept, meaning.model, meaning.numbers, MOST_NEAR):
            if one.similarity >= LEAST_NEAR:
                near.setdefault(one.session_id, {})[one.hash] = one.similarity
    return near


def _of_item(one: Found, number: int) -> Hit:
    item = one.item
    return Hit(
        session_id=item.session_id,
        chapter=number,
        place=HitPlace.BANK,
        prompt=item.proved_at,
        source=str(item.id),
        who=clean_line(item.name),
        excerpt=excerpt_of(item.text, 0),
        text=item.text,
        end=len(item.text),
        similarity=one.similarity,
        has_words=bool(one.words) or one.similarity is None,
    )
