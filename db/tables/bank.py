"""The memory bank of a chapter (design 15).

`bank_item` has each item as it is now, for recall; `bank_revision` every version that it ever had.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Column, Float, Index, SmallInteger, Text
from sqlalchemy import text as sql
from sqlmodel import Field

from core.domain.bank.details import ItemKind
from core.domain.bank.item import LONGEST_ITEM_NAME, LONGEST_TEXT, MOST_EVIDENCE, ItemOrigin, Validation
from db.tables import columns as column
from db.tables.columns import Row


class BankItemRow(Row, table=True):
    """One item. It can count while `take` is the canon of `prompt_index`; without a take it always can."""

    __tablename__ = "bank_item"
    __table_args__ = (
        column.of_session(),
        column.one_of("kind", ItemKind),
        column.one_of("validation", Validation),
        column.one_of("origin", ItemOrigin),
        column.links(["item_id", "version"], "bank_revision", ["item_id", "version"], "fk_bank_item_version"),
        Index("ix_bank_item_version", "session_id", "item_id", "version"),
        Index(
            "ix_bank_item_supersedes",
            "session_id",
            "supersedes",
            postgresql_where=sql("supersedes IS NOT NULL"),
        ),
        Index(
            "ix_bank_item_kept", "session_id", postgresql_where=sql("is_pinned OR validation = 'confirmed'")
        ),
        Index("ix_bank_item_state", "session_id", "about", postgresql_where=sql("kind = 'state'")),
        Index("ix_bank_item_named", "session_id", postgresql_where=sql("kind IN ('person', 'place')")),
        CheckConstraint("version >= 1 AND undoes BETWEEN 1 AND version - 1", name="version"),
        CheckConstraint(f"name ~ '[^[:space:]]' AND char_length(name) <= {LONGEST_ITEM_NAME}", name="name"),
        CheckConstraint(f"text ~ '[^[:space:]]' AND char_length(text) <= {LONGEST_TEXT}", name="text"),
        CheckConstraint("jsonb_typeof(details) = 'object'", name="details"),
        CheckConstraint("about BETWEEN 1 AND 7", name="about"),
        CheckConstraint(column.is_audience("label"), name="label"),
        CheckConstraint(
            "importance BETWEEN 0 AND 1 AND confidence BETWEEN 0 AND 1 AND decay_rate BETWEEN 0 AND 1"
            " AND sentiment BETWEEN -1 AND 1",
            name="shares",
        ),
        CheckConstraint("prompt_index >= 0 AND take >= 1 AND expires_at >= 0", name="place"),
        CheckConstraint(
            "CASE WHEN jsonb_typeof(evidence) = 'array'"
            f" THEN jsonb_array_length(evidence) <= {MOST_EVIDENCE} ELSE false END",
            name="evidence",
        ),
        # What a model says is stored with its proof alone.
        CheckConstraint("origin = 'gm' OR (evidence <> '[]' AND take IS NOT NULL)", name="proof"),
        CheckConstraint("supersedes <> item_id AND merged_into <> item_id", name="replaces"),
        column.times("created_at", "updated_at"),
    )

    session_id: UUID = column.key()
    item_id: UUID = column.key()
    version: int
    kind: str = column.text()
    name: str = column.text()
    text: str = column.text()
    details: dict[str, object] = column.json()
    about: int | None = column.small(is_optional=True)
    label: int = column.audience()
    importance: float = Field(sa_type=Float)
    confidence: float = Field(sa_type=Float)
    sentiment: float = Field(sa_type=Float)
    decay_rate: float = Field(sa_type=Float)
    validation: str = column.text()
    is_pinned: bool
    is_by_gm: bool
    origin: str = column.text()
    prompt_index: int
    take: int | None = Field(sa_column=Column(SmallInteger))
    evidence: list[object] = column.json()
    supersedes: UUID | None = column.optional()
    merged_into: UUID | None = column.optional()
    undoes: int | None = column.optional()
    expires_at: int | None = column.optional()
    request_id: UUID | None = column.optional()
    created_at: datetime = column.time()
    updated_at: datetime = column.time()


class BankRevisionRow(Row, table=True):
    """One version of an item, as it was stored; append-only."""

    __tablename__ = "bank_revision"
    __table_args__ = (
        column.of_session(),
        CheckConstraint("version >= 1", name="version"),
        CheckConstraint("jsonb_typeof(content) = 'object'", name="content"),
        column.times("updated_at"),
    )

    session_id: UUID = column.key()
    item_id: UUID = column.key()
    version: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    content: dict[str, object] = column.json()
    updated_at: datetime = column.time()


class BankAccessRow(Row, table=True):
    """Number of times that a chapter recalled an item, its own or one of an earlier chapter of its book."""

    __tablename__ = "bank_access"
    __table_args__ = (
        column.of_session(),
        CheckConstraint("access_count >= 1 AND last_accessed >= 1", name="counts"),
    )

    session_id: UUID = column.key()
    item_id: UUID = column.key()
    access_count: int
    last_accessed: int


class BankWordRow(Row, table=True):
    """A word that an item has, as `storyengine_words` makes it of an item; kept by a trigger."""

    __tablename__ = "bank_word"
    __table_args__ = (column.of_session(),)

    session_id: UUID = column.key()
    word: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    item_id: UUID = column.key()
