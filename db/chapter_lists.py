"""Lists of a chapter that are read with it in one statement, each as JSON; NULL for an empty one."""

from typing import Any

from sqlalchemy import Select, Table, func, literal_column, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from core.domain.ids import SessionId
from db.tables import EVENT_STATUS, SECRET, SESSION_LOREBOOK


def secrets_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the secrets of a chapter in their order."""
    return _listed(SECRET, session_id)


def lore_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the lorebooks of a chapter in their order."""
    return _listed(SESSION_LOREBOOK, session_id)


def statuses_of(session_id: SessionId) -> Select[Any]:
    """Return the query for what the GM said of events, by their places."""
    table = EVENT_STATUS.c
    place = (table.prompt_index, table.take, table.ordinal)
    listed = func.jsonb_agg(aggregate_order_by(func.jsonb_build_array(*place, table.status), *place))
    return select(listed).where(table.session_id == session_id)


def _listed(table: Table, session_id: SessionId) -> Select[Any]:
    row = func.to_jsonb(literal_column(table.name))
    listed = func.jsonb_agg(aggregate_order_by(row, table.c.number))
    return select(listed).where(table.c.session_id == session_id)
