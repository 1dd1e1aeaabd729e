"""Rules of condensed memory, held by the database: raw SQL, past all of our code."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from core.domain.ids import SessionId
from core.storage.changes import Changes
from db.store import open_store
from tests.core.values.sessions import delta_payload
from tests.store import chapters
from tests.store.contract.test_condensed_contract import condensed
from tests.store.schema.older_schema import add_long_chapters, by_title, check_upgraded, make_old
from tests.store.servers import cloned, plain_url

ADDED = (
    "INSERT INTO condensed_memory (session_id, condensed_id, from_prompt, to_prompt, audience, sources,"
    " json_text, created_at) SELECT %s, gen_random_uuid(), {range}, {audience}, {sources}, {text}, {at}"
)
IDS = "(SELECT array_agg(block_id ORDER BY to_prompt{order}) FROM memory_block WHERE {which})"
WHOLE = {"range": "1, 21", "audience": "127", "sources": IDS, "text": "'{{}}'", "at": "now()"}
DELTAS = "type = 'turn_delta'"
BROKEN = {
    "prompts before the first": ({"range": "0, 21"}, "23514"),
    "a range of one prompt": ({"range": "21, 21"}, "23514"),
    "an audience with a slot that there is not": ({"audience": "128"}, "23514"),
    "one source": ({"which": "from_prompt = 1"}, "23514"),
    "no source": ({"sources": "'{{}}'::uuid[]"}, "23514"),
    "text that is not JSON": ({"text": "'{{'"}, "22P02"),
    "a time that cannot be shown": ({"at": "'infinity'"}, "23514"),
    "the same sources again": ({"which": "to_prompt IN (7, 14)", "range": "1, 14"}, "23505"),
    "a source outside of its range": ({"range": "1, 20"}, "SE004"),
    "a source with another audience": ({"audience": "1"}, "SE004"),
    "a source that is no delta": ({"which": "true"}, "SE004"),
    "a source that there is not": ({"sources": "ARRAY[gen_random_uuid(), gen_random_uuid()]"}, "SE004"),
    "a source of another session": ({"session": "22222222-2222-2222-2222-222222222222"}, "23503"),
}


@pytest.fixture(scope="module")
def subject(template: str) -> Iterator[tuple[str, SessionId]]:
    for url in cloned(template):
        yield url, asyncio.run(_make(url))


async def _make(url: str) -> SessionId:
    store = await open_store(url)
    session, lease = await chapters.locked_session(store)
    session = replace(await chapters.play(store, session, lease, 21), boundary=21)
    spans = ((1, 7), (8, 14), (15, 21))
    blocks = [replace(chapters.delta(session, first, last), payload=delta_payload()) for first, last in spans]
    await store.commit(Changes(session_id=session.id, session=session, blocks=tuple(blocks)), lease)
    made = condensed(session, blocks[:2])
    await store.commit(Changes(session_id=session.id, condensed=(made,)), lease)
    await store.aclose()
    return session.id


def _run(raw: psycopg.Connection, session_id: object, changed: dict[str, str]) -> None:
    values = {**WHOLE, "which": DELTAS, "order": "", **changed}
    ids = values["sources"].format(order=values["order"], which=values["which"])
    text = ADDED.format(
        **{**values, "sources": ids, "text": values["text"].replace("{{", "{").replace("}}", "}")}
    )
    raw.execute(text.encode(), [changed.get("session", session_id)])


@pytest.fixture
def raw(subject: tuple[str, SessionId]) -> Iterator[psycopg.Connection]:
    with (
        psycopg.connect(plain_url(subject[0]), autocommit=True) as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        yield connection


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_rule_is_refused(
    subject: tuple[str, SessionId], raw: psycopg.Connection, name: str
) -> None:
    changed, code = BROKEN[name]
    with pytest.raises(psycopg.Error) as refused, raw.transaction():
        _run(raw, subject[1], changed)
    assert refused.value.sqlstate == code, refused.value
    _run(raw, subject[1], {})  # which is legal


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE condensed_memory SET json_text = '{}'",
        "UPDATE condensed_memory SET audience = 1",
        "DELETE FROM condensed_memory",
        "TRUNCATE condensed_memory",
    ],
)
def test_what_was_stored_stays(raw: psycopg.Connection, statement: str) -> None:
    with pytest.raises(psycopg.Error) as refused, raw.transaction():
        raw.execute(statement.encode())
    assert refused.value.sqlstate == "SE002"


@pytest.mark.anyio
async def test_an_older_chapter_is_upgraded_and_has_none(here: str) -> None:
    await make_old(here, "story_0024")
    await add_long_chapters(here, with_takes=True)
    store = await open_store(here)
    await check_upgraded(store, here)
    for session_id in (await by_title(store)).values():
        assert (await store.load(session_id)).condensed == ()
    await store.aclose()
