"""Builds one SQL statement for everything that a commit writes (design 6).

Every table that a commit touches is one CTE, fed by one JSON parameter whatever the number of rows. So a
commit is a transaction by itself and costs one round trip and one flush. Its text depends only on the tables
that it touches, and is compiled once for each combination.

Rows of append-only tables are inserted unless their id exists. The program creates ids once, so a commit is
idempotent: one whose answer was lost can be sent again.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, Insert, insert

from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.storage.changes import Changes
from db.connections import DRIVER
from db.errors import DEADLINE, PATIENCE, SAVE
from db.rows import mapping
from db.rows.bank_mapping import ACCESSES, item_values, revision_values
from db.rows.chapter_mapping import (
    PROPOSALS,
    STATUSES,
    TAB1,
    condensed_values,
    lore_values,
    prompt_blocks_values,
)
from db.rows.row_mapping import RowMapping, Values
from db.tables import (
    BANK_ACCESS,
    BANK_ITEM,
    BANK_REVISION,
    CANON,
    CAST_PROPOSAL,
    CONDENSED_MEMORY,
    EVENT,
    EVENT_STATUS,
    LLM_ARTIFACT,
    LLM_CONTENT,
    LLM_REQUEST,
    MEMORY_BLOCK,
    MEMORY_CANON,
    METADATA,
    NARRATIVE_DRAFT,
    PROMPT_BLOCKS,
    SECRET,
    SESSION,
    SESSION_LOREBOOK,
    TAB1_INPUT,
    UNSENT_TEXT,
)

T = TypeVar("T")
Write = tuple[str, dict[str, object]]
"""The text of a statement and its parameters, as the driver takes them."""

_FIXED: Final = frozenset({"id", "session_id", "created_at"})
"""Columns that no commit changes, besides those of the writer, which `acquire` sets."""
_SINGLE: Final = (TAB1_INPUT.name, SESSION.name)
"""Tables with one row per session, which a commit updates."""
_REPLACED: Final = frozenset(
    {
        *("llm_request", "prompt_blocks", "secret", "session_lorebook", "unsent_text", "event_status"),
        *("canon", "memory_canon", "bank_item", "bank_access"),
    }
)
_ENDS: Final = {
    "canon_end": CANON.c.prompt_index,
    "memory_end": MEMORY_CANON.c.to_prompt,
    "secret_end": SECRET.c.number,
    "lore_end": SESSION_LOREBOOK.c.number,
}
"""Parameters of a commit, and the columns of rows that are deleted beyond them."""


_SHORT: Final = 1_000
"""Rows that are stored well within the usual time-out, also on a slow machine."""
LONG_TIMEOUT: Final = f"SELECT set_config('statement_timeout', '{PATIENCE:.0f}s', true)"
"""Lets the statements of a transaction take as long as it takes to store or delete a whole chapter."""
CHANNELS: Final = "storyengine_"
"""The beginning of the channels of sessions."""
BANK_CHANGED: Final = "bank"
"""The payload of a notification where items of the memory bank changed; others have none."""


def channel_of(session_id: SessionId) -> str:
    """Return the name under which followers of a session listen."""
    return f"{CHANNELS}{session_id.hex}"


def creation(changes: Changes, *, is_only_open: bool = False) -> Write:
    """Return the statement that stores a new session with everything in `changes`.

    It answers with the number of sessions stored: 0 when another session took the script's next run at the
    same moment, or, with `is_only_open`, when a session of the script exists that is not archived.
    """
    if changes.session is None or changes.tab1 is None:
        raise ValueError("a new session needs its row and its tab 1")
    rows = _rows_of(changes)
    values = {**_parameters(rows), "is_only_open": is_only_open, "channel": channel_of(changes.session_id)}
    return _text_of_creation(tuple(rows)), values


def deadline_of(changes: Changes) -> float:
    """Return the time-out in seconds for storing a new session: a long one takes what it takes."""
    rows = len(changes.events) + len(changes.contents) + len(changes.items)
    return PATIENCE if rows > _SHORT else DEADLINE


def commit(changes: Changes, epoch: int) -> Write:
    """Return the statement of a commit, which fails unless `epoch` is the writer's."""
    return commit_of(changes.session_id, epoch, parameters_of(changes))


