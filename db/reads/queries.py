"""Queries and their bounds: none scans the whole log unless the caller asks for all of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from sqlalchemy import (
    ColumnElement,
    FromClause,
    ScalarSelect,
    Select,
    Table,
    Text,
    and_,
    cast,
    func,
    literal,
    select,
    true,
    tuple_,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.audience import Audience
from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.context_status import always_of
from core.domain.story.event import SECRET as REVEALED
from core.domain.story.event import Event, Role
from core.domain.story.memory import BlockType, MemoryBlock, canon_of
from core.domain.story.secret import reveals_in
from core.storage.snapshot import Snapshot, full_deltas_from, recent_from
from db.errors import LOAD, driver_error
from db.reads.chapter_lists import canon_at, condensed_of, lore_of, secrets_of, spent_by, statuses_of
from db.reads.streamed import LARGE_ROWS, in_parts
from db.rows import mapping
from db.rows.chapter_mapping import TAB1, to_condensed, to_lore, to_prompt_blocks, to_statuses
from db.tables import (
    CANON,
    EVENT,
    LLM_REQUEST,
    MEMORY_BLOCK,
    MEMORY_CANON,
    NARRATIVE_DRAFT,
    PROMPT_BLOCKS,
    SESSION,
    TAB1_INPUT,
    UNSENT_TEXT,
)
from db.tables.request import KEPT_STATES

_BLOCK: Final = tuple(column for column in MEMORY_BLOCK.c if column.key != "payload")
"""The columns that a block is made of; its JSON is read from the text, which keeps the order of keys."""
_BATCH: Final = 128
"""Prompts that are read at first; each further batch has twice as many."""


async def read_session(connection: AsyncConnection, session_id: SessionId) -> Session:
    """Return the session; raise StorageError when it does not exist."""
    row = (await connection.execute(select(SESSION).where(SESSION.c.id == session_id))).one_or_none()
    if row is None:
        raise missing()
    return mapping.to_session(row)


def missing() -> StorageError:
    """Return the error for a session that does not exist."""
    return StorageError(
        LOAD,
        "This chapter is not in the database any more: it was purged, or a restored backup lacks it.",
        "F5 and `storyengine sessions` list those that are there; what still shows can be copied.",
        is_transient=False,
    )


@contextmanager
def of_chapter(session_id: SessionId) -> Iterator[None]:
    """Raise StorageError about the chapter for a value that the driver or the domain cannot read."""
    try:
        yield
    except ValueError as error:
        raise _unreadable(session_id) from error
    except StorageError as error:
        cause = error.__cause__ and driver_error(error.__cause__)
        if isinstance(cause, psycopg.DataError) and cause.sqlstate is None:  # the driver's, not the server's
            raise _unreadable(session_id) from error
        raise


def _unreadable(session_id: SessionId) -> StorageError:
    return StorageError(
        LOAD,
        f"The chapter {session_id} cannot be read: it holds a value that this program does not write.",
        f"`storyengine archive {session_id}` puts it away; the other chapters are not affected.",
        is_transient=False,
    )


async def read_snapshot(connection: AsyncConnection, session_id: SessionId, recent_prompts: int) -> Snapshot:
    """Return everything that is needed to continue the session."""
    session = await read_session(connection, session_id)
    written = (await connection.execute(_what_the_gm_wrote(session_id))).one()
    unsent = await connection.execute(rows_of(UNSENT_TEXT, session_id).where(UNSENT_TEXT.c.text != ""))
    start = recent_from(session, recent_prompts)
    # With the prompts that were undone, which are canon rows beyond the last prompt that counts.
    prompts = _canon_events(session_id, start)
    canon = [
        event
        for event in map(mapping.EVENTS.record, await connection.execute(prompts))
        if event.summarised_with > start
    ]
    requests = await connection.execute(
        rows_of(LLM_REQUEST, session_id)
        .where(LLM_REQUEST.c.state.in_(KEPT_STATES))
        .order_by(LLM_REQUEST.c.request_id)
    )
    single = (await connection.execute(_single_values(session, start))).one()
    statuses = to_statuses(single.statuses)
    always = [place for place in always_of(statuses) if place[0] <= start]
    kept = await connection.execute(canon_at(session_id, always)) if always else ()
    reveals = await connection.execute(_reveals(session_id)) if single.secrets else ()
    return Snapshot(
        session=session,
        tab1=TAB1.record(written),
        prompt_blocks=to_prompt_blocks(written),
        secrets=tuple(map(mapping.SECRETS.record_of_json, single.secrets or ())),
        reveals=reveals_in(map(mapping.EVENTS.record, reveals)),
        lore=to_lore(single.lore),
        condensed=to_condensed(single.condensed),
        unsent={Slot(row.slot): row.text for row in unsent},
        recent=tuple(event for event in canon if event.prompt_index <= session.prompt_index),
        statuses=statuses,
        kept=tuple(event for event in map(mapping.EVENTS.record, kept) if event.summarised_with <= start),
        undone=tuple(event for event in canon if event.prompt_index > session.prompt_index),
        takes={int(index): take for index, take in (single.takes or {}).items()},
        requests=tuple(map(mapping.to_request, requests)),
        draft_count=single.draft_count,
        spent=single.spent,
        last_ordinal=single.last_ordinal,
        is_memory_known=False,
        recent_prompts=recent_prompts,
    )


def _single_values(session: Session, start: int) -> Select[Any]:
    """Return the query for the single values of a session: numbers, and short lists as JSON."""
    values = {
        "draft_count": select(func.count()).where(NARRATIVE_DRAFT.c.session_id == session.id),
        "last_ordinal": select(func.coalesce(func.max(MEMORY_CANON.c.ordinal), 0)).where(
            MEMORY_CANON.c.session_id == session.id, MEMORY_CANON.c.to_prompt == session.boundary
        ),
        "takes": _further_takes(session.id, start, session.prompt_index),
        "secrets": secrets_of(session.id),
        "lore": lore_of(session.id),
        "statuses": statuses_of(session.id),
        "condensed": condensed_of(session.id),
        "spent": spent_by(session.id),
    }
    return select(*(value.scalar_subquery().label(name) for name, value in values.items()))


def _what_the_gm_wrote(session_id: SessionId) -> Select[Any]:
    """Return the query for tab 1, and the prompt blocks where the chapter has any."""
    blocks = (PROMPT_BLOCKS.c.variant, PROMPT_BLOCKS.c.variants, PROMPT_BLOCKS.c.blocks)
    joined = TAB1_INPUT.outerjoin(PROMPT_BLOCKS, PROMPT_BLOCKS.c.session_id == TAB1_INPUT.c.session_id)
    query = select(TAB1_INPUT, *blocks).select_from(joined)
    return query.where(TAB1_INPUT.c.session_id == session_id)


async def read_memory(connection: AsyncConnection, session_id: SessionId) -> Sequence[MemoryBlock]:
    """Return the memory for model inputs, as `core.domain.story.memory.compact_old_deltas` does."""
    start = full_deltas_from(await read_session(connection, session_id))
    whole = _canon_blocks(session_id, *_BLOCK).where(
        (MEMORY_BLOCK.c.from_prompt > start) | (MEMORY_BLOCK.c.type != BlockType.TURN_DELTA)
    )
    blocks = await in_parts(whole, mapping.to_block, LARGE_ROWS)(connection, session_id)
    if start > 0:
        # JSONB does not keep the order of keys; inputs must have the same bytes after a restart.
        read_old = in_parts(
            _canon(session_id, start), lambda row: canon_of(mapping.to_block(row)), LARGE_ROWS
        )
        blocks += await read_old(connection, session_id)
    return sorted(blocks, key=lambda block: block.place)


def _canon(session_id: SessionId, last: int) -> Select[Any]:
    """Return the query for old deltas with canon locks, reduced to those, and for the first delta.

    The first is included so that an input can say from where on deltas were left out.
    """
    locks = MEMORY_BLOCK.c.payload["canon_locks"]
    payload = func.jsonb_build_object(
        "memory_type", MEMORY_BLOCK.c.payload["memory_type"], "canon_locks", locks
    )
    columns = [column for column in _BLOCK if column.key != "json_text"]
    return _canon_blocks(session_id, *columns, cast(payload, Text).label("json_text")).where(
        MEMORY_BLOCK.c.from_prompt.between(1, last),
        MEMORY_BLOCK.c.type == BlockType.TURN_DELTA,
        (func.jsonb_array_length(locks) > 0) | (MEMORY_BLOCK.c.from_prompt == 1),
    )


def blocks_after(session_id: SessionId, after: int, ordinal: int) -> Select[Any]:
    """Return the query for every block after block `ordinal` at prompt `after`, in order."""
    place = tuple_(MEMORY_BLOCK.c.to_prompt, MEMORY_BLOCK.c.ordinal)
    newer = _canon_blocks(session_id, *_BLOCK).where(place > tuple_(literal(after), literal(ordinal)))
    return newer.order_by(MEMORY_BLOCK.c.to_prompt, MEMORY_BLOCK.c.ordinal)


def revisions_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the blocks that are not canon, in order."""
    counts = _canon_blocks(session_id, MEMORY_BLOCK.c.block_id)
    past = select(*_BLOCK).where(MEMORY_BLOCK.c.session_id == session_id)
    past = past.where(MEMORY_BLOCK.c.block_id.not_in(counts))
    return past.order_by(MEMORY_BLOCK.c.to_prompt, MEMORY_BLOCK.c.ordinal, MEMORY_BLOCK.c.revision)


