"""The append-only tables of a chapter (log, memory, drafts), the pointers to canon, and marks of events."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Column, Index, SmallInteger, UniqueConstraint, Uuid
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field

from core.domain.story.condensed import FEWEST, MOST
from core.domain.story.context_status import ContextStatus
from core.domain.story.event import Role
from core.domain.story.memory import STORED_TYPES
from db.tables import columns as column
from db.tables.columns import Row


class EventRow(Row, table=True):
    """The log: every take of every prompt (design 12), and the lines between prompts (design 13).

    `needs` and `needs_take` are what must exist first: for a reply the GM's text of its take, for that text
    the take before, and for the first take the prompt before.
    """

    __tablename__ = "event"
    __table_args__ = (
        column.of_session(),
        column.times("created_at"),
        UniqueConstraint("session_id", "prompt_index", "take", "ordinal"),
        UniqueConstraint("session_id", "asked", "take"),
        column.links(["needs", "needs_take"], "event", ["asked", "take"], "fk_event_no_hole"),
        Index("ix_event_needs", "session_id", "needs", "needs_take"),
        CheckConstraint("take >= 1", name="take"),
        column.one_of("role", Role),
        Index(
            "ix_event_secret",
            "session_id",
            "prompt_index",
            postgresql_where=sql("role = 'system' AND metadata ? 'secret'"),
        ),
        CheckConstraint(
            "CASE WHEN role = 'system' THEN prompt_index >= 0 ELSE prompt_index >= 1 END", name="prompt_index"
        ),
        CheckConstraint(
            "ordinal >= 0 AND CASE WHEN prompt_index = 0 THEN true ELSE (ordinal = 0) = (role = 'user') END",
            name="ordinal",
        ),
        CheckConstraint("prompt_index > 0 OR take = 1", name="opening"),
        CheckConstraint("role <> 'system' OR slot IS NULL", name="line"),
        CheckConstraint(column.is_audience("audience"), name="audience"),
        CheckConstraint("slot BETWEEN 1 AND 7", name="slot"),
        CheckConstraint("role <> 'agent' OR slot IS NOT NULL", name="speaker"),
    )

    session_id: UUID = column.key()
    event_id: UUID = column.key()
    prompt_index: int
    take: int = Field(sa_column=Column(SmallInteger, nullable=False, server_default=sql("1")))
    ordinal: int = column.small()
    role: str = column.text()
    slot: int | None = column.small(is_optional=True)
    text: str = column.text()
    # SQLModel reserves the attribute `metadata`.
    extra: dict[str, object] = Field(sa_column=Column("metadata", JSONB, nullable=False))
    audience: int = column.audience()
    created_at: datetime = column.time()
    asked: int | None = column.generated("CASE WHEN ordinal = 0 THEN prompt_index END")
    needs: int | None = column.generated(
        "CASE WHEN ordinal > 0 OR take > 1 THEN prompt_index WHEN prompt_index > 1 THEN prompt_index - 1 END"
    )
    needs_take: int | None = column.generated(
        "CASE WHEN ordinal = 0 THEN GREATEST(take - 1, 1) ELSE take END", kind=SmallInteger
    )


class EventStatusRow(Row, table=True):
    """Whether models are sent an event, as the GM said last; most events have no row (design 16)."""

    __tablename__ = "event_status"
    __table_args__ = (
        column.of_session(),
        column.links(
            ["prompt_index", "take", "ordinal"],
            "event",
            ["prompt_index", "take", "ordinal"],
            "fk_event_status_event",
        ),
        column.one_of("status", ContextStatus),
    )

    session_id: UUID = column.key()
    prompt_index: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    take: int = Field(primary_key=True, sa_type=SmallInteger, sa_column_kwargs={"autoincrement": False})
    ordinal: int = Field(primary_key=True, sa_type=SmallInteger, sa_column_kwargs={"autoincrement": False})
    status: str = column.text()


class CanonRow(Row, table=True):
    """The take that counts at each prompt, from 1 without a gap; 0 are the lines before the first prompt.

    Rows beyond the session's `prompt_index` are prompts that were undone and can be redone.
    """

    __tablename__ = "canon"
    __table_args__ = (
        column.of_session(),
        column.links(["prompt_index", "take"], "event", ["asked", "take"], "fk_canon_event"),
        column.links(["follows"], "canon", ["prompt_index"], "fk_canon_no_hole"),
        Index("ix_canon_follows", "session_id", "follows"),
    )

    session_id: UUID = column.key()
    prompt_index: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    take: int = column.small()
    follows: int | None = column.generated("CASE WHEN prompt_index > 1 THEN prompt_index - 1 END")


class MemoryBlockRow(Row, table=True):
    """Structured memory: every revision of every block.

    The lock is 0 to 0. Lock and deltas have ordinal 0; the private deltas of the same prompts, and then
    corrections of canon made at their end, have ordinals 1, 2, 3 …
    """

    __tablename__ = "memory_block"
    __table_args__ = (
        column.of_session(),
        column.times("created_at"),
        UniqueConstraint(
            "session_id", "from_prompt", "to_prompt", "ordinal", "revision", name="uq_memory_block_revision"
        ),
        UniqueConstraint(
            "session_id", "block_id", "from_prompt", "to_prompt", "ordinal", name="uq_memory_block_place"
        ),
        column.links(["made_from"], "memory_block", ["block_id"], "fk_memory_block_made_from"),
        Index("ix_memory_block_made_from", "session_id", "made_from"),
        CheckConstraint("revision >= 1", name="revision"),
        column.one_of("type", STORED_TYPES),
        CheckConstraint(
            "CASE type WHEN 'world_chapter_lock' THEN from_prompt = 0 AND to_prompt = 0"
            " WHEN 'canon_correction' THEN from_prompt >= 0 AND to_prompt = from_prompt"
            " ELSE from_prompt >= 1 AND to_prompt >= from_prompt END",
            name="range",
        ),
        CheckConstraint(
            "ordinal >= 0 AND CASE type WHEN 'canon_correction' THEN ordinal > 0"
            " WHEN 'world_chapter_lock' THEN ordinal = 0 ELSE true END",
            name="ordinal",
        ),
        CheckConstraint(column.is_audience("audience"), name="audience"),
    )

    session_id: UUID = column.key()
    block_id: UUID = column.key()
    type: str = column.text()
    from_prompt: int
    to_prompt: int
    json_text: str = column.text()
    payload: dict[str, object] = column.parsed("json_text")
    created_at: datetime = column.time()
    ordinal: int = Field(sa_column=Column(SmallInteger, nullable=False, server_default=sql("0")))
    revision: int = Field(sa_column_kwargs={"server_default": sql("1")})
    made_from: UUID | None = column.optional()
    is_by_gm: bool = Field(sa_column_kwargs={"server_default": sql("false")})
    audience: int = column.audience()


class MemoryCanonRow(Row, table=True):
    """The block that counts at each place of memory. Each delta `follows` the block that ends just before it.

    Unique ends and that foreign key make lock and deltas one chain without gaps or overlaps; private deltas
    and corrections follow the block that ends where they do.
    """

    __tablename__ = "memory_canon"
    __table_args__ = (
        column.of_session(),
        UniqueConstraint("session_id", "from_prompt", "ordinal"),
        UniqueConstraint("session_id", "ends"),
        column.links(
            ["block_id", "from_prompt", "to_prompt", "ordinal"],
            "memory_block",
            ["block_id", "from_prompt", "to_prompt", "ordinal"],
            "fk_memory_canon_block",
        ),
        column.links(
            ["follows", "follows_ordinal"],
            "memory_canon",
            ["to_prompt", "ordinal"],
            "fk_memory_canon_no_hole",
        ),
        Index("ix_memory_canon_block_id", "session_id", "block_id"),
    )

    session_id: UUID = column.key()
    to_prompt: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    ordinal: int = Field(primary_key=True, sa_type=SmallInteger, sa_column_kwargs={"autoincrement": False})
    from_prompt: int
    block_id: UUID
    follows: int | None = column.generated(
        "CASE WHEN ordinal > 0 THEN to_prompt WHEN from_prompt > 0 THEN from_prompt - 1 END"
    )
    follows_ordinal: int | None = column.generated("GREATEST(ordinal - 1, 0)")
    ends: int | None = column.generated("CASE WHEN ordinal = 0 THEN to_prompt END")


class CondensedMemoryRow(Row, table=True):
    """Several deltas of one audience, condensed: `sources` are their block ids in order.

    It counts where these are the deltas that canon has for its audience within its range.
    """

    __tablename__ = "condensed_memory"
    __table_args__ = (
        column.of_session(),
        column.times("created_at"),
        UniqueConstraint("session_id", "sources", name="uq_condensed_memory_sources"),
        CheckConstraint("from_prompt >= 1 AND to_prompt > from_prompt", name="range"),
        CheckConstraint(f"cardinality(sources) BETWEEN {FEWEST} AND {MOST}", name="sources"),
        CheckConstraint(column.is_audience("audience"), name="audience"),
    )

    session_id: UUID = column.key()
    condensed_id: UUID = column.key()
    from_prompt: int
    to_prompt: int
    audience: int = column.audience()
    sources: list[UUID] = column.array(Uuid)
    json_text: str = column.text()
    payload: dict[str, object] = column.parsed("json_text")
    created_at: datetime = column.time()


class NarrativeDraftRow(Row, table=True):
    """One version of the chapter's prose, with its sources."""

    __tablename__ = "narrative_draft"
    __table_args__ = (
        column.of_session(),
        column.times("created_at"),
        UniqueConstraint("session_id", "version"),
        column.links(["request_id"], "llm_request", ["request_id"], "fk_narrative_draft_request"),
        CheckConstraint("version >= 1", name="version"),
        CheckConstraint("source_prompt_index >= 0", name="source"),
    )

    session_id: UUID = column.key()
    draft_id: UUID = column.key()
    version: int
    request_id: UUID | None = column.optional()
    definition: str = column.text()
    target_words: int | None = column.optional()
    source_prompt_index: int
    source_block_ids: list[UUID] = column.array(Uuid)
    model: str = column.text()
    text: str = column.text()
    created_at: datetime = column.time()
