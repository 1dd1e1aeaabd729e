"""Export and import: everything of a session, byte for byte, and nothing that we did not write."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.domain.errors import RowRefusedError
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.domain.story.transcript import render_window
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import ImportRefusedError, from_json, read_body, to_json
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from storyengine_tui.cli.commands.chapter.exchange import read_file
from tests.core.exchange.test_export_refusals import signed
from tests.engine.windows import (
    GatedModel,
    Wrapped,
    chapter,
    done,
    failing,
    play,
    play_to_the_end,
    scripted,
    window,
)

pytestmark = pytest.mark.anyio


async def exported(store: PostgresStore) -> bytes:
    """An export of a session that has some of everything."""
    provider = scripted(
        failing(RequestKind.REPLY, Fault.CONTROL_CHARACTERS),
        failing(RequestKind.NARRATIVE, Fault.SERVER_ERROR),
    )
    async with chapter(store, provider) as session:
        await session.edits.save_unsent(Slot.YELLOW, "Not sent: “…” 灯 👩‍🚀")
        await play_to_the_end(session, 8)
        failed = await session.wait(await session.build_narrative())
        await done(session, await session.retry(failed.id))
        await session.wait(await session.build_narrative())
        return to_json(await read_body(store, session.id))


async def test_what_is_exported_and_imported_is_exported_as_the_same_bytes_but_for_the_id(
    store: PostgresStore,
) -> None:
    document = await exported(store)
    body = from_json(document)
    new_id = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, new_id))
    again = to_json(await read_body(store, new_id))
    assert json.loads(again)["sha256"] != json.loads(document)["sha256"], "the id is part of it"
    as_before = again.replace(str(new_id).encode(), str(body.session.id).encode())
    assert json.loads(as_before)["body"] == json.loads(document)["body"]
    assert to_json(from_json(document)) == document


async def test_an_imported_session_is_played_on_like_the_one_that_was_exported(store: PostgresStore) -> None:
    model = GatedModel()
    async with chapter(store, model) as session:
        await session.submit_prompt(Slot.RED, "One")
        body = from_json(to_json(await read_body(store, session.id)))
    new_id = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, new_id))
    async with window(store, None, new_id) as copy:
        assert copy.snapshot.unsent == {Slot.RED: "One"}, "what was in flight there is given back here"
        await play(copy, 1)


async def test_a_session_that_is_written_while_it_is_read_is_exported_as_of_one_moment(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:

        class Busy(Wrapped):
            """Calls under which a prompt is played while they are read."""

            reads = 0

            async def artifacts(self, *_: object) -> Any:
                found = await self._inner.artifacts(session.id)
                self.reads += 1
                if self.reads < 3:
                    await play(session, 1)
                return found

        body = await read_body(Wrapped(store, calls=Busy(store.calls)), session.id)
        assert body.session.prompt_index == 2
        assert len(body.events) == 4
        assert len(body.artifacts) == 3
        await store.chapters.create(as_new_session(body, SessionId(new_uuid())))


async def test_several_replies_and_system_events_of_one_prompt_are_imported_and_played_on(
    store: PostgresStore,
) -> None:
    body = json.loads(await exported_of_three(store))["body"]
    prompt, reply = body["events"][2:4]
    body["events"][4:4] = [
        {
            **reply,
            "id": str(new_uuid()),
            "ordinal": 2,
            "slot": 2,
            "text": "I have more to say.",
            "metadata": {},
        },
        {
            **prompt,
            "id": str(new_uuid()),
            "ordinal": 3,
            "role": "system",
            "text": "Night falls.",
            "metadata": {},
        },
    ]
    new_id = SessionId(new_uuid())
    await store.chapters.create(as_new_session(from_json(signed(body)), new_id))
    model = GatedModel()
    model.gate.set()
    async with window(store, model, new_id) as session:
        events = await session.newest_canon()
        shown = render_window(events, session.snapshot.session).text
        assert "Agent Orange: I have more to say.\n\nNight falls.\n\n3) " in shown
        await play(session, 1)
        assert "Agent Orange: I have more to say.\n\nNight falls." in model.calls[0].messages[-1].content
        await play_to_the_end(session, 4)
        summary = next(call for call in model.calls if call.schema is not None)
        assert "Night falls." in summary.messages[-1].content, "a summary is made of all of it"
        assert (await session.wait(await session.build_narrative())).state is RequestState.DONE
        assert any("Night falls." in message.content for message in model.calls[-1].messages)


async def exported_of_three(store: PostgresStore) -> bytes:
    async with chapter(store) as session:
        await play(session, 3)
        return to_json(await read_body(store, session.id))


def test_a_file_full_of_wrong_values_is_refused_within_little_memory() -> None:
    body: dict[str, Any] = {"events": [[]] * 50_000}
    document = signed(body)
    tracemalloc.start()
    try:
        with pytest.raises(ImportRefusedError):
            from_json(document)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 60 * len(document), "each empty list is an object, and none has an error of its own"


async def test_a_row_that_breaks_a_rule_of_the_database_is_told_apart_from_a_database_that_fails(
    store: PostgresStore,
) -> None:
    body = from_json(await exported_of_three(store))
    agent = replace(body.artifacts[0], agent_id=99)
    new_id = SessionId(new_uuid())
    with pytest.raises(RowRefusedError):
        await store.chapters.create(as_new_session(replace(body, artifacts=(agent,)), new_id))
    assert new_id not in {summary.id for summary in await store.chapters.listed()}, "nothing is half stored"


def test_a_file_that_is_not_there_is_a_bad_file(tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match="No such file"):
        read_file(tmp_path / "none.json")
