"""The GM's search: over transcript, memory, bank and drafts of a chapter, or of a whole book (design 15).

Every word must be in a text, or begin a word of it. Items of the bank are also found by their meaning, and
come first, and so are the events that prove them, after those that have the words; the others come by how
new they are. The GM knows everything, so that no label counts here. Where nothing has the words, a name may
be spelled otherwise than in the story, and what is most like it is looked for instead.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from core.domain.bank.details import ItemKind
from core.domain.bank.recall import Found, Query, Scope, query_words
from core.domain.ids import SessionId
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event, Role
from core.domain.story.memory import MemoryBlock
from core.domain.story.transcript import in_order
from core.engine.recall.asking import Embed
from core.store import SessionStore
from core.text.cleaning import clean_line
from core.text.graphemes import head, tail
from core.text.trigrams import FEWEST_LETTERS, nearest

MOST_HITS: Final = 50
"""Hits of each place."""
LONGEST_SEARCH: Final = 500
_MARKS: Final = ".,;:!?…'’\"“”„()[]"
_BEFORE, _AFTER = 60, 140
"""Characters of an excerpt before and after the first word."""


class Place(StrEnum):
    """Where something was found; the values are for people."""

    BANK = "memory bank"
    TRANSCRIPT = "transcript"
    MEMORY = "memory"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One text that was found."""

    session_id: SessionId
    chapter: int
    """Its number among the chapters that were searched, from 1."""
    place: Place
    prompt: int | None = None
    """The last prompt that it is from; None for a draft."""
    source: str
    """What the text is of: the ordinal of an event, the id of a block or an item, the number of a version."""
    part: int = 0
    """Which of the texts of a block it is, from 0."""
    who: str = ""
    """The name of the speaker, or of the item."""
    excerpt: str
    text: str
    start: int = 0
    end: int
    """The first word that was found, as characters of the text; all of it where its meaning was."""
    instead: str = ""
    """The search that found it, where nothing has the words that were typed."""
    similarity: float | None = None
    """The cosine of an item that was found by its meaning, or of one that this event proves."""

    @property
    def where(self) -> tuple[SessionId, Place, int | None, str, int]:
        """Which text it is."""
        return self.session_id, self.place, self.prompt, self.source, self.part


async def search(
    store: SessionStore, chapters: Sequence[SessionId], text: str, embed: Embed | None = None
) -> tuple[Hit, ...]:
    """Return what is found in these chapters; raises StorageError."""
    text = head(clean_line(text), LONGEST_SEARCH)
    hits, has_words = await _search(store, chapters, text, embed)
    if has_words or not text:
        return hits
    names = await _names(store, chapters)
    other = await asyncio.to_thread(respelled, text, names)
    if other == text:
        return hits
    found, _ = await _search(store, chapters, other, None)
    places = {hit.where for hit in found}
    return (
        *(replace(hit, instead=other) for hit in found),
        *(hit for hit in hits if hit.where not in places),
    )


def respelled(text: str, names: Collection[str]) -> str:
    """Return a search with the names of the story that are most like its words, where these are no names."""
    known = {name.casefold() for name in names}
    words = text.split()
    return " ".join(
        word if word.casefold() in known else nearest(word.strip(_MARKS), names) or word for word in words
    )


async def _names(store: SessionStore, chapters: Sequence[SessionId]) -> Collection[str]:
    """Return the words of the names of the cast, and of the people and places of the banks."""
    names: list[str] = []
    for one in chapters:
        snapshot = await store.load(one)
        for character in snapshot.cast.playing:
            names += (character.name, *character.profile.aliases)
        if snapshot.session.keeps_bank:
            items = await store.bank.items(one, kinds={ItemKind.PERSON, ItemKind.PLACE})
            names += (item.name for item in items)
    words = (word.strip(_MARKS) for name in names for word in clean_line(name).split())
    return {word for word in words if len(word) >= FEWEST_LETTERS - 1}


async def _search(
    store: SessionStore, chapters: Sequence[SessionId], text: str, embed: Embed | None
) -> tuple[tuple[Hit, ...], bool]:
    """Return what is found, and whether some of it has the words."""
    matches = matcher_of(text)
    if matches is None:
        return (), False
    items = await _recalled(store, chapters, text, embed)
    hits = [_of_item(one, chapters) for one in items]
    for number, session_id in enumerate(chapters, start=1):
        names = dict((await store.load(session_id)).session.roster)
        events = await store.canon(session_id)
        blocks, drafts = await store.blocks(session_id), await store.drafts(session_id)
        found = _Chapter(session_id, number, {int(slot): name for slot, name in names.items()})
        # A long chapter takes some tenths of a second.
        hits += await asyncio.to_thread(found.hits, matches, events, blocks, drafts)
        proved = [one for one in items if one.item.session_id == session_id]
        hits += found.of_proofs(proved, events, hits)
    order = list(Place)
    # The bank is searched for some of the words; here all of them count.
    has_words = any(
        matches(f"{hit.who} {hit.text}") if hit.place is Place.BANK else hit.similarity is None
        for hit in hits
    )
    return tuple(sorted(hits, key=lambda hit: order.index(hit.place))), has_words


