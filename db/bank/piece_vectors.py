"""The vectors of pieces of texts, by which the GM's search finds story, memory and drafts (design 15).

Their table is made with that of the items' vectors, and is in no backup either.
"""

from collections.abc import Collection, Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.bank.pieces import NearPiece, PieceVector
from core.domain.bank.recall import Vector
from core.domain.ids import SessionId
from db.bank.vectors import PIECES_NAME, HalfVector, text_of
from db.tables import SESSION

PIECE_VECTOR: Final = sa.Table(
    PIECES_NAME,
    sa.MetaData(),
    sa.Column("session_id", sa.Uuid, primary_key=True),
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("model", sa.Text),
    sa.Column("embedding", HalfVector()),
)


async def missing_pieces(
    connection: AsyncConnection, session_id: SessionId, model: str, hashes: Collection[str]
) -> Collection[str]:
    """Return the pieces of a chapter without a vector of a model."""
    piece = PIECE_VECTOR.c
    wanted = sa.bindparam("hashes", sorted(hashes), ARRAY(sa.Text))
    known = select(piece.hash).where(
        piece.session_id == session_id, piece.model == model, piece.hash == sa.any_(wanted)
    )
    return set(hashes) - {row.hash for row in await connection.execute(known)}


async def put_pieces(
    connection: AsyncConnection, session_id: SessionId, model: str, vectors: Sequence[PieceVector]
) -> None:
    """Store vectors in place of earlier ones; none of a chapter that was deleted meanwhile."""
    is_there = (
        select(SESSION.c.id).where(SESSION.c.id == session_id).with_for_update(key_share=True, read=True)
    )
    if (await connection.execute(is_there)).one_or_none() is None:
        return
    rows = [
        {"session_id": session_id, "hash": one.hash, "model": model, "embedding": text_of(one.vector)}
        for one in sorted({one.hash: one for one in vectors}.values(), key=lambda one: one.hash)
    ]
    statement = insert(PIECE_VECTOR)
    fresh = {name: statement.excluded[name] for name in ("model", "embedding")}
    key = list(PIECE_VECTOR.primary_key)
    await connection.execute(statement.values(rows).on_conflict_do_update(index_elements=key, set_=fresh))


async def near(
    connection: AsyncConnection, session_ids: Collection[SessionId], model: str, vector: Vector, limit: int
) -> Sequence[NearPiece]:
    """Return the nearest pieces of chapters, the nearest first."""
    piece, kind = PIECE_VECTOR.c, HalfVector()
    wanted = sa.cast(sa.bindparam("vector", text_of(vector), sa.Text), kind)
    distance = piece.embedding.op("<=>", return_type=sa.Float)(wanted).label("distance")
    query = (
        select(piece.session_id, piece.hash, distance)
        .where(piece.session_id.in_(list(session_ids)), piece.model == model)
        .where(sa.func.vector_dims(piece.embedding) == len(vector))
        .order_by(sa.text("distance"), piece.hash)
        .limit(limit)
    )
    rows = await connection.execute(query)
    return [NearPiece(SessionId(row.session_id), row.hash, 1 - row.distance) for row in rows]
