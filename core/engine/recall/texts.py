"""The texts of a chapter that the GM's search reads: transcript, memory and drafts (design 15)."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from core.context.visibility import names_of
from core.domain.bank.pieces import Piece, pieces_of
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event, Role
from core.domain.story.memory import SECTION_TITLES, BlockType, MemoryBlock
from core.domain.story.transcript import in_order
from core.engine.recall.words import letters_of
from core.storage.session_store import SessionStore
from core.text.graphemes import Span


class HitPlace(StrEnum):
    """Place of a hit; the values are for people."""

    BANK = "memory bank"
    TRANSCRIPT = "transcript"
    MEMORY = "memory"
    DRAFT = "draft"


class Text(NamedTuple):
    """A text that is searched, and what a hit says of it."""

    place: HitPlace
    text: str
    prompt: int | None
    source: str
    who: str = ""
    part: int = 0
    told: str = ""
    """Its place in words, where that is not a prompt alone."""


class ChapterTexts(NamedTuple):
    """The searchable texts of a chapter."""

    session: Session
    events: Sequence[Event]
    blocks: Sequence[MemoryBlock]
    drafts: Sequence[NarrativeDraft]

    def texts(self, place: HitPlace) -> Iterator[Text]:
        """Yield the texts of one place, the newest first."""
        match place:
            case HitPlace.TRANSCRIPT:
                yield from map(self.of_event, reversed(in_order(self.events)))
            case HitPlace.MEMORY:
                for block in reversed(self.blocks):
                    yield from _of_block(block, self.session)
            case HitPlace.DRAFT:
                for draft in reversed(self.drafts):
                    who = f"draft {draft.version}"
                    yield Text(place, draft.text, None, str(draft.version), who)

    def of_event(self, event: Event) -> Text:
        """Return the text of an event."""
        name = self.session.name_of(event.slot) if event.slot else ""
        who = name or ("GM" if event.role is Role.USER else "")
        return Text(HitPlace.TRANSCRIPT, event.text, event.prompt_index, str(event.ordinal), who)


def _of_block(block: MemoryBlock, session: Session) -> Iterator[Text]:
    """Yield the texts of a block of memory, each with the section that has it."""
    told = _prompts_of(block)
    if not block.audience.is_everyone:
        told += f" for {names_of(block.audience, session)}"
    sections = ((key, text) for key, value in block.payload.items() for text in texts_within({key: value}))
    for part, (key, text) in enumerate(sections):
        section = (
            "" if block.type is BlockType.CANON_CORRECTION else SECTION_TITLES.get(key, key.replace("_", " "))
        )
        yield Text(HitPlace.MEMORY, text, block.last, str(block.id), section, part=part, told=told)


def _prompts_of(block: MemoryBlock) -> str:
    """Return the prompts that a block is about, in words."""
    if block.type is BlockType.WORLD_CHAPTER_LOCK:
        return "world and chapter"
    if block.type is BlockType.CANON_CORRECTION:
        after = block.corrects_after
        return f"correction after prompt {after:,}" if after else "correction"
    return PromptRange(block.first, block.last).named


PLACES = (HitPlace.TRANSCRIPT, HitPlace.MEMORY, HitPlace.DRAFT)
"""The places that have texts, in the order of a search."""
_Piece = tuple[int, Span]
"""The number of a text of its place, and where it has a piece."""


class SearchedTexts:
    """The texts of a chapter, made ready to be searched again and again."""

    def __init__(self, read: ChapterTexts) -> None:
        """Make ready; a long chapter takes some tenths of a second."""
        self._texts = {place: [(one, letters_of(one.text)) for one in read.texts(place)] for place in PLACES}
        self._pieces: Mapping[HitPlace, Mapping[str, Sequence[_Piece]]] | None = None
        self.played = {event.log_place: read.of_event(event) for event in read.events}
        """The events by their places in the log."""

    def of(self, place: HitPlace) -> Sequence[tuple[Text, str]]:
        """Return the texts of one place, the newest first, each with its letters."""
        return self._texts[place]

    def pieces(
        self, place: HitPlace, hashes: Iterable[str]
    ) -> Iterator[tuple[Text, Sequence[tuple[str, Span]]]]:
        """Yield the texts of one place that have such pieces, the newest first, with these."""
        if self._pieces is None:
            self._pieces = {place: _pieces_of(self._texts[place]) for place in PLACES}
        found: dict[int, list[tuple[str, Span]]] = {}
        for key in hashes:
            for number, span in self._pieces[place].get(key, ()):
                found.setdefault(number, []).append((key, span))
        for number in sorted(found):
            text, _ = self._texts[place][number]
            yield text, sorted(found[number], key=lambda one: one[1])


def _pieces_of(texts: Sequence[tuple[Text, str]]) -> Mapping[str, Sequence[_Piece]]:
    """Return where texts have pieces, by the hashes of these."""
    places: dict[str, list[_Piece]] = {}
    for number, (text, _) in enumerate(texts):
        for piece in pieces_of(text.text):
            places.setdefault(piece.hash, []).append((number, (piece.start, piece.end)))
    return places


class KeptTexts:
    """The texts of the chapters of one search, read once and again where they are others by then.

    Before each use the store says what a chapter has now, so that nothing is found which was taken back.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._kept: dict[SessionId, tuple[object, asyncio.Task[SearchedTexts]]] = {}

    async def of(self, session: Session) -> SearchedTexts:
        """Return the texts of a chapter as they are now; raises StorageError.

        When this is cancelled, the reading goes on, for the search of the next letters.
        """
        mark = await self._store.story_mark(session.id), session.roster
        known = self._kept.get(session.id)
        if known is None or known[0] != mark or _has_failed(known[1]):
            self._drop(session.id)
            known = mark, asyncio.create_task(self._read(session), name="read texts")
            self._kept[session.id] = known
        return await asyncio.shield(known[1])

    def forget(self, session_id: SessionId) -> None:
        """Drop the texts of a chapter that cannot be read any more."""
        self._drop(session_id)

    def close(self) -> None:
        """Drop all texts, and end what is being read."""
        for session_id in tuple(self._kept):
            self._drop(session_id)

    def _drop(self, session_id: SessionId) -> None:
        if (known := self._kept.pop(session_id, None)) is not None:
            known[1].cancel()

    async def _read(self, session: Session) -> SearchedTexts:
        return await asyncio.to_thread(SearchedTexts, await read_texts(self._store, session))


