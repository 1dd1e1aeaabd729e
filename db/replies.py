"""Who replied last: the newest reply of each character in canon."""

from typing import Any

from sqlalchemy import Select, and_, func, select

from core.domain.ids import SessionId
from db.tables import CANON, EVENT, SESSION


def last_replies_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the number and the time of the newest reply of each character that is canon."""
    is_of_take = and_(
        EVENT.c.session_id == CANON.c.session_id,
        EVENT.c.prompt_index == CANON.c.prompt_index,
        EVENT.c.take == CANON.c.take,
    )
    last = select(SESSION.c.prompt_index).where(SESSION.c.id == session_id).scalar_subquery()
    newest = (func.max(EVENT.c.prompt_index).label("prompt_index"), func.max(EVENT.c.created_at).label("at"))
    return (
        select(EVENT.c.slot, *newest)
        .join(CANON, is_of_take)
        .where(CANON.c.session_id == session_id, CANON.c.prompt_index <= last)
        .where(EVENT.c.slot.is_not(None))
        .group_by(EVENT.c.slot)
    )