def parameters_of(changes: Changes) -> dict[str, object]:
    """Return the parameters of a commit: the rows of each table as JSON, and the ends of canon and lists."""
    rows = _rows_of(changes)
    replaced = {name: rows[name][0] for name in _SINGLE if name in rows}
    ends = {name: end for name in _ENDS if (end := getattr(changes, name)) is not None}
    return {**_parameters({**rows, **replaced}), **ends}


def is_parameter(name: str, value: object) -> bool:
    """Whether a commit may have a parameter of this name, and with such a value."""
    return isinstance(value, int) if name in _ENDS else isinstance(value, str) and name in METADATA.tables


def commit_of(session_id: SessionId, epoch: int, parameters: Mapping[str, object]) -> Write:
    """Return the statement of a commit with these parameters, which fails unless `epoch` is the writer's."""
    fence = {"writer_of": session_id, "epoch": epoch, "channel": channel_of(session_id)}
    return _text_of_commit(tuple(parameters)), {**parameters, **fence}


def _rows_of(changes: Changes) -> dict[str, Sequence[Values]]:
    """Return the rows of every table that the changes touch, with the tables in a fixed order."""
    session_id = changes.session_id
    contents = {content.hash: content for content in changes.contents}
    requests = {request.id: request for request in changes.requests}
    blocks_of_prompts = () if changes.prompt_blocks is None else (changes.prompt_blocks,)
    takes = {event.prompt_index: event.take for event in changes.events}
    if changes.takes is not None:
        takes = {0: 1, **changes.takes} if 0 in takes else dict(changes.takes)
    blocks = {block.place: block for block in changes.blocks}
    items = {item.id: item for item in sorted(changes.items, key=lambda item: item.version)}

    def of_session(mapped: RowMapping[T], records: Iterable[T]) -> list[Values]:
        return [{"session_id": session_id, **mapped.values(record)} for record in records]

    rows: dict[sa.Table, Sequence[Values]] = {
        TAB1_INPUT: of_session(TAB1, () if changes.tab1 is None else (changes.tab1,)),
        SESSION: [] if changes.session is None else [mapping.session_values(changes.session)],
        PROMPT_BLOCKS: [prompt_blocks_values(session_id, one) for one in blocks_of_prompts],
        SECRET: of_session(mapping.SECRETS, changes.secrets or ()),
        SESSION_LOREBOOK: lore_values(session_id, changes.lore or ()),
        UNSENT_TEXT: [
            {"session_id": session_id, "slot": slot, "text": text} for slot, text in changes.unsent.items()
        ],
        LLM_CONTENT: of_session(mapping.CONTENTS, contents.values()),
        LLM_REQUEST: [mapping.request_values(request) for request in requests.values()],
        LLM_ARTIFACT: [mapping.artifact_values(artifact) for artifact in changes.artifacts],
        EVENT: of_session(mapping.EVENTS, changes.events),
        EVENT_STATUS: of_session(STATUSES, changes.statuses),
        CANON: [
            {"session_id": session_id, "prompt_index": index, "take": take} for index, take in takes.items()
        ],
        MEMORY_BLOCK: [mapping.block_values(block) for block in (*changes.blocks, *changes.revisions)],
        MEMORY_CANON: [mapping.memory_canon_values(block) for block in blocks.values()],
        CONDENSED_MEMORY: [condensed_values(one) for one in changes.condensed],
        NARRATIVE_DRAFT: [mapping.draft_values(draft) for draft in changes.drafts],
        CAST_PROPOSAL: list(map(PROPOSALS.values, changes.proposals)),
        BANK_REVISION: [revision_values(item_values(item)) for item in changes.items],
        BANK_ITEM: [item_values(item) for item in items.values()],
        BANK_ACCESS: of_session(ACCESSES, changes.accesses),
    }
    return {table.name: values for table, values in rows.items() if values}


