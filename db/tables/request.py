"""Requests to models, and their provenance, which is append-only; the queue that all windows share."""

from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, Index, SmallInteger, Text, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import ARRAY
from sqlmodel import Field

from core.domain.requests.request import RequestState
from db.tables import columns as column
from db.tables.columns import Row

KEPT_STATES: Final = tuple(
    state.value
    for state in (RequestState.PENDING, RequestState.PROCESSING, RequestState.FAILED, RequestState.DEAD)
)
"""The states of requests that a snapshot has: those that are not settled."""


class LlmRequestRow(Row, table=True):
    """One request, stored before the first attempt; its row changes with its state."""

    __tablename__ = "llm_request"
    __table_args__ = (
        column.of_session(),
        column.times("created_at", "updated_at", "retry_after"),
        # The kinds are those of `KIND_SPECS`, so that a new one is no change of the database.
        CheckConstraint("kind ~ '^[a-z_]{1,32}$'", name="kind"),
        column.one_of("state", RequestState),
        CheckConstraint("slot BETWEEN 1 AND 7", name="slot"),
        CheckConstraint("kind <> 'reply' OR slot IS NOT NULL", name="speaker"),
        CheckConstraint("kind <> 'test' OR state IN ('done', 'cancelled')", name="test"),
        CheckConstraint("attempts >= 0", name="attempts"),
        CheckConstraint("uncounted BETWEEN 0 AND attempts", name="uncounted"),
        CheckConstraint("state <> 'dead' OR kind NOT IN ('lock', 'reply', 'narrative')", name="dead"),
        CheckConstraint(column.is_audience("audience"), name="audience"),
        CheckConstraint(
            "then_slots <@ '{1,2,3,4,5,6,7}'::smallint[] AND slot <> ALL (then_slots)"
            " AND (kind = 'reply' OR cardinality(then_slots) = 0)",
            name="called",
        ),
        CheckConstraint(
            "NOT follows OR kind = 'reply' AND NOT continues AND COALESCE(from_prompt = to_prompt, false)",
            name="follows",
        ),
        CheckConstraint(
            "(from_prompt IS NULL) = (to_prompt IS NULL) AND from_prompt >= 1 AND to_prompt >= from_prompt",
            name="range",
        ),
        # A snapshot reads only these, however many requests are done.
        Index(
            "ix_llm_request_kept",
            "session_id",
            "request_id",
            postgresql_where=sql(f"state IN ({', '.join(map(repr, KEPT_STATES))})"),
        ),
    )

    session_id: UUID = column.key()
    request_id: UUID = column.key()
    kind: str = column.text()
    state: str = column.text()
    priority: int = column.small()
    slot: int | None = column.small(is_optional=True)
    text: str = column.text()
    from_prompt: int | None = column.optional()
    to_prompt: int | None = column.optional()
    model: str = Field(sa_type=Text, sa_column_kwargs={"server_default": sql("''")})
    continues: bool = Field(sa_column_kwargs={"server_default": sql("false")})
    audience: int = column.audience()
    then_slots: list[int] = Field(
        sa_type=ARRAY(SmallInteger), sa_column_kwargs={"server_default": sql("'{}'")}
    )
    follows: bool = Field(sa_column_kwargs={"server_default": sql("false")})
    attempts: int
    uncounted: int = Field(sa_column_kwargs={"server_default": sql("0")})
    retry_after: datetime | None = column.time(is_optional=True)
    error_code: str | None = Field(sa_type=Text, nullable=True)
    error_message: str = column.text()
    created_at: datetime = column.time()
    updated_at: datetime = column.time()


class LlmContentRow(Row, table=True):
    """A text that was sent or received, stored once in its session under its SHA-256."""

    __tablename__ = "llm_content"
    __table_args__ = (column.of_session(), CheckConstraint("hash ~ '^[0-9a-f]{64}$'", name="hash"))

    session_id: UUID = column.key()
    hash: str = Field(primary_key=True, sa_type=Text)
    text: str = column.text()


