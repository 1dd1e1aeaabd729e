"""The query for the list of chapters."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.session.limits import EARLIEST_TIME, LATEST_TIME
from core.domain.session.session import SessionSummary
from core.domain.session.session_state import SessionState
from db.rows import mapping
from db.tables import NARRATIVE_DRAFT, SESSION, TAB1_INPUT

_TITLE_CHARS: Final = 500


async def read_sessions(connection: AsyncConnection, *, is_archived: bool) -> Sequence[SessionSummary]:
    """Return the chapter list; besides `find_script` the only query across sessions."""
    drafts = (
        select(func.count())
        .where(NARRATIVE_DRAFT.c.session_id == SESSION.c.id)
        .scalar_subquery()
        .label("draft_count")
    )
    times = (SESSION.c.created_at, SESSION.c.updated_at, SESSION.c.archived_at)
    # A time that the driver cannot read would fail the whole list, so it is left out in the database.
    is_readable = and_(
        SESSION.c.state.in_(list(SessionState)), *(func.coalesce(_is_storable(time), True) for time in times)
    )
    query = (
        select(
            *(SESSION.c[name] for name in ("id", "title", "state", "prompt_index")),
            *(case((_is_storable(time), time)).label(time.name) for time in times),
            beginning(TAB1_INPUT.c.chapter),
            beginning(TAB1_INPUT.c.world),
            drafts,
            is_readable.label("is_readable"),
        )
        .outerjoin(TAB1_INPUT, TAB1_INPUT.c.session_id == SESSION.c.id)
        .where(SESSION.c.archived_at.is_not(None) if is_archived else SESSION.c.archived_at.is_(None))
        .order_by(is_readable.desc(), SESSION.c.updated_at.desc(), SESSION.c.id.desc())
    )
    return [mapping.to_summary(row) for row in await connection.execute(query)]


def _is_storable(time: ColumnElement[datetime]) -> ColumnElement[bool]:
    return time.between(EARLIEST_TIME, LATEST_TIME)


def beginning(column: ColumnElement[str]) -> ColumnElement[str]:
    """Return the beginning of a text, from which a title can be made."""
    return func.left(func.ltrim(column, " \t\n"), _TITLE_CHARS).label(column.key)
