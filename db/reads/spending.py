"""Sums of spent amounts, computed by the database (design 18)."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Numeric, Select, func, literal, select

from core.domain.ids import ArtifactId, SessionId
from db.tables import LLM_ARTIFACT


def spent_by(
    session_id: SessionId | None = None, since: datetime | None = None, but_for: Collection[ArtifactId] = ()
) -> Select[Any]:
    """Return the query for the sum of calls' costs; it reads only those that cost something."""
    total = func.coalesce(func.sum(LLM_ARTIFACT.c.cost), literal(0, Numeric))
    query = select(total).where(LLM_ARTIFACT.c.cost > 0)
    if session_id is not None:
        query = query.where(LLM_ARTIFACT.c.session_id == session_id)
    if since is not None:
        query = query.where(LLM_ARTIFACT.c.created_at >= since)
    if but_for:
        query = query.where(LLM_ARTIFACT.c.artifact_id.not_in(list(but_for)))
    return query
