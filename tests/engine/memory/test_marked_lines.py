"""Lines that are always or never sent, and new scenes, in chapters that are played on a real store."""

import json

import pytest

from core.domain.audience import Audience
from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError, SessionLockedError
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import SummaryRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus, EventStatus
from core.domain.story.event import Event, Role
from core.domain.story.memory import BlockType
from core.engine.services.save_points.save_points import SavePoints
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import ImportRefusedError, from_json, read_body, to_json
from core.providers.base import ModelRequest
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from core.text.canonical_json import canonical, checksum
from db.store import PostgresStore
from tests.engine.scene.test_player_scene import SETTING, played
from tests.engine.windows import (
    Recorder,
    chapter,
    done,
    engine_on,
    failing,
    is_summary,
    listening,
    play,
    window,
)

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
ALWAYS, NEVER, DEFAULT = ContextStatus.ALWAYS, ContextStatus.NEVER, ContextStatus.DEFAULT


def text_of(call: ModelRequest) -> str:
    return "\n".join(message.content for message in call.messages)


def recent_of(call: ModelRequest) -> str:
    """Return what a call has word for word of the story: the model in these tests repeats it in memory."""
    return text_of(call).partition("=== RECENT_CONTEXT")[2].partition("=== END RECENT_CONTEXT")[0]


async def line(store: PostgresStore, session: SessionHandle, prompt: int, ordinal: int = 0) -> Event:
    events = await store.canon(session.id, first=prompt, last=prompt)
    return next(event for event in events if event.ordinal == ordinal)


async def say(session: SessionHandle, text: str, slot: Slot = RED, heard_by: Audience | None = None) -> None:
    await done(session, await session.submit_prompt(slot, text, heard_by=heard_by))
    await session.wait_idle()


async def test_a_line_that_is_old_is_sent_again_once_it_is_always_sent_and_stays_after_a_restart(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=2) as session:
        await say(session, "The key is under the blue stone.")
        await play(session, 8)
        assert "blue stone" not in recent_of(model.calls[-1])
        await session.scene.set_status([await line(store, session, 1)], ALWAYS)
        await say(session, "Where is it?")
        asked = [call for call in model.calls if not is_summary(call)]
        assert "1) The key is under the blue stone." in recent_of(asked[-1])
        await play(session, 4)
        assert (await store.load(session.id)).kept == session.snapshot.kept
        assert len(session.snapshot.kept) == 1
    async with window(store, model, session.id) as session:
        await say(session, "And now?")
        assert any("blue stone" in recent_of(call) for call in model.calls[-2:] if not is_summary(call))
        await session.scene.set_status([await line(store, session, 1)], DEFAULT)
        assert session.snapshot.kept == ()
        model.calls.clear()
        await say(session, "And at last?")
        assert not any("blue stone" in recent_of(call) for call in model.calls)


async def test_a_line_that_is_never_sent_is_neither_sent_nor_summarised_but_what_memory_says_stays(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=2) as session:
        await say(session, "An old aside.")
        await play(session, 1)
        blocks = list(await store.blocks(session.id))
        await session.scene.set_status([await line(store, session, 1)], NEVER)
        assert list(await store.blocks(session.id)) == blocks
        model.calls.clear()
        await say(session, "A new aside.")
        await session.scene.set_status(await store.canon(session.id, first=3, last=3), NEVER)
        model.calls.clear()
        await play(session, 1)
        assert any(map(is_summary, model.calls))
        assert not any("A new aside." in text_of(call) for call in model.calls)
        assert (await line(store, session, 3)).text == "A new aside."


@pytest.mark.parametrize("first", [NEVER, DEFAULT])
async def test_a_summary_that_goes_on_after_a_failure_has_the_lines_that_are_sent_by_then(
    first: ContextStatus, store: PostgresStore
) -> None:
    """Each delta of a chunk is stored as it is made, in the order of their audiences."""
    failure = failing(RequestKind.SUMMARY, Fault.TIME_OUT, None, calls=(2,))
    async with chapter(store, Recorder(Script(reply=(failure,))), chunk_size=3) as session:
        await say(session, "Aloud.")
        await say(session, "Between two.", heard_by=Audience.of((RED, ORANGE)))
        aloud = await store.canon(session.id, first=1, last=1)
        if first is NEVER:
            await session.scene.set_status(aloud, NEVER)
        await say(session, "To one.", heard_by=Audience.of((RED,)))
        [failed] = session.snapshot.failed(SummaryRequest)
        await session.scene.set_status(aloud, DEFAULT if first is NEVER else NEVER)
        await done(session, await session.retry(failed.id))
        told = [block.audience.slots for block in await store.blocks(session.id) if block.last == 3]
        everyone = [Audience().slots] if first is NEVER else []
        assert told == [*everyone, {RED, ORANGE}, {RED}]
        assert from_json(to_json(await read_body(store, session.id)))


