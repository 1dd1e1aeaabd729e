"""Lists of a chapter that are read with it in one statement, each as JSON; NULL for an empty one."""

from typing import Any

from sqlalchemy import ColumnElement, Select, Table, func, literal_column, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from core.domain.ids import SessionId
from core.domain.story.memory import BlockType
from db.tables import (
    CONDENSED_MEMORY,
    EVENT_STATUS,
    MEMORY_BLOCK,
    MEMORY_CANON,
    SECRET,
    SESSION_LOREBOOK,
)


def secrets_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the secrets of a chapter in their order."""
    return _listed(SECRET, session_id)


def lore_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the lorebooks of a chapter in their order."""
    return _listed(SESSION_LOREBOOK, session_id)


def statuses_of(session_id: SessionId | ColumnElement[Any]) -> Select[Any]:
    """Return the query for the GM's statuses of events, by their places."""
    table = EVENT_STATUS.c
    place = (table.prompt_index, table.take, table.ordinal)
    listed = func.jsonb_agg(aggregate_order_by(func.jsonb_build_array(*place, table.status), *place))
    return select(listed).where(table.session_id == session_id)


def condensed_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the condensed memory of a chapter that counts, in order."""
    told, block = CONDENSED_MEMORY, MEMORY_BLOCK
    ids = aggregate_order_by(block.c.block_id, block.c.to_prompt, block.c.ordinal)
    is_canon = (MEMORY_CANON.c.session_id == block.c.session_id) & (
        MEMORY_CANON.c.block_id == block.c.block_id
    )
    canon = (
        select(func.array_agg(ids))
        .select_from(block.join(MEMORY_CANON, is_canon))
        .where(
            block.c.session_id == told.c.session_id,
            block.c.type == BlockType.TURN_DELTA,
            block.c.audience == told.c.audience,
            block.c.from_prompt >= told.c.from_prompt,
            # The pointers are looked up by their key, so that a long chapter opens as fast as a short one.
            MEMORY_CANON.c.session_id == told.c.session_id,
            MEMORY_CANON.c.to_prompt.between(told.c.from_prompt, told.c.to_prompt),
        )
        .scalar_subquery()
    )
    row = func.to_jsonb(literal_column(told.name))
    listed = func.jsonb_agg(aggregate_order_by(row, told.c.to_prompt, told.c.audience, told.c.condensed_id))
    return select(listed).where(told.c.session_id == session_id, told.c.sources == canon)


def _listed(table: Table, session_id: SessionId) -> Select[Any]:
    row = func.to_jsonb(literal_column(table.name))
    listed = func.jsonb_agg(aggregate_order_by(row, table.c.number))
    return select(listed).where(table.c.session_id == session_id)
