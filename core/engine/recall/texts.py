"""The texts of a chapter that the GM's search reads: transcript, memory and drafts (design 15)."""

import asyncio
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from core.domain.bank.pieces import Piece, pieces_of
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event, Role
from core.domain.story.memory import BlockType, MemoryBlock
from core.domain.story.transcript import in_order
from core.storage.session_store import SessionStore


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

    names: dict[int, str]
    """The characters by the numbers of their slots."""
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
                    yield from _of_block(block)
            case HitPlace.DRAFT:
                for draft in reversed(self.drafts):
                    who = f"version {draft.version}"
                    yield Text(place, draft.text, None, str(draft.version), who)

    def of_event(self, event: Event) -> Text:
        """Return the text of an event."""
        name = self.names.get(int(event.slot), "") if event.slot else ""
        who = name or ("GM" if event.role is Role.USER else "")
        return Text(HitPlace.TRANSCRIPT, event.text, event.prompt_index, str(event.ordinal), who)


def _of_block(block: MemoryBlock) -> Iterator[Text]:
    """Yield the texts of a block of memory, each with the section that has it."""
    sections = ((key, text) for key, value in block.payload.items() for text in texts_of({key: value}))
    for part, (key, text) in enumerate(sections):
        section = "" if block.type is BlockType.CANON_CORRECTION else key.replace("_", " ")
        yield Text(
            HitPlace.MEMORY, text, block.last, str(block.id), section, part=part, told=_prompts_of(block)
        )


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
        {int(slot): name for slot, name in session.roster},
        await store.canon(session.id),
        await store.blocks(session.id),
        await store.drafts(session.id),
    )


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
