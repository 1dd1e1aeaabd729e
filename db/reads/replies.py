"""Single events of canon: newest replies, those that used lore, and those at given places."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, and_, func, select, tuple_

from core.domain.ids import LogPlace, SessionId
from core.domain.story.lore_use import LORE
from db.tables import CANON, EVENT, SESSION


def last_replies_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the number and the time of the newest reply of each character that is canon."""
    newest = (func.max(EVENT.c.prompt_index).label("prompt_index"), func.max(EVENT.c.created_at).label("at"))
    replies = _of_canon(select(EVENT.c.slot, *newest), session_id).where(EVENT.c.slot.is_not(None))
    return replies.group_by(EVENT.c.slot)


def lore_replies_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the replies of canon that say which lore was active, in order."""
    replies = _of_canon(select(EVENT), session_id)
    replies = replies.where(EVENT.c.slot.is_not(None), EVENT.c.metadata.has_key(LORE))
    return replies.order_by(EVENT.c.prompt_index, EVENT.c.ordinal)


def canon_at(session_id: SessionId, places: Sequence[LogPlace]) -> Select[Any]:
    """Return the query for those events at `places` that are canon, in order."""
    place = tuple_(EVENT.c.prompt_index, EVENT.c.take, EVENT.c.ordinal)
    found = _of_canon(select(EVENT), session_id).where(place.in_(places))
    return found.order_by(EVENT.c.prompt_index, EVENT.c.ordinal)


def _of_canon(query: Select[Any], session_id: SessionId) -> Select[Any]:
    is_of_take = and_(
        EVENT.c.session_id == CANON.c.session_id,
        EVENT.c.prompt_index == CANON.c.prompt_index,
        EVENT.c.take == CANON.c.take,
    )
    last = select(SESSION.c.prompt_index).where(SESSION.c.id == session_id).scalar_subquery()
    joined = query.join(CANON, is_of_take)
    return joined.where(CANON.c.session_id == session_id, CANON.c.prompt_index <= last)