async def test_a_chunk_of_which_nothing_is_sent_makes_an_empty_block_without_a_call(
    store: PostgresStore,
) -> None:
    failure = failing(RequestKind.SUMMARY, Fault.TIME_OUT)
    model = Recorder(Script(reply=(failure,)))
    async with chapter(store, model, chunk_size=1) as session:
        await say(session, "Unheard.")
        [failed] = session.snapshot.failed(SummaryRequest)
        await session.scene.set_status(list(await store.canon(session.id)), NEVER)
        model.calls.clear()
        await session.wait(await session.retry(failed.id))
        assert model.calls == []
        block = session.snapshot.blocks[-1]
        assert (block.first, block.last, block.payload["major_events"]) == (1, 1, [])
        await say(session, "On we go.")
        assert session.snapshot.session.boundary == 2
        body = await read_body(store, session.id)
    assert from_json(to_json(body)) == body


async def test_a_status_is_set_again_and_another_reply_has_none(store: PostgresStore) -> None:
    texts = ScriptMatch(schema="text")
    replies = (Entry(match=texts, text="First.", times=1), Entry(match=texts, text="Second."))
    async with chapter(store, Recorder(Script(reply=replies))) as session:
        await play(session, 1)
        reply = await line(store, session, 1, 1)
        for status in (NEVER, ALWAYS, DEFAULT, NEVER):
            await session.scene.set_status([reply], status)
            assert session.snapshot.statuses == (EventStatus(1, 1, 1, status),)
        with pytest.raises(IllegalCommandError, match="already"):
            await session.scene.set_status([reply], NEVER)
        await done(session, await session.takes.reroll())
        await session._writer.know_memory()
        assert session.snapshot.known_to(RED).events == session.snapshot.recent
        await session.takes.choose(1)
        assert len(session.snapshot.known_to(RED).events) == 1
        await session.takes.undo()
        await session.takes.redo()
        assert len(session.snapshot.known_to(RED).events) == 1
        assert (await store.load(session.id)).statuses == session.snapshot.statuses