def _has_failed(reading: asyncio.Task[SearchedTexts]) -> bool:
    """Whether a reading is over and has given nothing."""
    return reading.done() and (reading.cancelled() or reading.exception() is not None)


async def lacking_pieces(
    store: SessionStore, chapters: Sequence[SessionId], model: str
) -> list[tuple[SessionId, Piece]]:
    """Return the pieces of the texts of chapters that keep a bank without a vector of a model.

    Each is there once for each chapter; those of the transcript come first, the newest first.
    """
    lacking: list[tuple[SessionId, Piece]] = []
    for session_id in chapters:
        session = (await store.load(session_id)).session
        if session.keeps_bank:
            pieces = await asyncio.to_thread(_pieces_in, await read_texts(store, session))
            missing = await store.bank.unembedded_pieces(session_id, model, pieces.keys())
            lacking += [(session_id, piece) for key, piece in pieces.items() if key in missing]
    return lacking


def _pieces_in(read: ChapterTexts) -> dict[str, Piece]:
    """Return the pieces of the texts of a chapter by their hashes."""
    pieces = (piece for place in PLACES for text in read.texts(place) for piece in pieces_of(text.text))
    return {piece.hash: piece for piece in pieces}


async def read_texts(store: SessionStore, session: Session) -> ChapterTexts:
    """Read the texts of a chapter; raises StorageError."""
    return ChapterTexts(
        session,
        await store.canon(session.id),
        await store.blocks(session.id),
        await store.drafts(session.id),
    )


def texts_within(value: object) -> Iterator[str]:
    """Yield the texts of a block of memory, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            if key != "memory_type":
                yield from texts_within(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_within(one)