def _canon_blocks(session_id: SessionId, *columns: ColumnElement[Any]) -> Select[Any]:
    """Return the query for columns of the blocks that are canon."""
    is_it = (MEMORY_CANON.c.session_id == MEMORY_BLOCK.c.session_id) & (
        MEMORY_CANON.c.block_id == MEMORY_BLOCK.c.block_id
    )
    return select(*columns).join(MEMORY_CANON, is_it).where(MEMORY_BLOCK.c.session_id == session_id)


def log_between(session_id: SessionId, first: int, last: int | None) -> Select[Any]:
    """Return the query for every take of these prompts, in order."""
    query = rows_of(EVENT, session_id).where(EVENT.c.prompt_index >= first)
    if last is not None:
        query = query.where(EVENT.c.prompt_index <= last)
    return query.order_by(EVENT.c.prompt_index, EVENT.c.take, EVENT.c.ordinal)


def canon_between(session_id: SessionId, first: int, last: int | None) -> Select[Any]:
    """Return the query for the canon of these prompts up to the last that counts, in order."""
    events = _canon_events(session_id, first).where(CANON.c.prompt_index <= _last(session_id))
    return events if last is None else events.where(CANON.c.prompt_index <= last)


def takes_of(session_id: SessionId) -> Select[Any]:
    """Return the query for the take that is canon at each prompt, in order, with those that were undone."""
    prompts = select(CANON.c.take).where(CANON.c.session_id == session_id, CANON.c.prompt_index >= 1)
    return prompts.order_by(CANON.c.prompt_index)


