"""Vectors of items, and of pieces of texts for the GM's search, where the server has pgvector (design 15).

Their tables are made when they are first asked for, and by no migration: a server without the extension has
the same schema. Vectors can be made again from the items and texts, so that no export and no backup has them.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import URL, exists, func, select
from sqlalchemy.dialects.postgresql import ARRAY, BIT, insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import UserDefinedType

from core.domain.bank.details import ItemKind
from core.domain.bank.matching import SAME_BY_MEANING
from core.domain.bank.pieces import NearPiece, PieceVector
from core.domain.bank.recall import ItemVector, Vector, signs_of
from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.domain.story.context_status import ContextStatus
from core.storage.bank_store import MOST_PAIRED
from db.bank.validity import counts, is_in
from db.bank.vector_index import VectorIndex
from db.connections import close_quietly, open_connection
from db.embedded.machine.access import ADMINISTRATOR, ROLE
from db.errors import SAVE, guarded
from db.tables import BANK_ITEM, BANK_REVISION, EVENT_STATUS, SESSION
from db.transactions import Transactions

log = logging.getLogger(__name__)

TABLE_NAME: Final = "bank_vector"
PIECES_NAME: Final = "piece_vector"
_HASHES_AT_ONCE: Final = 2_000
"""Pieces that are asked about at once: a long chapter has tens of thousands, and a key would wait."""
_LOCK_KEY: Final = 0x5E0_4154_10B6
_HAS_PARTS: Final = (
    "EXISTS (SELECT FROM pg_attribute"
    f" WHERE attrelid = to_regclass('{TABLE_NAME}') AND attname = 'first_part')"
)
_IS_THERE: Final = sa.text(f"SELECT {_HAS_PARTS} AND to_regclass('{PIECES_NAME}') IS NOT NULL")
_HAS_EXTENSION: Final = sa.text("SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')")
_PARTS_FIT: Final = (
    "CONSTRAINT ck_bank_vector_parts CHECK"
    " (bit_length(first_part) = vector_dims(embedding) AND bit_length(last_part) = vector_dims(embedding))"
)
_ADD_PARTS: Final = (
    f"ALTER TABLE {TABLE_NAME} ADD COLUMN first_part BIT VARYING, ADD COLUMN last_part BIT VARYING,"
    f" ADD {_PARTS_FIT}"
)
"""Makes the table of an earlier version that of this one."""
_EXTENSION: Final = "CREATE EXTENSION IF NOT EXISTS vector"
_MAKE: Final = (
    _EXTENSION,
    f"""
    CREATE TABLE IF NOT EXISTS {TABLE_NAME} (
        session_id UUID NOT NULL,
        item_id UUID NOT NULL,
        model TEXT NOT NULL,
        version INTEGER NOT NULL,
        embedding halfvec NOT NULL,
        first_part BIT VARYING,
        last_part BIT VARYING,
        CONSTRAINT pk_bank_vector PRIMARY KEY (session_id, item_id),
        CONSTRAINT fk_bank_vector_session FOREIGN KEY (session_id) REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT ck_bank_vector_version CHECK (version >= 1),
        {_PARTS_FIT}
    )
    """,
    f"""
    CREATE TABLE IF NOT EXISTS {PIECES_NAME} (
        session_id UUID NOT NULL,
        hash TEXT NOT NULL,
        model TEXT NOT NULL,
        embedding halfvec NOT NULL,
        CONSTRAINT pk_piece_vector PRIMARY KEY (session_id, hash),
        CONSTRAINT fk_piece_vector_session FOREIGN KEY (session_id) REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT ck_piece_vector_hash CHECK (hash ~ '^[0-9a-f]{{64}}$')
    )
    """,
)


class HalfVector(UserDefinedType[str]):
    """pgvector's vector of half-precision numbers, of any length; its values are texts."""

    cache_ok = True

    def __init__(self, dimensions: int = 0) -> None:
        self.dimensions = dimensions

    def get_col_spec(self, **_: Any) -> str:
        """Return the name of the type."""
        return f"halfvec({self.dimensions})" if self.dimensions else "halfvec"


BANK_VECTOR: Final = sa.Table(
    TABLE_NAME,
    sa.MetaData(),
    sa.Column("session_id", sa.Uuid, primary_key=True),
    sa.Column("item_id", sa.Uuid, primary_key=True),
    sa.Column("model", sa.Text),
    sa.Column("version", sa.Integer),
    sa.Column("embedding", HalfVector()),
    sa.Column("first_part", BIT(varying=True)),
    sa.Column("last_part", BIT(varying=True)),
)