def _parameters(rows: Mapping[str, object]) -> dict[str, object]:
    return {name: as_json(values) for name, values in rows.items()}


def as_json(values: object) -> str:
    """Return rows of a table as JSON; raise StorageError where a value has no form in it."""
    try:
        return json.dumps(values, allow_nan=False, ensure_ascii=False, default=_plain)
    except (ValueError, TypeError) as error:
        raise StorageError(
            SAVE, "A value that is not JSON cannot be stored; nothing was changed.", is_transient=False
        ) from error


def _plain(value: object) -> object:
    match value:
        case UUID():
            return str(value)
        case datetime():
            return value.isoformat()
        case Mapping():
            return dict(value)
        case _:
            raise TypeError(f"{type(value).__name__} is not JSON")


def notice_to(session_id: SessionId, payload: str = "") -> sa.Select[Any]:
    """Return the query that tells the windows of a chapter of a change."""
    return sa.select(sa.func.pg_notify(channel_of(session_id), payload))


@cache
def _text_of_creation(names: tuple[str, ...]) -> str:
    session = _new_session()
    made = sa.select(sa.func.count()).select_from(session).scalar_subquery()
    told = sa.func.pg_notify(sa.bindparam("channel", type_=sa.Text), sa.literal_column("''"))
    parts = [
        insertion(table, rows_given(table), sa.exists().select_from(session)).cte(f"new_{table.name}")
        for table in (METADATA.tables[name] for name in names)
        if table is not SESSION
    ]
    return _compiled(sa.select(made, told).add_cte(session, *parts))


@cache
def _text_of_commit(names: tuple[str, ...]) -> str:
    writer = sa.func.storyengine_check_writer(
        sa.bindparam("writer_of", type_=sa.Uuid), sa.bindparam("epoch", type_=sa.Integer)
    )
    payload = f"'{BANK_CHANGED}'" if BANK_ITEM.name in names else "''"
    told = sa.func.pg_notify(sa.bindparam("channel", type_=sa.Text), sa.literal_column(payload))
    parts: dict[str, sa.CTE] = {}
    for name in names:
        if name in _ENDS:
            parts[name] = _shortened(_ENDS[name], name)
        else:
            parts[name] = _change(METADATA.tables[name], after=parts.get(TAB1_INPUT.name))
    return _compiled(sa.select(writer, told).add_cte(*parts.values()))


def _change(table: sa.Table, after: sa.CTE | None) -> sa.CTE:
    if table is TAB1_INPUT:
        return _updated(table, table.c.session_id)
    if table is SESSION:
        return _updated(table, table.c.id, after)
    return _inserted(table)


def _compiled(statement: Any) -> str:
    return str(statement.compile(dialect=sa.URL.create(DRIVER).get_dialect()()))


def _new_session() -> sa.CTE:
    """Return the insertion of a session; one of a script is numbered as the script's next run."""
    given = rows_given(SESSION)
    names = [item.name for item in _stored(SESSION)]
    before = SESSION.alias("before")
    is_of_script = before.c.script_key == given.c.script_key
    last_run = sa.select(sa.func.max(before.c.script_run)).where(is_of_script).scalar_subquery()
    next_run = sa.func.coalesce(last_run, sa.literal_column("0")) + sa.literal_column("1")
    run = sa.case((given.c.script_key != sa.literal_column("''"), next_run))
    is_open = sa.exists().where(is_of_script, before.c.archived_at.is_(None))
    values = sa.select(*(given.c[name] for name in names), run)
    values = values.where(sa.not_(sa.and_(sa.bindparam("is_only_open", type_=sa.Boolean), is_open)))
    statement = insert(SESSION).from_select([*names, "script_run"], values)
    statement = statement.on_conflict_do_nothing(constraint="uq_session_script_key_script_run")
    return statement.returning(SESSION.c.id).cte("new_session")


