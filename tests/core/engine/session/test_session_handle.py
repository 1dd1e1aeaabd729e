"""An open session with its worker, its model and its listeners, on a store in memory."""

import asyncio

import pytest

from core.config.models.assignments import defaults_for
from core.domain.errors import ErrorCode, SessionLockedError, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest, RequestState
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions import tab1_commands
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.scripts.player import ScriptPlayer, Step
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import (
    CallStarted,
    MemoryAppended,
    RequestBegun,
    SessionReplaced,
    StorageTrouble,
    StreamRestarted,
)
from core.exchange.scripts.chapter_script import parse_chapter_script
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.rooms.room import Room
from tests.core.rooms.simulation import Simulation, active

pytestmark = pytest.mark.anyio

SCRIPT = """
title = "The lamp"
world = "A sea of glass."
chapter = "The lamp is out."
[[agent]]
name = "Kara"
identity = "Keeper of the lamp."
[[prompt]]
text = "Who is there?"
[[prompt]]
text = "What now?"
"""


async def settled(session: SessionHandle, request_id: RequestId) -> None:
    assert (await session.wait(request_id)).state is RequestState.DONE


async def test_the_headless_play_tells_of_every_step_and_how_many_there_are() -> None:
    room, steps = Room(Simulation().snapshot), list[Step]()
    async with room.opened() as session:
        await ScriptPlayer(session, parse_chapter_script(SCRIPT), steps.append).play()
    assert [(step.text, step.done, step.total) for step in steps] == [
        ("Setting up world and cast", 0, 5),
        ("Locking world and cast into memory", 0, 5),
        ("Prompt 1 to Kara", 1, 5),
        ("Prompt 2 to Kara", 2, 5),
        ("Ending the chapter", 3, 5),
        ("Writing the chapter", 4, 5),
        ("The chapter is written", 5, 5),
    ]
    again = list[Step]()
    async with room.opened() as session:
        await ScriptPlayer(session, parse_chapter_script(SCRIPT), again.append).play()
    assert [step.text for step in again] == ["The chapter is written"], "nothing is done twice"


@pytest.mark.parametrize(("schema", "before"), [("text", 1), ("turn_delta", 3)], ids=["reply", "summary"])
async def test_the_headless_play_tries_a_call_that_fails_in_passing_three_more_times(
    schema: str, before: int
) -> None:
    entry = Entry(match=ScriptMatch.model_validate({"schema": schema}), fault=Fault.SERVER_ERROR)
    room = Room(Simulation().snapshot, entry)
    async with room.opened() as session:
        player = ScriptPlayer(session, parse_chapter_script(SCRIPT), lambda _: None, retry_wait=0.0)
        with pytest.raises(StoryEngineError, match="run the same command") as stopped:
            await player.play()
    assert stopped.value.code is ErrorCode.LLM_SERVER_ERROR
    assert len(await room.store.calls.artifacts(room.store.snapshot.session.id)) == before + 4


async def test_the_headless_play_stops_at_once_where_the_last_summary_cannot_go_well() -> None:
    entry = Entry(match=ScriptMatch.model_validate({"schema": "turn_delta"}), fault=Fault.AUTH)
    room = Room(Simulation().snapshot, entry)
    async with room.opened() as session:
        with pytest.raises(StoryEngineError, match="refused the key"):
            await ScriptPlayer(session, parse_chapter_script(SCRIPT), lambda _: None).play()
    assert len(await room.store.calls.artifacts(room.store.snapshot.session.id)) == 4


async def test_a_new_session_is_stored_under_the_id_that_is_returned() -> None:
    store = FaultyStore(Simulation().snapshot)
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    made = await engine.create(script_key="key")
    [stored] = store.created
    assert stored.session is not None
    assert (stored.session_id, stored.session.id, stored.session.script_key) == (made, made, "key")


async def test_a_prompt_that_nothing_is_before_begins_as_it_is_stored_and_the_next_one_waits() -> None:
    room = Room(active().snapshot)
    async with room.opened() as session:
        first, second = await asyncio.gather(
            session.submit_prompt(Slot.RED, "One"), session.submit_prompt(Slot.ORANGE, "Two")
        )
        stored = [request.state for changes in room.store.commits for request in changes.requests][:2]
        assert stored == [RequestState.PROCESSING, RequestState.PENDING]
        await settled(session, first)
        await settled(session, second)
    begun = [
        notification.request for notification in room.notifications if isinstance(notification, RequestBegun)
    ]
    prompts = [request for request in begun if isinstance(request, ReplyRequest)]
    assert [(request.text, request.attempts) for request in prompts] == [("One", 1), ("Two", 1)]


