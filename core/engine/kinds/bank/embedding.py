"""Makes vectors of the items of a memory bank, so that they are found by their meaning (design 15).

Where the GM searches a chapter, also of the pieces of its transcript, its memory and its drafts.

Each batch is stored at once, and what has a vector is not asked about again: work that was stopped goes on
where it was. Items that are stored meanwhile are part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.domain.bank.item import Item
from core.domain.bank.matching import Similar
from core.domain.bank.pieces import Piece, PieceVector
from core.domain.bank.recall import ItemVector, Query, Scope, Vector
from core.domain.ids import ItemId, SessionId
from core.domain.requests.request import BackgroundRequest
from core.engine.changes.moves import provenance
from core.engine.kinds.base import BackgroundHandler, Job
from core.engine.kinds.outcome import Failed
from core.engine.recall.texts import lacking_pieces
from core.gateway.call_records import CallRecords

MOST_IN_A_BATCH: Final = 64
OF_TEXTS: Final = "texts"
"""What a request says that is for the texts of the chapters too, as the GM searches them."""
MOST_NEAR: Final = 5
"""Items that a new one is compared with by meaning."""


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
        while True:
            items = await bank.unembedded(chapters, model, size)
            # A vector of an item that was deleted meanwhile is not kept: it is asked about once.
            if items and any((item.id, item.version) not in seen for item in items):
                seen |= {(item.id, item.version) for item in items}
                made = await job.calls.embed([text_of(item) for item in items])
                vectors = [
                    ItemVector(session_id=item.session_id, item_id=item.id, version=item.version, vector=one)
                    for item, one in zip(items, made.vectors, strict=False)
                ]
                await bank.put_vectors(model, vectors)
            elif pieces:
                batch, pieces = pieces[:size], pieces[size:]
                made = await job.calls.embed([piece.text for _, piece in batch])
                for session_id, own in _by_chapter(batch, made.vectors).items():
                    await bank.put_piece_vectors(session_id, model, own)
            else:
                return VectorsMade(), CallRecords()
            await _keep(job, request, made.call_records)
            if made.error is not None:
                return Failed(made.error), CallRecords()


def _by_chapter(
    pieces: Sequence[tuple[SessionId, Piece]], vectors: Sequence[Vector]
) -> dict[SessionId, list[PieceVector]]:
    """Return the vectors of the first pieces, all if nothing went wrong, by their chapters."""
    made: dict[SessionId, list[PieceVector]] = {}
    for (session_id, piece), vector in zip(pieces, vectors, strict=False):
        made.setdefault(session_id, []).append(PieceVector(piece.hash, vector))
    return made


async def similar_of(job: Job, request: BackgroundRequest, new: Sequence[Item]) -> Similar | None:
    """Return what compares new items with those of their chapter by meaning; None where nothing does."""
    model, bank, listed = job.calls.embedding_model, job.store.bank, list(new[:MOST_IN_A_BATCH])
    if model is None or not listed or not await bank.can_recall_by_meaning():
        return None
    made = await job.calls.embed([text_of(item) for item in listed])
    await _keep(job, request, made.call_records)
    cosines: dict[tuple[ItemId, ItemId], float] = {}
    for item, vector in zip(listed, made.vectors, strict=False):
        scope = Scope(session_id=item.session_id, mask=0, now=item.prompt_index)
        query = Query(
            session_id=item.session_id, scopes=(scope,), words=(), vector=vector, model=model, limit=MOST_NEAR
        )
        for found in await bank.recall(query):
            cosines[item.id, found.item.id] = found.similarity or 0.0
    return lambda one, other: cosines.get((one.id, other.id), 0.0)


async def _keep(job: Job, request: BackgroundRequest, call_records: CallRecords) -> None:
    if call_records.artifacts:
        await job.save(lambda _: provenance(request, call_records))


def text_of(item: Item) -> str:
    """Return the text of an item whose meaning is looked for."""
    return f"{item.name}. {item.text}"