class VectorTable:
    """Keeps the vectors of items, if the server lets it."""

    def __init__(self, transactions: Transactions, url: URL) -> None:
        self._database: Final = transactions
        self._url: Final = url
        self._is_there: bool | None = None
        self._lengths: dict[tuple[str, SessionId, str], int] = {}
        """The length that the vectors of a chapter by a model have in a table, where it is the only one."""
        self.index: Final = VectorIndex(transactions, url)

    async def is_there(self) -> bool:
        """Whether vectors can be kept; makes their table when this is asked for the first time."""
        if self._is_there is None:
            self._is_there = await self._database.read(are_there) or await self._make()
        return self._is_there

    async def _make(self) -> bool:
        """Return whether the table could be made; where it could not, words are enough."""
        if not await self._database.read(_is_available):
            return False
        try:
            await self._let_in()
            await self._database.change(make_tables)
        except StorageError as error:
            log.warning("no vectors are kept, and items are found by words: %r", error.__cause__ or error)
            return False
        return True

    async def _let_in(self) -> None:
        """Make the extension on the private server, whose administrator alone can: the program's own role
        is no superuser there."""
        if self._url.username != ROLE:
            return
        async with guarded(SAVE):
            connection = await open_connection(self._url.set(username=ADMINISTRATOR))
            try:
                async with connection.transaction():
                    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_KEY,))
                    await connection.execute(_EXTENSION)
            finally:
                await close_quietly(connection)

    async def put(self, model: str, vectors: Sequence[ItemVector]) -> None:
        """Store vectors in place of earlier ones, those of items that are there."""
        rows = [
            {
                "session_id": one.session_id,
                "item_id": one.item_id,
                "model": model,
                "version": one.version,
                "embedding": text_of(one.vector),
                "first_part": _signs(one, 0),
                "last_part": _signs(one, 1),
            }
            for one in sorted(vectors, key=lambda one: one.item_id)
        ]
        statement = insert(BANK_VECTOR)
        key = list(BANK_VECTOR.primary_key)
        fresh = {one.name: one for one in statement.excluded if one.name not in BANK_VECTOR.primary_key}

        async def work(connection: AsyncConnection) -> None:
            # A chapter that was deleted meanwhile needs none.
            ids = {one.session_id for one in vectors}
            alive = select(BANK_ITEM.c.item_id).where(
                BANK_ITEM.c.session_id.in_(ids), BANK_ITEM.c.item_id.in_([row["item_id"] for row in rows])
            )
            there = {row.item_id for row in await connection.execute(alive)}
            kept = [row for row in rows if row["item_id"] in there]
            if kept:
                await connection.execute(
                    statement.values(kept).on_conflict_do_update(index_elements=key, set_=fresh)
                )

        if rows:
            await self._database.change(work)
            await self._drop_others(
                BANK_VECTOR, {one.session_id for one in vectors}, model, vectors[0].vector
            )
            await self.index.stored(len(rows), len(vectors[0].vector))

    async def put_pieces(self, session_id: SessionId, model: str, vectors: Sequence[PieceVector]) -> None:
        """Store the vectors of pieces in place of earlier ones; there are some."""
        await self._database.change(lambda connection: put_pieces(connection, session_id, model, vectors))
        await self._drop_others(PIECE_VECTOR, {session_id}, model, vectors[0].vector)

    async def _drop_others(
        self, table: sa.Table, ids: Collection[SessionId], model: str, vector: Vector
    ) -> None:
        """Delete vectors of another length, from a service that has changed: they are made again."""
        length = len(vector)
        fresh = {one: length for one in ids if self._lengths.get((table.name, one, model)) != length}
        if not fresh:
            return
        is_other = func.vector_dims(table.c.embedding) != length
        others = table.delete().where(table.c.session_id.in_(list(fresh)), table.c.model == model, is_other)
        await self._database.change(lambda connection: connection.execute(others))
        self._lengths |= {(table.name, one, model): length for one in fresh}


def missing(session_ids: Collection[UUID], model: str, limit: int) -> sa.Select[Any]:
    """Return the query for items without a vector of a model for their present words, newest first."""
    item = BANK_ITEM.c
    has_vector = exists().where(
        BANK_VECTOR.c.session_id == item.session_id,
        BANK_VECTOR.c.item_id == item.item_id,
        BANK_VECTOR.c.model == model,
        _is_of_its_words(BANK_VECTOR.c, item),
    )
    return (
        select(BANK_ITEM)
        .where(item.session_id.in_(list(session_ids)), is_in(item), ~has_vector, _may_be_sent(item))
        .order_by(item.session_id.desc(), item.prompt_index.desc(), item.item_id.desc())
        .limit(limit)
    )


