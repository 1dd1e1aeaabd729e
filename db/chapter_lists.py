"""Lists of a chapter that are read with it in one statement, each as JSON; NULL for an empty one."""

from typing import Any

from sqlalchemy import Select, Table, func, literal_column, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from core.domain.ids import SessionId
from db.tables import SECRET, SESSION_LOREBOOK


def secrets_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the secrets of a chapter in their order."""
    return _listed(SECRET, session_id)


def lore_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the lorebooks of a chapter in their order."""
    return _listed(SESSION_LOREBOOK, session_id)


def _listed(table: Table, session_id: SessionId) -> Select[Any]:
    row = func.to_jsonb(literal_column(table.name))
    listed = func.jsonb_agg(aggregate_order_by(row, table.c.number))
    return select(listed).where(table.c.session_id == session_id)