Matcher = Callable[[str], tuple[int, int] | None]
"""Returns where the first word of a search begins and ends in a text that has all; None where it has not."""


def matcher_of(text: str) -> Matcher | None:
    """Return what finds the words of a search; None where it has none."""
    words = [re.compile(rf"(?<!\w){re.escape(word)}\w*", re.IGNORECASE) for word in text.split()]
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

    return first


@dataclass(frozen=True, slots=True)
class _Chapter:
    session_id: SessionId
    number: int
    names: dict[int, str]

    def hits(
        self,
        matches: Matcher,
        events: Sequence[Event],
        blocks: Sequence[MemoryBlock],
        drafts: Sequence[NarrativeDraft],
    ) -> list[Hit]:
        """Return what is found, the newest first."""
        return [
            *self._found(matches, Place.TRANSCRIPT, map(self._of_event, reversed(in_order(events)))),
            *self._found(matches, Place.MEMORY, _of_blocks(blocks)),
            *self._found(matches, Place.DRAFT, _of_drafts(drafts)),
        ]

    def of_proofs(
        self, items: Sequence[Found], events: Sequence[Event], known: Sequence[Hit]
    ) -> Iterator[Hit]:
        """Yield the events that prove items which were found by their meaning, the best first, each once."""
        there = {(self.session_id, hit.prompt, hit.source) for hit in known if hit.place is Place.TRANSCRIPT}
        played = {(event.prompt_index, event.take, event.ordinal): event for event in events}
        for one in items:
            for proof in one.item.evidence if one.similarity is not None else ():
                event = played.get(proof.place)
                place = self.session_id, proof.prompt_index, str(proof.ordinal)
                if event is None or place in there:
                    continue
                there.add(place)
                yield self._hit(
                    Place.TRANSCRIPT, self._of_event(event), (proof.start, proof.end), one.similarity
                )

    def _of_event(self, event: Event) -> "_Text":
        name = self.names.get(int(event.slot), "") if event.slot else ""
        who = name or ("GM" if event.role is Role.USER else "")
        return _Text(event.text, event.prompt_index, str(event.ordinal), who)

    def _found(self, matches: Matcher, place: Place, texts: Iterator["_Text"]) -> Iterator[Hit]:
        count = 0
        for one in texts:
            span = matches(one.text)
            if span is None:
                continue
            count += 1
            if count > MOST_HITS:
                return
            yield self._hit(place, one, span)

    def _hit(self, place: Place, one: "_Text", span: tuple[int, int], similarity: float | None = None) -> Hit:
        return Hit(
            session_id=self.session_id,
            chapter=self.number,
            place=place,
            prompt=one.prompt,
            source=one.source,
            part=one.part,
            who=one.who,
            excerpt=excerpt_of(one.text, span[0]),
            text=one.text,
            start=span[0],
            end=span[1],
            similarity=similarity,
        )


class _Text(NamedTuple):
    """A text that is searched, and what a hit says of it."""

    text: str
    prompt: int | None
    source: str
    who: str = ""
    part: int = 0


def excerpt_of(text: str, start: int, before_it: int = _BEFORE) -> str:
    """Return the words around a place, on one line, of those before it so many characters."""
    before, after = tail(text[:start], before_it), head(text[start:], _AFTER)
    ends = ("…" if len(before) < start else "", "…" if len(after) < len(text) - start else "")
    return f"{ends[0]}{clean_line(before + after)}{ends[1]}"


async def _recalled(
    store: SessionStore, chapters: Sequence[SessionId], text: str, embed: Embed | None
) -> Sequence[Found]:
    """Return items that have the words or the meaning, the best first; nothing where no bank is kept."""
    kept = [one for one in chapters if (await store.load(one)).session.keeps_bank]
    if not kept:
        return ()
    meaning = await embed(text) if embed is not None else None
    query = Query(
        session_id=kept[-1],
        scopes=tuple(Scope(session_id=one, mask=0, now=0) for one in kept),
        words=query_words([(text, 1.0)]),
        vector=None if meaning is None else meaning.numbers,
        model="" if meaning is None else meaning.model,
        limit=MOST_HITS,
    )
    return await store.bank.recall(query)


def _of_item(one: Found, chapters: Sequence[SessionId]) -> Hit:
    item = one.item
    return Hit(
        session_id=item.session_id,
        chapter=chapters.index(item.session_id) + 1,
        place=Place.BANK,
        prompt=item.proved_at,
        source=str(item.id),
        who=clean_line(item.name),
        excerpt=excerpt_of(item.text, 0),
        text=item.text,
        end=len(item.text),
        similarity=one.similarity,
    )


def _of_blocks(blocks: Sequence[MemoryBlock]) -> Iterator[_Text]:
    for block in reversed(blocks):
        for part, text in enumerate(texts_of(block.payload)):
            yield _Text(text, block.last, str(block.id), part=part)


def texts_of(value: object) -> Iterator[str]:
    """Yield the texts of a block of memory, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            if key != "memory_type":
                yield from texts_of(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_of(one)


def _of_drafts(drafts: Sequence[NarrativeDraft]) -> Iterator[_Text]:
    for draft in reversed(drafts):
        yield _Text(draft.text, None, str(draft.version), f"version {draft.version}")