def _is_of(pointers: FromClause) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the events of the takes in `pointers`, which are rows of canon."""
    keys = ("session_id", "prompt_index", "take")
    return tuple(EVENT.c[key] == pointers.c[key] for key in keys)


def _take_at(pointers: FromClause) -> FromClause:
    """Return the query for the events of each take in `pointers`."""
    # The offset has each take looked up by its key; without it the planner may read all takes of the session.
    return select(EVENT).where(*_is_of(pointers)).offset(0).lateral()


_TAKE: Final = _take_at(CANON)
"""Made once: with its columns it would be half of the work of a reading."""


def _canon_events(session_id: SessionId, first: int) -> Select[Any]:
    """Return the query for the canon from prompt `first` on, undone events included, in order."""
    query = (
        select(_TAKE).select_from(CANON.join(_TAKE, true())).order_by(CANON.c.prompt_index, _TAKE.c.ordinal)
    )
    return query.where(CANON.c.session_id == session_id, CANON.c.prompt_index >= first)


def _last(session_id: SessionId) -> ScalarSelect[Any]:
    """Return the last prompt that counts; what is beyond it was undone."""
    return select(SESSION.c.prompt_index).where(SESSION.c.id == session_id).scalar_subquery()


def _reveals(session_id: SessionId) -> Select[Any]:
    """Return the query for the canonical lines that reveal a secret, in order."""
    is_canon = and_(*_is_of(CANON))
    return (
        rows_of(EVENT, session_id)
        .join(CANON, is_canon)
        .where(EVENT.c.role == Role.SYSTEM, EVENT.c.metadata.has_key(REVEALED))
        .where(EVENT.c.prompt_index <= _last(session_id))
        .order_by(EVENT.c.prompt_index, EVENT.c.ordinal)
    )


def _further_takes(session_id: SessionId, after: int, last: int) -> Select[Any]:
    """Return the query for the number of takes of prompts with several or beyond `last`, as JSON."""
    several = (
        select(EVENT.c.prompt_index, func.max(EVENT.c.take).label("takes"))
        .where(EVENT.c.session_id == session_id, EVENT.c.prompt_index > after)
        .where((EVENT.c.take > 1) | (EVENT.c.prompt_index > last))
        .group_by(EVENT.c.prompt_index)
        .subquery()
    )
    return select(func.jsonb_object_agg(cast(several.c.prompt_index, Text), several.c.takes))


async def read_newest_events(
    connection: AsyncConnection, session_id: SessionId, max_chars: int, known_to: Slot | None
) -> Sequence[Event]:
    """Walk canon backwards in batches of prompts along its index, until the texts exceed `max_chars`.

    With `known_to` only through what this character has witnessed.
    """
    newest: list[Event] = []
    total = 0
    size = _BATCH
    while total <= max_chars:
        before = newest[-1].prompt_index if newest else None
        query = _newest_batch(session_id, size, before, max_chars - total, known_to)
        batch = [mapping.EVENTS.record(row) for row in await connection.execute(query)]
        newest += batch
        total += sum(len(event.text) for event in batch)
        if len({event.prompt_index for event in batch}) < size:
            break
        size *= 2
    newest.reverse()
    return newest


def _newest_batch(
    session_id: SessionId, size: int, before: int | None, room: int, known_to: Slot | None
) -> Select[Any]:
    """Return the query for the events of the next older prompts, up to the first text that exceeds `room`."""
    prompts = select(CANON).where(CANON.c.session_id == session_id, CANON.c.prompt_index >= 0)
    prompts = prompts.where(CANON.c.prompt_index <= _last(session_id))
    if before is not None:
        prompts = prompts.where(CANON.c.prompt_index < before)
    if known_to is not None:
        heard = select(EVENT.c.event_id).where(*_is_of(CANON), _is_heard_by(known_to, EVENT.c.audience))
        prompts = prompts.where(heard.exists())
    takes = prompts.order_by(CANON.c.prompt_index.desc()).limit(size).subquery()
    events = _take_at(takes)
    batch = select(events).select_from(takes.join(events, true())).subquery()
    newest_first = (batch.c.prompt_index.desc(), batch.c.ordinal.desc())
    length = func.char_length(batch.c.text)
    newer = (func.sum(length).over(order_by=newest_first) - length).label("newer")
    told = select(batch, newer)
    if known_to is not None:
        told = told.where(_is_heard_by(known_to, batch.c.audience))
    summed = told.subquery()
    return (
        select(summed)
        .where(summed.c.newer <= room)
        .order_by(summed.c.prompt_index.desc(), summed.c.ordinal.desc())
    )


def _is_heard_by(slot: Slot, audience: ColumnElement[int]) -> ColumnElement[bool]:
    return audience.op("&")(Audience.of((slot,)).mask) != 0


def rows_of(table: Table, session_id: SessionId) -> Select[Any]:
    """Return the query for the rows of one session."""
    return select(table).where(table.c.session_id == session_id)


def requests_of(session_id: SessionId, kind: RequestKind | None) -> Select[Any]:
    """Return the query for the requests of one session, or those of a kind."""
    query = rows_of(LLM_REQUEST, session_id)
    return query if kind is None else query.where(LLM_REQUEST.c.kind == kind.value)