class LlmArtifactRow(Row, table=True):
    """Provenance of one call: input, answer and usage."""

    __tablename__ = "llm_artifact"
    __table_args__ = (
        column.of_session(),
        column.times("created_at"),
        UniqueConstraint("session_id", "request_id", "attempt", "call", name="uq_llm_artifact_call"),
        column.links(["request_id"], "llm_request", ["request_id"], "fk_llm_artifact_request"),
        column.links(["input_ref"], "llm_content", ["hash"], "fk_llm_artifact_input"),
        column.links(["output_ref"], "llm_content", ["hash"], "fk_llm_artifact_output"),
        # A purge looks up the artifacts of each content that it deletes.
        Index("ix_llm_artifact_input_ref", "session_id", "input_ref"),
        Index("ix_llm_artifact_output_ref", "session_id", "output_ref"),
        CheckConstraint("agent_id BETWEEN 0 AND 9", name="agent_id"),
        CheckConstraint("attempt >= 1 AND call >= 0", name="count"),
        CheckConstraint("cost BETWEEN 0 AND 10000000000", name="cost"),
        CheckConstraint(
            "price_source IS NOT NULL OR cost IS NULL AND input_price IS NULL", name="price_source"
        ),
        CheckConstraint(
            " AND ".join(
                f"{price}_price BETWEEN 0 AND 1000000"
                for price in ("input", "output", "cached_input", "reasoning")
            ),
            name="prices",
        ),
        CheckConstraint(
            "(input_price IS NULL) = (output_price IS NULL) AND (input_price IS NOT NULL"
            " OR cached_input_price IS NULL AND reasoning_price IS NULL)",
            name="price_pair",
        ),
        # What was spent is summed over these; they are empty where no call costs anything.
        Index("ix_llm_artifact_spent", "session_id", "cost", postgresql_where=sql("cost > 0")),
        Index("ix_llm_artifact_spent_at", "created_at", "cost", postgresql_where=sql("cost > 0")),
    )

    session_id: UUID = column.key()
    artifact_id: UUID = column.key()
    request_id: UUID
    attempt: int
    call: int
    agent_id: int = column.small()
    provider: str = column.text()
    model: str = column.text()
    prompt_version: str = column.text()
    input_hash: str = column.text()
    input_ref: str = column.text()
    output_ref: str | None = Field(sa_type=Text, nullable=True)
    input_tokens: int | None = column.optional()
    output_tokens: int | None = column.optional()
    cached_tokens: int | None = column.optional()
    reasoning_tokens: int | None = column.optional()
    first_token_ms: int | None = column.optional()
    total_ms: int | None = column.optional()
    finish_reason: str = column.text()
    error_code: str | None = Field(sa_type=Text, nullable=True)
    error_message: str = column.text()
    left_out: list[str] = column.array(Text)
    cost: Decimal | None = column.dollars()
    price_source: str | None = Field(sa_type=Text, nullable=True)
    input_price: Decimal | None = column.dollars()
    cached_input_price: Decimal | None = column.dollars()
    output_price: Decimal | None = column.dollars()
    reasoning_price: Decimal | None = column.dollars()
    created_at: datetime = column.time()


class QueueStateRow(Row, table=True):
    """The one row that says whether the queue is paused; missing until the first pause."""

    __tablename__ = "queue_state"
    __table_args__ = (CheckConstraint("id = 1", name="one"),)

    id: int = Field(primary_key=True, sa_type=column.SMALL, sa_column_kwargs={"autoincrement": False})
    is_paused: bool


class LaneCallRow(Row, table=True):
    """A call that runs, or waits, at an account that takes only so many at a time.

    The function `storyengine_take_place` writes it, and removes those of windows that are gone.
    """

    __tablename__ = "lane_call"
    __table_args__ = (column.of_session(), CheckConstraint("level BETWEEN 0 AND 2", name="level"))

    session_id: UUID = column.key()
    request_id: UUID = column.key()
    account: str = column.text()
    level: int = column.small()
    is_story: bool
    is_running: bool
    is_put_back: bool
    writer_epoch: int
    writer_lock: int = Field(sa_type=column.BIG)
    waiting_since: datetime = column.time()


class LaneMinuteRow(Row, table=True):
    """Calls of the last minute at an account, or of an agent, whose rate is set.

    The function `storyengine_begin_call` writes it.
    """

    __tablename__ = "lane_minute"

    name: str = Field(primary_key=True, sa_type=Text)
    begun_at: list[datetime] = column.array(DateTime(timezone=True))
