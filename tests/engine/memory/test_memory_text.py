"""Memory is kept as the model wrote it, and inputs made of it are the same after a restart."""

import json
from collections.abc import Mapping, Sequence

import psycopg
import pytest

from core.agents.context_builder import ContextBuilder
from core.domain.errors import ErrorCode
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import from_json, read_body, to_json
from core.providers.base import ChatMessage
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from db.store import PostgresStore
from tests.core.values.sessions import delta_payload, lock_payload
from tests.engine.windows import (
    CHOICES,
    MATCHES,
    Recorder,
    chapter,
    create,
    done,
    failing,
    play,
    scripted,
    set_up,
    window,
)
from tests.store.servers import plain_url

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]

RANGE = {"to_marker": "1)", "prompt_count_in_chunk": 1, "from_marker": "1)"}
ODD_LOCK = dict(reversed(lock_payload().items())) | {"zeal": {"b": [1], "a": "ü"}, "agents": []}
ODD_DELTA = {"mood": "dark"} | dict(reversed(delta_payload().items()))
ODD_DELTA |= {"range": RANGE, "character_actions": []}


def told(kind: RequestKind, payload: Mapping[str, object], indent: int | None = None, **more: int) -> Entry:
    """An entry that answers calls of this kind with a payload."""
    text = json.dumps(payload, ensure_ascii=False, indent=indent)
    return Entry(match=ScriptMatch.model_validate(MATCHES[kind]), text=text, times=more.get("times"))


def bytes_of(messages: Sequence[ChatMessage]) -> bytes:
    return json.dumps([[one.role, one.content] for one in messages]).encode()


async def test_inputs_have_the_same_bytes_before_and_after_a_restart(store: PostgresStore) -> None:
    entries = (told(RequestKind.LOCK, ODD_LOCK), told(RequestKind.SUMMARY, ODD_DELTA))
    model = Recorder(Script(reply=entries))
    async with window(store, model, await create(store, chunk_size=1)) as session:
        await set_up(session)
        await done(session, await session.lock())
        await play(session, 2)
        now = session.snapshot
        before = ContextBuilder(CHOICES).character(now.known_to(Slot.RED), "And now?")
    async with window(store, model, session.id) as again:
        model.calls.clear()
        await done(again, await again.submit_prompt(Slot.RED, "And now?"))
    assert bytes_of(model.calls[0].messages) == bytes_of(before.messages)
    memory = before.messages[-1].content
    assert memory.index("chapter_goals") < memory.index('"zeal":{"b":[1],"a":"ü"}') < memory.index("mood")


async def test_the_stored_text_is_the_one_that_the_model_returned(store: PostgresStore, url: str) -> None:
    async with chapter(store, scripted(told(RequestKind.SUMMARY, ODD_DELTA, 2)), chunk_size=1) as session:
        await play(session, 1)
    written = json.dumps(ODD_DELTA, ensure_ascii=False, indent=2)
    query = "SELECT json_text, payload FROM memory_block WHERE session_id = %s AND from_prompt = 1"
    with psycopg.connect(plain_url(url)) as raw:
        assert raw.execute(query, [session.id]).fetchone() == (written, ODD_DELTA)


async def test_an_export_carries_the_text_of_memory(store: PostgresStore) -> None:
    async with chapter(store, scripted(told(RequestKind.SUMMARY, ODD_DELTA, 2)), chunk_size=1) as session:
        await play(session, 1)
    body = from_json(to_json(await read_body(store, session.id)))
    copy = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, copy))
    for mine, other in zip(await store.blocks(session.id), await store.blocks(copy), strict=True):
        assert (mine.json_text, list(mine.payload)) == (other.json_text, list(other.payload))


LONG = {**delta_payload(), "canon_locks": ["x" * 2_001]}
SHORT = {**delta_payload(), "canon_locks": ["x"]}


@pytest.mark.parametrize("is_shortened", [True, False])
async def test_memory_that_is_too_long_is_asked_to_be_shorter_and_kept_if_it_is_not(
    store: PostgresStore, is_shortened: bool
) -> None:
    second = told(RequestKind.SUMMARY, SHORT if is_shortened else LONG)
    model = Recorder(Script(reply=(told(RequestKind.SUMMARY, LONG, times=1), second)))
    async with chapter(store, model, chunk_size=1) as session:
        await play(session, 1)
        *_, block = await session.reads.memory_blocks()
        assert block.payload["canon_locks"] == (SHORT if is_shortened else LONG)["canon_locks"]
        assert "write at most 2,000" in model.calls[-1].messages[-1].content
        calls = [call for call in await store.calls.artifacts(session.id) if call.agent_id == 8]
        assert [call.error_code for call in calls] == [ErrorCode.LLM_INVALID_JSON, None]


@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.INVALID_JSON, Fault.TRUNCATED])
async def test_memory_that_is_too_long_is_kept_when_no_other_comes_of_asking(
    store: PostgresStore, fault: Fault
) -> None:
    model = scripted(
        told(RequestKind.SUMMARY, LONG, times=1), failing(RequestKind.SUMMARY, fault, times=None)
    )
    async with chapter(store, model, chunk_size=1) as session:
        await play(session, 1)
        *_, block = await session.reads.memory_blocks()
        assert block.payload["canon_locks"] == LONG["canon_locks"]