async def test_memory_that_is_asked_for_again_begins_its_stream_anew_and_a_reply_does_not() -> None:
    match = ScriptMatch.model_validate({"schema": "world_chapter_lock"})
    simulation = Simulation()
    simulation.set_up()
    room = Room(simulation.snapshot, Entry(match=match, fault=Fault.WRONG_SHAPE, times=1))
    async with room.opened() as session:
        await settled(session, await session.lock())
        await settled(session, await session.submit_prompt(Slot.RED, "One"))
    slots = await room.store.save_points.listed(session.id)
    calls = [
        notification
        for notification in room.notifications
        if isinstance(notification, CallStarted | StreamRestarted)
    ]
    assert [type(call) for call in calls] == [CallStarted, StreamRestarted, CallStarted, CallStarted]
    assert [call.call for call in calls if isinstance(call, CallStarted)] == [1, 2, 1]
    assert [slot.label for slot in slots] == ["the chapter was locked"]


async def test_a_session_that_is_closed_gives_the_lock_and_the_texts_back() -> None:
    room = Room(active().snapshot, Entry(fault=Fault.HANG))
    async with room.opened() as session:
        request = await session.submit_prompt(Slot.RED, "One")
        await session.submit_prompt(Slot.RED, "Two")
        waiting = asyncio.create_task(session.wait(request))
        await asyncio.sleep(0)
        await session.aclose()
        assert (await waiting).error_code is ErrorCode.LLM_CANCELLED
        assert room.store.writer is None
        with pytest.raises(SessionLockedError):
            await session.submit_prompt(Slot.RED, "Three")
        commits = len(room.store.commits)
        await session.aclose()
        assert len(room.store.commits) == commits
    assert not any(isinstance(notification, StorageTrouble) for notification in room.notifications), (
        "nothing went wrong"
    )
    assert room.store.snapshot.unsent == {Slot.RED: "One\n\nTwo"}
    assert room.store.snapshot.session.state is SessionState.ACTIVE


@pytest.mark.parametrize(
    ("edit", "is_kept"),
    [
        (Tab1Edit(world="My own sea."), True),
        (Tab1Edit(identities={Slot.RED: "Mine."}), True),
        (Tab1Edit(world="A sea of glass.", chapter="The lamp is out."), False),
        (Tab1Edit(world=" \n"), False),
    ],
    ids=["another world", "another identity", "the script's own", "blanks"],
)
async def test_a_play_keeps_in_a_slot_what_the_gm_wrote_on_tab_1_and_the_script_did_not(
    edit: Tab1Edit, is_kept: bool
) -> None:
    simulation = Simulation()
    simulation.store(tab1_commands.edit_tab1(simulation.snapshot, edit, simulation.now))
    room = Room(simulation.snapshot)
    async with room.opened() as session:
        await ScriptPlayer(session, parse_chapter_script(SCRIPT), lambda _: None).play()
        labels = [slot.label for slot in await room.store.save_points.listed(session.id)]
    assert ("before the script was played again" in labels) is is_kept


async def test_a_summary_that_failed_for_good_is_made_when_the_gm_tries_it_again() -> None:
    match = ScriptMatch.model_validate({"schema": "turn_delta"})
    simulation = active()
    simulation.play(6)
    room = Room(simulation.snapshot, Entry(match=match, fault=Fault.AUTH, times=1))
    async with room.opened() as session:
        await settled(session, await session.submit_prompt(Slot.RED, "Seven"))
        await session.wait_idle()
        [failed] = session.snapshot.requests
        assert (failed.error_code, session.snapshot.session.boundary) == (ErrorCode.LLM_AUTH_ERROR, 0)
        assert await session.retry(failed.id) == failed.id
        await settled(session, failed.id)
        assert session.snapshot.session.boundary == 7


async def test_a_reset_takes_a_slot_of_the_chapter_at_rest_and_puts_it_away() -> None:
    simulation = Simulation()
    simulation.set_up()
    room = Room(simulation.snapshot, Entry(fault=Fault.HANG))
    async with room.opened() as session:
        await session.lock()
        fresh = await session.reset()
    [slot] = await room.store.save_points.listed(room.store.snapshot.session.id)
    assert (slot.label, slot.state) == ("before the chapter was reset", SessionState.DRAFT_TAB1)
    old = room.store.snapshot.session
    assert (old.state, old.archived_at is not None) == (SessionState.DRAFT_TAB1, True)
    [made] = room.store.created
    assert made.session_id == fresh
    assert [
        notification.new_id
        for notification in room.notifications
        if isinstance(notification, SessionReplaced)
    ] == [fresh]


async def test_a_summary_that_failed_in_passing_is_tried_again_by_itself_once_it_is_due() -> None:
    match = ScriptMatch.model_validate({"schema": "turn_delta"})
    simulation = active()
    simulation.play(6)
    entry = Entry(match=match, fault=Fault.SERVER_ERROR, times=2)
    room = Room(simulation.snapshot, entry, backoff=0.01)
    async with room.opened() as session:
        await settled(session, await session.submit_prompt(Slot.RED, "Seven"))
        await room.heard(MemoryAppended)
        assert session.snapshot.session.boundary == 7
        attempts = [call.attempt for call in await session.reads.artifacts() if call.agent_id == 8]
        assert attempts == [1, 2, 3]