def _inserted(table: sa.Table) -> sa.CTE:
    """Return the insertion of rows; existing ones are kept, or replaced where the table says so."""
    statement, keys = insertion(table, rows_given(table)), list(table.primary_key)
    if table.name in _REPLACED:
        moving = [item.name for item in _stored(table) if not (item.primary_key or item.name in _FIXED)]
        values = {name: statement.excluded[name] for name in moving}
        # The GM may have changed an item meanwhile, in another window.
        newer = statement.excluded.version > BANK_ITEM.c.version if table is BANK_ITEM else None
        replaced = statement.on_conflict_do_update(index_elements=keys, set_=values, where=newer)
        return replaced.cte(f"new_{table.name}")
    # An attempt that a crash ended is on record already where it stored a call with the number of the record.
    any_key = None if table is LLM_ARTIFACT else keys
    return statement.on_conflict_do_nothing(index_elements=any_key).cte(f"new_{table.name}")


def _shortened(column: sa.Column[Any], end: str) -> sa.CTE:
    """Return the deletion of the session's rows in which `column` is beyond the parameter `end`."""
    table = column.table
    is_beyond = column > sa.bindparam(end, type_=sa.Integer)
    is_own = table.c.session_id == sa.bindparam("writer_of", type_=sa.Uuid)
    return sa.delete(table).where(is_own, is_beyond).cte(f"old_{table.name}")


def _updated(table: sa.Table, key: sa.Column[Any], after: sa.CTE | None = None) -> sa.CTE:
    """Return the update of a session's one row, executed `after` another CTE."""
    given = _source(table, sa.func.jsonb_to_record)
    values: dict[str, Any] = {
        item.name: given.c[item.name] for item in _stored(table) if item.name not in _FIXED
    }
    if "archived_at" in values:
        # A writer may archive its session; only `SessionStore.archive` restores one, so that a window with an
        # older copy does not.
        values["archived_at"] = sa.func.coalesce(given.c.archived_at, table.c.archived_at)
    statement = (
        sa.update(table).where(key == sa.bindparam("writer_of", type_=sa.Uuid)).values(values).returning(key)
    )
    if after is not None:
        # CTEs run in no order except by reference, and a session that is already locked refuses tab 1.
        done = sa.select(sa.func.count()).select_from(after).scalar_subquery()
        statement = statement.where(done >= sa.literal_column("0"))
    return statement.cte(f"new_{table.name}")


def insertion(table: sa.Table, given: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> Insert:
    """Return the insertion of the rows `given` for which the conditions hold."""
    names = [item.name for item in _stored(table)]
    return insert(table).from_select(names, sa.select(*(given.c[name] for name in names)).where(*conditions))


def rows_given(table: sa.Table) -> sa.FromClause:
    """Return the parameter of a table's name, rows as JSON, with the types of its columns."""
    return _source(table, sa.func.jsonb_to_recordset)


def _source(table: sa.Table, function: Callable[..., sa.Function[Any]]) -> sa.FromClause:
    """Return the table's parameter as rows with the table's column types."""
    columns = [sa.column(item.name, item.type) for item in _stored(table)]
    given = function(sa.cast(sa.bindparam(table.name, type_=sa.Text), JSONB)).table_valued(*columns)
    return given.render_derived(name=f"given_{table.name}", with_types=True)


def _stored(table: sa.Table) -> list[sa.Column[Any]]:
    """Return the columns that a commit sets: not generated ones, the writer's, or the script's run."""
    return [
        item
        for item in table.columns
        if item.computed is None and not item.name.startswith("writer_") and item.name != "script_run"
    ]