async def test_another_take_has_the_status_of_the_same_words(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await play(session, 1)
        await session.scene.narrate("A lamp goes out.")
        prompt, reply, told = session.snapshot.recent
        await session.scene.set_status([prompt], ALWAYS)
        await session.scene.set_status([told, reply], NEVER)
        await session.takes.correct_reply("By hand.")
        assert [(*one.place, one.status) for one in session.snapshot.statuses if one.take == 2] == [
            (1, 2, 0, ALWAYS),
            (1, 2, 2, NEVER),
        ]
        await session.scene.set_status(session.snapshot.recent[2:], DEFAULT)
        await session.takes.choose(1)
        assert [(*one.place, one.status) for one in session.snapshot.statuses if one.take == 1] == [
            (1, 1, 0, ALWAYS),
            (1, 1, 1, NEVER),
            (1, 1, 2, NEVER),
        ]
        await done(session, await session.takes.reroll())
        again = [one for one in session.snapshot.statuses if one.take == 3]
        assert [(one.ordinal, one.status) for one in again if one.ordinal != 1] == [(0, ALWAYS), (2, NEVER)]
        assert (await store.load(session.id)).statuses == session.snapshot.statuses


async def test_a_window_that_follows_sees_it(store: PostgresStore) -> None:
    async with chapter(store) as session, window(store, None, session.id, label="other") as other:
        await play(session, 1)
        async with listening(other) as ears:
            await session.scene.set_status([await line(store, session, 1)], ALWAYS)
            await ears.hear_state(session.snapshot.session.state)
            async with ears._arrived:
                await ears._arrived.wait_for(lambda: bool(other.snapshot.statuses))
        assert other.snapshot.statuses == session.snapshot.statuses


async def test_branches_save_points_and_exports_keep_it(store: PostgresStore) -> None:
    slots = SavePoints(store, utc_now)
    async with chapter(store, chunk_size=2) as session:
        await play(session, 5)
        await session.scene.set_status([await line(store, session, 1)], ALWAYS)
        await session.scene.set_status([await line(store, session, 5, 1)], NEVER)
        said = session.snapshot.statuses
        kept = await slots.keep(session.id, "marked")
        await session.scene.set_status([await line(store, session, 1)], DEFAULT)
        body = await read_body(store, session.id)
    assert from_json(to_json(body)) == body
    fresh = SessionId(new_uuid())
    await store.chapters.create(as_new_session(from_json(to_json(body)), fresh))
    assert (await store.load(fresh)).statuses == body.statuses != said
    restored = await slots.restore(session.id, kept.number)
    assert (await store.load(restored)).statuses == said
    assert [event.prompt_index for event in (await store.load(restored)).kept] == [1]
    branch = await engine_on(store).branch(session.id, 3)
    assert [one.place for one in (await store.load(branch)).statuses] == [(1, 1, 0)]


async def test_a_chapter_without_a_status_is_exported_as_it_always_was(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await play(session, 1)
        document = json.loads(to_json(await read_body(store, session.id)))
    assert "statuses" not in document["body"]
    assert document["version"] == 7


async def test_an_export_with_a_status_of_a_line_that_is_missing_is_refused(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await play(session, 1)
        await session.scene.set_status([await line(store, session, 1)], ALWAYS)
        document = json.loads(to_json(await read_body(store, session.id)))
    document["body"]["statuses"][0]["ordinal"] = 9
    document["sha256"] = checksum(canonical(document["body"]))
    with pytest.raises(ImportRefusedError, match="missing"):
        from_json(json.dumps(document).encode())


async def test_recent_context_begins_with_the_scene_as_soon_as_the_one_before_is_in_memory(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=3) as session:
        await say(session, "In the first scene.")
        await session.scene.begin_scene()
        await say(session, "In the second scene.")
        assert "In the first scene." in recent_of(model.calls[-1])  # it is not in memory yet
        await play(session, 1)
        assert session.snapshot.session.boundary == 3
        await say(session, "Go on.")
        sent = recent_of(model.calls[-1])
        assert "In the first scene." not in sent
        assert "In the second scene." in sent
        assert "* * *" not in sent
        [mark] = [event for event in session.snapshot.recent if event.begins_scene]
        assert (mark.text, mark.prompt_index, mark.audience) == ("* * *", 1, Audience())


async def test_the_words_of_a_scene_are_heard_by_those_who_are_present(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        await say(session, "Before.")
        await session.scene.begin_scene("At the mill, at dawn.", hearers=[ORANGE])
        await say(session, "Now?")
        assert "At the mill" not in text_of(model.calls[-1])
        await say(session, "And you?", ORANGE)
        assert "* * *\nAt the mill, at dawn." in text_of(model.calls[-1])


async def test_the_input_of_a_chapter_says_nothing_of_what_it_does_not_use(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await play(session, 8)
        await session._writer.know_memory()
        snapshot = session.snapshot
        assert (snapshot.statuses, snapshot.kept) == ((), ())
        assert snapshot.known_to(RED).events == snapshot.recent
        assert [block.type for block in snapshot.blocks][-1] is BlockType.TURN_DELTA


async def test_a_chapter_that_is_not_open_here_is_marked_and_gets_scenes(store: PostgresStore) -> None:
    engine = engine_on(store)
    async with chapter(store) as session:
        await play(session, 2)
    closed = engine.closed(session.id, "mark it there")
    first, second = [await closed.reads.canon(first=prompt, last=prompt) for prompt in (1, 2)]
    async with window(store, None, session.id):
        with pytest.raises(SessionLockedError, match="mark it there"):
            await closed.scene.set_status(first, ALWAYS)
    await closed.scene.set_status(first, ALWAYS)
    await closed.scene.set_status(second[1:], NEVER)
    await closed.scene.begin_scene("At the mill.")
    stored = await store.load(session.id)
    assert [(*one.place, one.status) for one in stored.statuses] == [
        (1, 1, 0, ALWAYS),
        (1, 1, 1, ALWAYS),
        (2, 1, 1, NEVER),
    ]
    assert stored.recent[-1].begins_scene


SCENES = (
    SETTING
    + """
[[prompt]]
scene = "At the mill."
text = "Who is there?"
[[prompt]]
scene = ""
line = "The tide turns."
text = "And now?"
"""
)


async def test_a_script_begins_scenes_once_with_words_or_without(store: PostgresStore) -> None:
    async with played(store, SCENES) as session:
        log = await store.log(session.id)
        lines = [event for event in log if event.role is Role.SYSTEM]
    assert [(one.place, one.text, one.begins_scene, one.is_never_sent) for one in lines] == [
        ((0, 0), "* * *\nAt the mill.", True, False),
        ((1, 2), "* * *", True, True),
        ((1, 3), "The tide turns.", False, False),
    ]
    async with played(store, SCENES, session.id):
        assert await store.log(session.id) == log
