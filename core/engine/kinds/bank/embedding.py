"""Makes vectors of the items of a memory bank, so that they are found by their meaning (design 15).

Where the GM searches a chapter, also of the pieces of its transcript, its memory and its drafts.

Each batch is stored at once, and what has a vector is not asked about again: work that was stopped goes on
where it was. Items that are stored meanwhile are part of it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.domain.bank.item import Item
from core.domain.bank.pieces import Piece, PieceVector
from core.domain.bank.recall import ItemVector, Vector
from core.domain.ids import ItemId, SessionId
from core.domain.requests.request import BackgroundRequest
from core.engine.kinds.base import BackgroundHandler, Job
from core.engine.kinds.outcome import Failed
from core.engine.recall.texts import lacking_pieces
from core.gateway.call_records import CallRecords
from core.gateway.embedding_service import Embedded
from core.providers.embedding.base import mean_of

MOST_IN_A_BATCH: Final = 64
_BETWEEN_PARTS: Final = re.compile(r"[,;:、，；：]")
OF_TEXTS: Final = "texts"
"""Payload of a request for the vectors of the chapter's texts too, for the GM's search."""


@dataclass(frozen=True, slots=True)
class VectorsMade:
    """Every item has its vector, or none can be made here."""


class EmbeddingHandler(BackgroundHandler[VectorsMade]):
    """Handles requests for vectors, of this chapter and of the earlier ones of its book."""

    stores_its_calls = True

    async def run(self, job: Job, request: BackgroundRequest) -> tuple[VectorsMade | Failed, CallRecords]:
        """Make the vectors that are missing, the newest items first."""
        model, bank = job.calls.embedding_model, job.store.bank
        if model is None or not job.snapshot.session.keeps_bank or not await bank.can_recall_by_meaning():
            return VectorsMade(), CallRecords()
        session_id = job.snapshot.session.id
        chapters = [session_id, *(one.session_id for one in await bank.earlier_chapters(session_id))]
        size = max(1, min(job.calls.embedding_batch, MOST_IN_A_BATCH))
        pieces = await lacking_pieces(job.store, chapters, model) if request.text == OF_TEXTS else []
        seen: set[tuple[ItemId, int]] = set()
        is_on_record = False
        while True:
            items = await bank.unembedded(chapters, model, max(1, size // 2))  # each has two texts or more
            # A vector of an item that was deleted meanwhile is not kept: it is asked about once.
            if items and any((item.id, item.version) not in seen for item in items):
                seen |= {(item.id, item.version) for item in items}
                texts = all_texts_of(items)
                made = await self._made(job, texts)
                by_text = dict(zip(texts, made.vectors, strict=False))
                vectors = [one for item in items if (one := meaning_of(item, by_text)) is not None]
                await bank.put_vectors(model, vectors)
            elif pieces:
                batch, pieces = pieces[:size], pieces[size:]
                made = await self._made(job, [piece.text for _, piece in batch])
                for session_id, own in _by_chapter(batch, made.vectors).items():
                    await bank.put_piece_vectors(session_id, model, own)
            else:
                return VectorsMade(), CallRecords()
            is_on_record = is_on_record or bool(made.call_records.artifacts)
            if made.error is not None:
                return Failed(made.error, is_on_record=is_on_record), CallRecords()

    async def _made(self, job: Job, texts: Sequence[str]) -> Embedded:
        """Return the vectors of texts, whose call is on record before they are stored: it was paid for."""
        made = await job.calls.embed(texts)
        await job.calls.keep(made.call_records)
        return made


def _by_chapter(
    pieces: Sequence[tuple[SessionId, Piece]], vectors: Sequence[Vector]
) -> dict[SessionId, list[PieceVector]]:
    """Return the vectors of the first pieces, all if nothing went wrong, by their chapters."""
    made: dict[SessionId, list[PieceVector]] = {}
    for (session_id, piece), vector in zip(pieces, vectors, strict=False):
        made.setdefault(session_id, []).append(PieceVector(piece.hash, vector))
    return made


def texts_to_embed(item: Item) -> tuple[str, ...]:
    """Return the texts of an item whose meanings are looked for.

    What it says, what it is about, and the first and the last part of that: “the smith” and “the mill”.
    """
    parts = [part.strip() for part in _BETWEEN_PARTS.split(item.name) if part.strip()] or [item.name]
    return f"{item.name}. {item.text}", item.name, parts[0], parts[-1]


def all_texts_of(items: Sequence[Item]) -> list[str]:
    """Return the texts of items, each once."""
    return list(dict.fromkeys(text for item in items for text in texts_to_embed(item)))


def meaning_of(item: Item, vectors: Mapping[str, Vector]) -> ItemVector | None:
    """Return the meaning of an item from the vectors of texts; None where one of its own is missing.

    The subject of an item counts as much as its text: a question mostly describes the one, and asks
    for the other.
    """
    found = [vectors[text] for text in texts_to_embed(item) if text in vectors]
    if len(found) < len(texts_to_embed(item)):
        return None
    said, about, first, last = found
    return ItemVector(
        session_id=item.session_id,
        item_id=item.id,
        version=item.version,
        vector=mean_of((said, about)),
        name_parts=(first, last),
    )
