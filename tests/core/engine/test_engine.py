"""The engine's own commands, on a store in memory: who may write, and what is left behind when one fails."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from core.agents.context_builder import ContextBuilder
from core.config.models.assignments import defaults_for
from core.domain.errors import (
    ErrorCode,
    IllegalCommandError,
    SessionLockedError,
    StorageError,
    StoryEngineError,
)
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.requests.request import RequestState
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions import commands, tab1_commands
from core.engine.engine import Engine
from core.engine.queue.worker import Worker
from core.engine.sync.notifications import SessionChanged, StorageTrouble, WriterChanged
from core.gateway.call_records import BUG
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Fault
from core.storage.changes import Changes
from tests.core.rooms.faulty_store import AWAY, FaultyStore
from tests.core.rooms.room import Room
from tests.core.rooms.simulation import START, active

pytestmark = pytest.mark.anyio


class Closing(ScriptedProvider):
    """A model that notes that it was released."""

    is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore(active().snapshot)


@pytest.fixture
def engine(store: FaultyStore) -> Engine:
    return Engine(store, Closing(), defaults_for("scripted"), label="here", clock=lambda: START)


async def correct(engine: Engine, session_id: SessionId) -> None:
    """Correct canon in a chapter that is not open."""
    builder = ContextBuilder(engine.choices)
    await engine.closed(session_id).apply(
        lambda now: commands.correct_canon(now, builder, "Iron is soft.", START), needs_memory=True
    )


Command = Callable[[Engine, Any], Awaitable[None]]
COMMANDS: dict[str, Command] = {
    "archive": lambda engine, session_id: engine.archive(session_id),
    "retitle": lambda engine, session_id: engine.retitle(session_id, "Ice"),
    "correct canon": correct,
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_chapter_that_is_open_elsewhere_is_not_changed_from_the_list(
    engine: Engine, store: FaultyStore, name: str
) -> None:
    before = store.snapshot
    store.seize("second window")
    with pytest.raises(SessionLockedError, match="second window"):
        await COMMANDS[name](engine, before.session.id)
    assert store.snapshot == before
    assert store.writer is not None


async def test_a_chapter_is_changed_from_the_list_and_its_lock_given_back(
    engine: Engine, store: FaultyStore
) -> None:
    session_id = store.snapshot.session.id
    await engine.retitle(session_id, "Ice")
    assert store.snapshot.session.title == "Ice"
    await correct(engine, session_id)
    assert len(store.snapshot.blocks) == 2
    await engine.archive(session_id)
    assert store.snapshot.session.archived_at == START
    assert store.writer is None
    assert [one.id for one in await engine.sessions(is_archived=True)] == [session_id]
    assert not await engine.sessions()
    await engine.restore(session_id)
    assert store.snapshot.session.archived_at is None
    assert [one.id for one in await engine.sessions()] == [session_id]


@pytest.mark.parametrize("name", COMMANDS)
async def test_the_lock_is_given_back_where_a_change_from_the_list_fails(
    engine: Engine, store: FaultyStore, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **options: object) -> None:
        raise AWAY

    monkeypatch.setattr(store, "commit", fail)
    monkeypatch.setattr(store.chapters, "archive", fail)
    with pytest.raises(StorageError):
        await COMMANDS[name](engine, store.snapshot.session.id)
    assert store.writer is None


async def test_the_lock_is_given_back_where_a_chapter_cannot_be_read(
    engine: Engine, store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **options: object) -> None:
        raise AWAY

    monkeypatch.setattr(store, "load", fail)
    with pytest.raises(StorageError):
        await engine.open(store.snapshot.session.id)
    assert store.writer is None
    other = store.seize("second window")
    with pytest.raises(StorageError):
        await engine.open(store.snapshot.session.id)
    assert not other.is_closed


async def test_closing_the_engine_releases_model_and_store(store: FaultyStore) -> None:
    model = Closing()
    await Engine(store, model, defaults_for("scripted"), label="here").aclose()
    assert model.is_closed
    assert store.is_closed


async def test_a_session_gives_everything_that_is_stored_of_it() -> None:
    room = Room(active().snapshot)
    async with room.opened() as session:
        await session.wait(await session.submit_prompt(Slot.RED, "One"))
        await session.end_chapter()
        await session.wait_idle()
        await session.wait(await session.build_narrative())
        [draft] = await session.reads.drafts()
        assert draft.words > 0
        assert len(await session.reads.requests()) == 3
        artifacts = await session.reads.artifacts()
        assert len(artifacts) == 3
        texts = await session.reads.contents([artifacts[0].input_ref])
        assert texts[artifacts[0].input_ref].startswith("[[")
        assert next(event.text for event in await session.reads.canon()) == "One"
        assert len(await session.newest_canon()) == 2
        assert [block.last for block in await session.reads.memory_blocks()] == [0, 1]
        with pytest.raises(IllegalCommandError, match="no such call"):
            await session.wait(RequestId(new_uuid()))


async def test_only_a_call_that_failed_can_be_tried_again() -> None:
    room = Room(active().snapshot, Entry(fault=Fault.AUTH, times=1))
    async with room.opened() as session:
        failed = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        assert failed.error_code is ErrorCode.LLM_AUTH_ERROR
        again = await session.retry(failed.id)
        assert again == failed.id
        assert (await session.wait(again)).state is RequestState.DONE
        with pytest.raises(IllegalCommandError):
            await session.retry(failed.id)
        held = await session.submit_prompt(Slot.RED, "Two")
        with pytest.raises(IllegalCommandError, match="has not failed"):
            await session.retry(held)


async def test_a_reset_that_cannot_make_the_new_chapter_leaves_the_old_one_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room(active().snapshot)

    async def fail(*_: object, **options: object) -> None:
        raise AWAY

    monkeypatch.setattr(room.store.chapters, "create", fail)
    async with room.opened() as session:
        with pytest.raises(StorageError):
            await session.reset()
        assert session.snapshot.session.state is SessionState.ACTIVE
        assert session.snapshot.session.archived_at is None
        assert not session.is_read_only
    assert any(
        changes.session is not None and changes.session.state is SessionState.RESETTING
        for changes in room.store.commits
    )


async def test_a_chapter_that_is_being_reset_is_not_reset_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(active().snapshot)
    is_making, may_go_on = asyncio.Event(), asyncio.Event()
    create = room.store.chapters.create

    async def slowly(changes: Changes) -> None:
        is_making.set()
        await may_go_on.wait()
        await create(changes)

    monkeypatch.setattr(room.store.chapters, "create", slowly)
    async with room.opened() as session:
        first = asyncio.create_task(session.reset())
        await is_making.wait()
        slots = len(await room.store.save_points.listed(session.id))
        with pytest.raises(IllegalCommandError, match="cannot be reset now"):
            await session.reset()
        assert len(await room.store.save_points.listed(session.id)) == slots
        may_go_on.set()
        [made] = await asyncio.gather(first)
    assert [changes.session_id for changes in room.store.created] == [made]


async def test_two_resets_at_the_same_moment_make_one_chapter() -> None:
    room = Room(active().snapshot)
    async with room.opened() as session:
        ended = await asyncio.gather(session.reset(), session.reset(), return_exceptions=True)
    [refused] = [one for one in ended if isinstance(one, BaseException)]
    assert isinstance(refused, StoryEngineError)
    assert [changes.session_id for changes in room.store.created] == [
        one for one in ended if one is not refused
    ]


def let_runner_raise(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stumble(_: Worker, __: RequestId) -> None:
        raise error

    monkeypatch.setattr(Worker, "_perform", stumble)


async def test_an_error_of_our_own_in_the_runner_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(active().snapshot)
    let_runner_raise(AWAY, monkeypatch)
    async with room.opened() as session:
        request = await session.submit_prompt(Slot.RED, "One")
        with pytest.raises(StoryEngineError) as caught:
            await session.wait(request)
    assert caught.value is AWAY
    [trouble] = [
        notification for notification in room.notifications if isinstance(notification, StorageTrouble)
    ]
    assert trouble.error is AWAY


async def test_a_bug_in_the_runner_is_told_and_those_who_wait_hear_of_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    room = Room(active().snapshot)
    let_runner_raise(ZeroDivisionError(), monkeypatch)
    async with room.opened() as session:
        request = await session.submit_prompt(Slot.RED, "One")
        with caplog.at_level(logging.ERROR), pytest.raises(StoryEngineError, match="went wrong"):
            await session.wait(request)
    [trouble] = [
        notification for notification in room.notifications if isinstance(notification, StorageTrouble)
    ]
    assert trouble.error.message == BUG
    assert "ZeroDivisionError" in caplog.text


async def test_what_cannot_be_settled_in_any_form_is_recovered_as_after_a_crash(
    caplog: pytest.LogCaptureFixture,
) -> None:
    room = Room(active().snapshot)
    async with room.opened() as session:
        room.store.refuse_settling = 4
        with caplog.at_level(logging.ERROR):
            request = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.LLM_CANCELLED)
        assert session.snapshot.unsent == {Slot.RED: "One"}
        room.store.refuse_settling = 3
        request = await session.wait(await session.submit_prompt(Slot.RED, "Two"))
        assert request.error_code is ErrorCode.STORAGE_SAVE_FAILED
        await session.wait(await session.submit_prompt(Slot.RED, "Three"))
        assert session.snapshot.session.prompt_index == 1


async def test_a_window_that_reads_along_says_that_the_store_is_away_and_reads_on_once_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.engine.sync.session_tasks.RESTART_SECONDS", 0.0)
    room = Room(active().snapshot)
    other = room.store.seize("second window")
    room.store.failures_of_following = [AWAY] * 5
    async with room.opened() as session:
        assert session.is_read_only
        with pytest.raises(SessionLockedError):
            await session.reset()
        await room.heard(StorageTrouble)
        await room.store.commit(tab1_commands.retitle(room.store.snapshot, "Theirs", START), other)
        changed = await room.heard(SessionChanged)
        assert changed.session.title == session.snapshot.session.title == "Theirs"
        assert not await session.take_over()
        await other.aclose()

        async def fail(*_: object, **options: object) -> None:
            raise AWAY

        with monkeypatch.context() as patched:
            patched.setattr(room.store, "load", fail)
            with pytest.raises(StorageError):
                await session.take_over()
        assert room.store.writer is None
        assert session.is_read_only
        assert await session.take_over()
        assert not [task for task in asyncio.all_tasks() if task.get_name() == "follower"]
        assert await session.take_over(), "it writes already"
        await session.wait(await session.submit_prompt(Slot.RED, "One"))
    assert [
        notification.holder for notification in room.notifications if isinstance(notification, WriterChanged)
    ] == [None]


async def test_the_reason_why_nothing_can_be_followed_is_logged_once_and_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("core.engine.sync.session_tasks.RESTART_SECONDS", 0.0)
    room = Room(active().snapshot)
    other = room.store.seize("second window")
    room.store.failures_of_following = [AWAY] * 5
    with caplog.at_level(logging.WARNING):
        async with room.opened():
            await room.heard(StorageTrouble)
            await room.store.commit(tab1_commands.retitle(room.store.snapshot, "Theirs", START), other)
            await room.heard(SessionChanged)
    said = [one for one in caplog.records if one.getMessage().startswith("following was interrupted")]
    assert [one.exc_info for one in said] == [None]


async def test_a_call_that_is_settled_cannot_be_stopped_any_more() -> None:
    room = Room(active().snapshot)
    async with room.opened() as session:
        request = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        await session.edits.retitle("Something else happens")
        with pytest.raises(IllegalCommandError, match="settled already"):
            await session.cancel(request.id)
