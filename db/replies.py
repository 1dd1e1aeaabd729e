"""Replies of canon: the newest one of each character, and those that used lore."""

from typing import Any

from sqlalchemy import Select, and_, func, select

from core.domain.ids import SessionId
from core.domain.story.lore_use import LORE
from db.tables import CANON, EVENT, SESSION


def last_replies_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the number and the time of the newest reply of each character that is canon."""
    newest = (func.max(EVENT.c.prompt_index).label("prompt_index"), func.max(EVENT.c.created_at).label("at"))
    return _of_canon(select(EVENT.c.slot, *newest), session_id).group_by(EVENT.c.slot)


def lore_replies_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the replies of canon that say which lore was active, in order."""
    replies = _of_canon(select(EVENT), session_id).where(EVENT.c.metadata.has_key(LORE))
    return replies.order_by(EVENT.c.prompt_index, EVENT.c.ordinal)


def _of_canon(query: Select[Any], session_id: SessionId) -> Select[Any]:
    is_of_take = and_(
        EVENT.c.session_id == CANON.c.session_id,
        EVENT.c.prompt_index == CANON.c.prompt_index,
        EVENT.c.take == CANON.c.take,
    )
    last = select(SESSION.c.prompt_index).where(SESSION.c.id == session_id).scalar_subquery()
    return (
        query.join(CANON, is_of_take)
        .where(CANON.c.session_id == session_id, CANON.c.prompt_index <= last)
        .where(EVENT.c.slot.is_not(None))
    )