def pairs(session_id: SessionId) -> sa.Select[Any]:
    """Return the query for pairs of items whose meanings are near, of the newest that count."""
    vector, item = BANK_VECTOR.c, BANK_ITEM.c
    is_of_it = (vector.session_id == item.session_id) & (vector.item_id == item.item_id)
    is_of_it &= _is_of_its_words(vector, item)
    alike = (item.kind, item.label, func.coalesce(item.about, 0), vector.model)
    length = func.vector_dims(vector.embedding)
    newest = (
        select(item.item_id, *alike, length, vector.embedding)
        .join_from(BANK_ITEM, BANK_VECTOR, is_of_it)
        .where(item.session_id == session_id, counts(item))
        .order_by(item.prompt_index.desc(), item.item_id)
        .limit(MOST_PAIRED)
        .subquery("newest")
    )
    _, *same, _ = newest.c
    # Numbers: comparing two million pairs by several texts takes longer than their distances.
    numbered = (
        select(newest.c.item_id, newest.c.embedding)
        .add_columns(func.dense_rank().over(order_by=same).label("group"))
        .add_columns(func.row_number().over(order_by=newest.c.item_id).label("number"))
        .cte("numbered")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    one, other = numbered.alias("one").c, numbered.alias("other").c
    distance = one.embedding.op("<=>", return_type=sa.Float)(other.embedding)
    # CASE: of vectors of two lengths no distance may be asked.
    is_near = sa.case((one.group == other.group, distance <= 1 - SAME_BY_MEANING), else_=False)
    return select(one.item_id, other.item_id.label("other_id")).where(
        one.number < other.number, one.group == other.group, is_near
    )


def _is_of_its_words(vector: Any, item: Any) -> sa.ColumnElement[bool]:
    """Return the condition that a vector was made of the name and the text that an item has now.

    A version that the GM only looked at, confirmed or pinned says what the one before it said.
    """
    then = BANK_REVISION.c
    said_so = (
        select(then.version)
        .where(then.session_id == item.session_id, then.item_id == item.item_id)
        .where(then.version == vector.version)
        .where(then.content["name"].astext == item.name, then.content["text"].astext == item.text)
        .correlate_except(BANK_REVISION)
        .scalar_subquery()
    )
    # A value and no EXISTS, for which the server would read the versions of all items first.
    return sa.or_(vector.version == item.version, said_so.is_not(None))


def _may_be_sent(item: Any) -> sa.ColumnElement[bool]:
    """Return the condition of `core.context.bank.BankChapter.may_send`: no quote of lines never sent."""
    columns = (sa.column(name, sa.Integer) for name in ("prompt_index", "take", "ordinal"))
    proof = func.jsonb_to_recordset(item.evidence).table_valued(*columns)
    proof = proof.render_derived(name="proof", with_types=True)
    is_never_sent = exists().where(
        EVENT_STATUS.c.session_id == item.session_id,
        *(EVENT_STATUS.c[name] == proof.c[name] for name in ("prompt_index", "take", "ordinal")),
        EVENT_STATUS.c.status == ContextStatus.NEVER.value,
    )
    is_sent = select(proof.c.ordinal).where(~is_never_sent).exists()
    return sa.or_(item.kind != ItemKind.QUOTE.value, func.jsonb_array_length(item.evidence) == 0, is_sent)


def text_of(vector: Vector | Iterable[float]) -> str:
    """Return a vector as pgvector reads it."""
    numbers = tuple(vector)
    return f"[{','.join(['%.6g'] * len(numbers)) % numbers}]"


def _signs(one: ItemVector, place: int) -> str | None:
    """Return the signs of a part of a name, as the server reads bits."""
    return None if one.name_parts is None else signs_of(one.name_parts[place])


async def are_there(connection: AsyncConnection) -> bool:
    """Whether the database has the tables of vectors."""
    return bool((await connection.execute(_IS_THERE)).scalar_one())


async def _is_available(connection: AsyncConnection) -> bool:
    return bool((await connection.execute(_HAS_EXTENSION)).scalar_one())


async def make_tables(connection: AsyncConnection) -> None:
    """Make the tables of vectors, unless they are there."""
    # Of two windows that ask at once the second one finds it made.
    await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    for statement in _MAKE:
        await connection.execute(sa.text(statement))
    if not (await connection.execute(sa.text(f"SELECT {_HAS_PARTS}"))).scalar_one():
        await connection.execute(sa.text(_ADD_PARTS))


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
    wanted = sa.bindparam("hashes", type_=ARRAY(sa.Text))
    known = select(piece.hash).where(
        piece.session_id == session_id, piece.model == model, piece.hash == sa.any_(wanted)
    )
    lacking, asked = set(hashes), list(hashes)
    for first in range(0, len(asked), _HASHES_AT_ONCE):
        part = {"hashes": asked[first : first + _HASHES_AT_ONCE]}
        lacking.difference_update((await connection.execute(known, part)).scalars())
    return lacking


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
