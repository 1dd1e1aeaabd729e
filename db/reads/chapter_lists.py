"""Queries for the list of chapters, and for lists, single events and sums of a chapter.

A list of a chapter is JSON, NULL for an empty one.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Numeric,
    Select,
    Table,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.ids import ArtifactId, LogPlace, SessionId
from core.domain.session.limits import EARLIEST_TIME, LATEST_TIME
from core.domain.session.session import SessionSummary
from core.domain.session.session_state import SessionState
from core.domain.story.memory import BlockType
from core.domain.story.reply_uses import LORE
from db.rows import mapping
from db.tables import (
    CANON,
    CONDENSED_MEMORY,
    EVENT,
    EVENT_STATUS,
    LLM_ARTIFACT,
    MEMORY_BLOCK,
    MEMORY_CANON,
    NARRATIVE_DRAFT,
    SECRET,
    SESSION,
    SESSION_LOREBOOK,
    TAB1_INPUT,
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


def last_replies_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the number and the time of the newest reply of each character that is canon."""
    newest = (func.max(EVENT.c.prompt_index).label("prompt_index"), func.max(EVENT.c.created_at).label("at"))
    replies = _of_canon(select(EVENT.c.slot, *newest), session_id).where(EVENT.c.slot.is_not(None))
    return replies.group_by(EVENT.c.slot)


def lore_replies_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the active lore of replies of canon, in order."""
    told = (EVENT.c.slot, EVENT.c.prompt_index, EVENT.c.metadata[LORE].label(LORE))
    replies = _of_canon(select(*told), session_id)
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


def spent_by(
    session_id: SessionId | None = None, since: datetime | None = None, but_for: Collection[ArtifactId] = ()
) -> Select[Any]:
    """Return the query for the sum of calls' costs; it reads only those that cost something.

    A copy of a chapter that was imported has the calls of the first one, with their ids: of all chapters
    each is counted once.
    """
    calls = select(func.max(LLM_ARTIFACT.c.cost).label("cost")).where(LLM_ARTIFACT.c.cost > 0)
    if since is not None:
        calls = calls.where(LLM_ARTIFACT.c.created_at >= since)
    if but_for:
        calls = calls.where(LLM_ARTIFACT.c.artifact_id.not_in(list(but_for)))
    if session_id is not None:
        calls = calls.where(LLM_ARTIFACT.c.session_id == session_id)
    each = calls.group_by(LLM_ARTIFACT.c.artifact_id).subquery("each")
    return select(func.coalesce(func.sum(each.c.cost), literal(0, Numeric)))


_TITLE_CHARS: Final = 500


async def read_sessions(connection: AsyncConnection, *, is_archived: bool) -> Sequence[SessionSummary]:
    """Return the chapter list, last played first; chapters that cannot be read come last."""
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


def story_mark_of(session_id: SessionId) -> Select[Any]:
    """Return the query for a text that is another once the canon, memory or drafts of a chapter differ.

    Events, blocks and drafts never change, so that pointers and numbers tell: of 6,000 prompts in some
    milliseconds, where all texts take far longer.
    """
    comma = literal(",")
    takes = select(
        func.md5(func.string_agg(cast(CANON.c.take, Text), aggregate_order_by(comma, CANON.c.prompt_index)))
    )
    events = select(func.concat(func.count(), " ", func.max(EVENT.c.created_at)))
    place = (MEMORY_CANON.c.to_prompt, MEMORY_CANON.c.ordinal)
    blocks = select(
        func.md5(func.string_agg(cast(MEMORY_CANON.c.block_id, Text), aggregate_order_by(comma, *place)))
    )
    drafts = select(func.concat(func.count(), " ", func.max(NARRATIVE_DRAFT.c.created_at)))
    parts = (
        takes.where(CANON.c.session_id == session_id),
        events.where(EVENT.c.session_id == session_id),
        blocks.where(MEMORY_CANON.c.session_id == session_id),
        drafts.where(NARRATIVE_DRAFT.c.session_id == session_id),
    )
    told = func.concat_ws(" ", SESSION.c.prompt_index, *(part.scalar_subquery() for part in parts))
    return select(told).where(SESSION.c.id == session_id)
