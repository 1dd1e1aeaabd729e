"""What one commit writes, as Core statements in the order that its triggers need (design 6).

None of them returns rows, so that a commit can be sent in one go. Rows that are only ever added are
inserted unless their id is there: ids are made once, by the program, so a commit whose answer was lost
can be sent again and makes true what it made true before.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from sqlalchemy import Connection, Executable, Table, Uuid, bindparam, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from core.ids import SessionId
from core.store import Changes
from db import mapping
from db.mapping import Values
from db.tables import (
    EVENT,
    LLM_ARTIFACT,
    LLM_CONTENT,
    LLM_REQUEST,
    MEMORY_BLOCK,
    NARRATIVE_DRAFT,
    SESSION,
    TAB1_INPUT,
    UNSENT_TEXT,
)

Write = tuple[Executable, Values | Sequence[Values]]

# Set at creation, and moved by `acquire`: no commit of a session touches them.
_FIXED = frozenset({"id", "created_at"})


def channel_of(session_id: SessionId) -> str:
    """Return the name under which followers of a session listen."""
    return f"storyengine_{session_id.hex}"


def run(connection: Connection, writes: Sequence[Write]) -> None:
    """Send the writes; for use with `run_sync`."""
    for statement, values in writes:
        connection.execute(statement, values)


def creation(changes: Changes) -> list[Write]:
    """Return the writes that store a new session with everything that `changes` bring."""
    if changes.session is None or changes.tab1 is None:
        raise ValueError("a new session needs its row and its tab 1")
    return [
        (insert(SESSION), mapping.session_values(changes.session)),
        (insert(TAB1_INPUT), mapping.tab1_values(changes.session_id, changes.tab1)),
        *_additions(changes),
        _notification(changes.session_id),
    ]


def commit(changes: Changes, epoch: int) -> list[Write]:
    """Return the writes of a commit; the first fails unless `epoch` is the writer's."""
    writes: list[Write] = [(_check_writer(), {"id": changes.session_id, "epoch": epoch})]
    if changes.tab1 is not None:
        # Before the session: the commit that locks tab 1 may bring its last words along.
        values = mapping.tab1_values(changes.session_id, changes.tab1)
        writes.append((_update_tab1(), {f"new_{name}": value for name, value in values.items()}))
    if changes.session is not None:
        values = mapping.session_values(changes.session)
        writes.append((_update_session(), {f"new_{name}": value for name, value in values.items()}))
    return [*writes, *_additions(changes), _notification(changes.session_id)]


def _additions(changes: Changes) -> Iterator[Write]:
    unsent = [
        {"session_id": changes.session_id, "slot": int(slot), "text": text}
        for slot, text in changes.unsent.items()
    ]
    contents = {content.hash: content for content in changes.contents}.values()
    rows: list[tuple[Executable, list[Values]]] = [
        (_replace(UNSENT_TEXT), unsent),
        (_add(LLM_CONTENT), [mapping.content_values(changes.session_id, content) for content in contents]),
        (_replace(LLM_REQUEST), [mapping.request_values(request) for request in changes.requests]),
        (_add(LLM_ARTIFACT), [mapping.artifact_values(artifact) for artifact in changes.artifacts]),
        (_add(EVENT), [mapping.event_values(event) for event in changes.events]),
        (_add(MEMORY_BLOCK), [mapping.block_values(block) for block in changes.blocks]),
        (_add(NARRATIVE_DRAFT), [mapping.draft_values(draft) for draft in changes.drafts]),
    ]
    return ((statement, values) for statement, values in rows if values)


def _notification(session_id: SessionId) -> Write:
    return _notify(), {"channel": channel_of(session_id)}


@cache
def _notify() -> Executable:
    return select(func.pg_notify(bindparam("channel"), ""))


@cache
def _check_writer() -> Executable:
    return select(func.storyengine_check_writer(bindparam("id", type_=Uuid), bindparam("epoch")))


@cache
def _update_session() -> Executable:
    values = {
        column.name: bindparam(f"new_{column.name}", type_=column.type)
        for column in SESSION.columns
        if column.name not in _FIXED and not column.name.startswith("writer_") and column.computed is None
    }
    # A writer may archive its session; only `Store.archive` takes one out of the archive, so that a
    # window with an older copy does not.
    archived = func.coalesce(values["archived_at"], SESSION.c.archived_at)
    return (
        update(SESSION)
        .where(SESSION.c.id == bindparam("new_id", type_=SESSION.c.id.type))
        .values(**values | {"archived_at": archived})
    )


@cache
def _update_tab1() -> Executable:
    values = {
        column.name: bindparam(f"new_{column.name}", type_=column.type)
        for column in TAB1_INPUT.columns
        if not column.primary_key
    }
    key = TAB1_INPUT.c.session_id
    return update(TAB1_INPUT).where(key == bindparam("new_session_id", type_=key.type)).values(values)


@cache
def _add(table: Table) -> Executable:
    return upsert(table).on_conflict_do_nothing(index_elements=list(table.primary_key))


@cache
def _replace(table: Table) -> Executable:
    statement = upsert(table)
    new = {
        column.name: statement.excluded[column.name]
        for column in table.columns
        if not column.primary_key and column.name != "created_at"
    }
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=new)
