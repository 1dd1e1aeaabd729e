"""While the GM is idle a character may add to its reply, under a clock of the test (design 17)."""

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.audience import NOBODY, Audience
from core.domain.errors import IllegalCommandError
from core.domain.requests.cost import UnitPrices
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.engine.engine_settings import CallRules
from core.engine.services.speaking.afterthoughts import TIMERS
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import TextArrived
from core.ledger.prices import PriceBook
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from core.storage.changes import Changes
from core.storage.session_store import Lease
from tests.core.rooms.evening import ADDS, REASON, Evening, adds, decides, evening
from tests.core.rooms.idle_hours import IdleHours
from tests.core.rooms.takes_model import CHUNK, play, room

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW


async def inputs(session: SessionHandle) -> dict[str, list[str]]:
    """Return the whole input of every call, by the kind of its request."""
    kinds = {request.id: request.kind.value for request in await session.reads.requests()}
    made: dict[str, list[str]] = {}
    for call in await session.reads.artifacts():
        manifest = (await session.reads.contents([call.input_ref]))[call.input_ref]
        parts = [part for _, _, part in json.loads(manifest)]
        texts = await session.reads.contents(parts)
        made.setdefault(kinds[call.request_id], []).append("\n".join(texts[part] for part in parts))
    return made


async def test_a_character_that_decides_to_speak_adds_at_the_same_prompt_with_the_next_ordinal() -> None:
    async with evening(decides(True), adds(), most=1) as night:
        await play(night.session, "Who is there?")
        await night.idle(9)
        assert await night.asked() == []
        await night.idle(1)
        assert await night.asked() == [10]
        [said] = await night.added()
        assert (said.prompt_index, said.take, said.ordinal, said.role) == (1, 1, 2, Role.AGENT)
        assert (said.slot, said.text) == (RED, "And one thing more.")
        assert said.metadata["unasked_after"] == 10
        assert not night.hours.is_anyone_waiting, "one is the most"
        assert night.session.snapshot.recent == tuple(await night.session.reads.canon())
        await play(night.session, "And now?")
        told = (await inputs(night.session))["reply"][-1]
        assert "Agent Red: And one thing more." in told


async def test_one_that_decides_to_stay_silent_is_asked_again_at_every_timer_and_then_no_more() -> None:
    async with evening(decides(False)) as night:
        await play(night.session, "Who is there?")
        for before, timer in zip((0, *TIMERS), TIMERS, strict=False):
            await night.idle(timer - before - 1)
            assert (await night.asked())[-1:] != [timer]
            await night.hours.pass_by(1, lambda: night.session.afterthoughts._task)
            assert (await night.asked())[-1] == timer
        assert await night.asked() == list(TIMERS)
        assert await night.added() == []
        assert not night.hours.is_anyone_waiting
        kept = [one for one in await night.session.reads.requests() if isinstance(one, BackgroundRequest)]
        assert {one.state for one in kept} == {RequestState.DONE}


async def test_the_timers_start_over_after_what_was_added_until_there_were_enough() -> None:
    async with evening(decides(True), adds(), most=2) as night:
        await play(night.session, "Who is there?")
        await night.idle(10)
        await night.idle(10)
        assert await night.asked() == [10, 10]
        assert [event.ordinal for event in await night.added()] == [2, 3]
        assert not night.hours.is_anyone_waiting


async def test_typing_stops_it_and_the_timers_start_over() -> None:
    async with evening(decides(False)) as night:
        await play(night.session, "Who is there?")
        await night.idle(9)
        night.session.afterthoughts.touch()
        await night.idle(9)
        assert await night.asked() == []
        await night.idle(1)
        assert await night.asked() == [10]


@pytest.mark.parametrize("stops", ["typing", "sending", "leaving"])
async def test_what_is_being_said_is_stopped_and_never_part_of_the_story(stops: str) -> None:
    slow = Entry(match=ScriptMatch(last=ADDS), text="Slow " + "words " * 400, between_tokens=0.01)
    async with evening(decides(True, times=1), decides(False), slow) as night:
        session = night.session
        await play(session, "Who is there?")
        await night.hours.begun()
        [(first, _)] = list(night.hours._sleepers.items())
        first.set_result(None)
        await night.scene.heard(TextArrived, lambda one: one.text.startswith("Slow"))
        [request] = session.snapshot.background
        [decision] = [one for one in await session.reads.artifacts() if one.request_id == request.id]
        assert decision.output_ref is not None, "it was paid for, and is on record before the addition"
        match stops:
            case "typing":
                session.afterthoughts.touch()
                settled = await session.wait(request.id)
            case "sending":
                await play(session, "Enough.")
                settled = await session.wait(request.id)
            case _:
                await session.aclose()
                [settled] = [one for one in await session.reads.requests() if one.id == request.id]
        assert settled.state is RequestState.DONE, "it does not wait, and is not tried again"
        assert await night.added() == []
        assert all("Slow" not in text for text in (await inputs(session))["reply"])


async def test_typing_while_the_question_is_stored_takes_it_back_before_a_model_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with evening(decides(True), adds()) as night:
        await play(night.session, "Who is there?")
        store, has_come, goes_on = night.scene.store, asyncio.Event(), asyncio.Event()
        commit = store.commit

        async def slow(changes: Changes, lease: Lease) -> None:
            if any(isinstance(one, BackgroundRequest) for one in changes.requests):
                has_come.set()
                await goes_on.wait()
            await commit(changes, lease)

        monkeypatch.setattr(store, "commit", slow)
        await night.hours.begun()
        [(first, _)] = list(night.hours._sleepers.items())
        first.set_result(None)
        await has_come.wait()
        night.session.afterthoughts.touch()
        goes_on.set()
        await night.hours.begun()
        await night.session.aclose()
        [asked] = [one for one in await night.session.reads.requests() if isinstance(one, BackgroundRequest)]
        assert (asked.state, asked.attempts) == (RequestState.CANCELLED, 0)
        assert await night.added() == []


async def test_without_the_switch_nothing_waits_and_nothing_is_asked() -> None:
    async with evening(decides(True), slots=()) as night:
        await play(night.session, "Who is there?")
        assert night.session.afterthoughts._task is None
        night.session.afterthoughts.touch()
        assert night.session.afterthoughts._task is None
        assert [one.kind.value for one in await night.session.reads.requests()] == ["reply"]


async def test_a_character_without_the_switch_adds_nothing_and_the_chapter_has_one_of_its_own() -> None:
    async with evening(decides(True), adds(), slots=(ORANGE,)) as night:
        await play(night.session, "Who is there?")
        assert night.session.afterthoughts._task is None
        await night.session.afterthoughts.choose_speakers((RED,), is_on=False)
        assert night.session.afterthoughts._task is None
        assert night.session.snapshot.session.may_add == Audience.of((RED,)), "kept for later"
        await night.session.afterthoughts.choose_speakers((RED,))
        await night.idle(10)
        assert len(await night.added()) == 1
        with pytest.raises(IllegalCommandError):
            await night.session.afterthoughts.choose_speakers((Slot.VIOLET,))


async def test_a_whisper_is_added_to_as_a_whisper() -> None:
    async with evening(decides(True), adds(), most=1) as night:
        session = night.session
        await session.wait(await session.submit_prompt(RED, "Psst.", heard_by=NOBODY))
        await night.idle(10)
        assert [event.audience for event in await session.reads.canon()] == [Audience.of((RED,))] * 3
        await session.wait(await session.submit_prompt(ORANGE, "And you?"))
        assert "one thing more" not in (await inputs(session))["reply"][-1]


async def test_the_decision_and_its_reason_are_kept_and_no_input_ever_has_them() -> None:
    async with evening(decides(True), adds(), most=1) as night:
        session = night.session
        for number in range(1, CHUNK + 2):
            await play(session, f"Prompt {number}")
            await night.idle(10)
        decisions = [
            call for call in await session.reads.artifacts() if "+afterthought@" in call.prompt_version
        ]
        outputs = await session.reads.contents([call.output_ref or "" for call in decisions])
        assert len(decisions) == CHUNK + 1
        assert all(REASON in text for text in outputs.values())
        everything = [text for texts in (await inputs(session)).values() for text in texts]
        assert not [text for text in everything if REASON in text]
        assert REASON not in str([event.metadata for event in await session.reads.canon()])


async def test_what_was_added_after_the_last_prompt_of_a_chunk_is_summarised_with_the_next() -> None:
    async with evening(decides(True), adds(), most=1) as night:
        session = night.session
        await play(session, *(f"Prompt {number}" for number in range(1, CHUNK + 1)))
        assert session.snapshot.session.boundary == CHUNK
        await night.idle(10)
        assert [event.prompt_index for event in await night.added()] == [CHUNK]
        assert session.snapshot.session.boundary == CHUNK, "memory stays as it is"
        await session.afterthoughts.choose_speakers((), is_on=False)
        await play(session, *(f"Prompt {number}" for number in range(CHUNK + 1, 2 * CHUNK + 1)))
        summaries = (await inputs(session))["summary"]
        assert ["one thing more" in text for text in summaries] == [False, True]


async def test_an_addition_is_struck_like_a_take_and_the_log_keeps_it() -> None:
    async with evening(decides(True), adds(), most=1) as night:
        session = night.session
        await play(session, "Who is there?")
        await night.idle(10)
        await session.takes.strike_afterthought()
        assert await night.added() == []
        takes = await session.takes.listed()
        assert [len(take) for take in takes] == [3, 2]
        await session.takes.choose(1)
        assert len(await night.added()) == 1
        await session.takes.strike_afterthought()
        with pytest.raises(IllegalCommandError):
            await session.takes.strike_afterthought()


@pytest.mark.parametrize("most", [1, 2])
async def test_what_was_struck_does_not_come_back_before_the_gm_types(most: int) -> None:
    async with evening(decides(True), adds(), most=most) as night:
        await play(night.session, "Who is there?")
        for _ in range(most):
            await night.idle(10)
        await night.session.takes.strike_afterthought()
        assert len(await night.added()) == most - 1
        assert not night.hours.is_anyone_waiting
        night.session.afterthoughts.touch()
        await night.idle(10)
        assert len(await night.added()) == most
        assert await night.asked() == [10] * (most + 1)


async def test_a_reroll_asks_those_who_were_called_and_none_that_added_something() -> None:
    async with evening(decides(True), adds(), most=1) as night:
        session = night.session
        await play(session, "Who is there?")
        await night.idle(10)
        await session.afterthoughts.choose_speakers((), is_on=False)
        await session.wait(await session.takes.reroll())
        await session.wait_idle()
        assert [event.ordinal for event in await session.reads.canon()] == [0, 1]


@pytest.mark.parametrize(
    "entry",
    [
        Entry(match=ScriptMatch(schema="afterthought"), text="I think not."),
        Entry(match=ScriptMatch(schema="afterthought"), fault=Fault.WRONG_SHAPE),
    ],
    ids=["prose", "another shape"],
)
async def test_a_decision_that_cannot_be_read_is_silence(entry: Entry) -> None:
    async with evening(entry) as night:
        await play(night.session, "Who is there?")
        await night.idle(10)
        assert await night.added() == []


async def test_an_addition_that_only_repeats_is_not_said() -> None:
    said = "I hold the lantern up and look around the room."
    scene, hours = (
        room(decides(True), adds(said), Entry(match=ScriptMatch(last="Who"), text=said)),
        IdleHours(),
    )
    scene.play = replace(scene.play, idle_clock=hours.clock)
    scene.choices = ModelAssignments(
        {role: replace(choice, avoids_repeats=True) for role, choice in scene.choices.items()}
    )
    async with scene.opened() as session:
        night = Evening(scene, session, hours)
        await session.afterthoughts.choose_speakers((RED,))
        await play(session, "Who is there?")
        await night.idle(10)
        assert await night.asked() == [10]
        assert await night.added() == []


async def test_after_a_restart_nothing_is_said_until_the_play_goes_on() -> None:
    async with evening(decides(True), adds(), most=1) as night:
        await play(night.session, "Who is there?")
        await night.session.aclose()
        async with night.scene.opened() as again:
            assert again.afterthoughts._task is None
            await play(again, "And now?")
            await night.hours.begun()
            await night.hours.pass_by(10, lambda: again.afterthoughts._task)
            assert [event.prompt_index for event in await again.reads.canon() if event.is_afterthought] == [2]


def timers_of(stretch: int, room: int, speaks: Callable[[int], bool]) -> tuple[list[int], int]:
    """Return after how many seconds a character is asked in a stretch of idleness, and how often it speaks.

    It has `room` for so many additions; after each of them the timers start over.
    """
    asked: list[int] = []
    added = since = 0
    while added < room:
        due = [timer for timer in (10, 60, 300, 900, 3_600) if since + timer <= stretch]
        for timer in due:
            asked.append(timer)
            if speaks(len(asked)):
                added, since = added + 1, since + timer
                break
        else:
            break
    return asked, added


async def test_an_evening_of_fifty_prompts_has_every_timer_in_its_place() -> None:
    draw, most = random.Random(20), 2
    spoken = [number for number in range(1, 2_000) if draw.random() < 0.2]
    speaking = decides(True).model_copy(update={"calls": tuple(spoken)})
    expected: list[int] = []
    added_in_all = 0

    async with evening(speaking, decides(False), adds(), most=most) as night:

        def speaks(number: int) -> bool:
            return len(expected) + number in spoken

        session = night.session
        for number in range(1, 51):
            await play(session, f"Prompt {number}")
            idle, added = draw.choice([1, 9, 10, 59, 61, 299, 300, 1_000, 4_000]), 0
            typed_at = draw.choice([None, None, idle // 2])
            for stretch in [idle] if typed_at is None else [typed_at, idle - typed_at]:
                if added < most:
                    await night.hours.begun()
                await night.hours.pass_by(stretch, lambda: session.afterthoughts._task)
                asked, more = timers_of(stretch, most - added, speaks)
                expected += asked
                added += more
                session.afterthoughts.touch()
            added_in_all += added
        assert await night.asked() == expected
        assert len(await night.added()) == added_in_all
        assert (len(expected) > 75, added_in_all > 12) == (True, True)


async def test_the_decision_and_the_addition_are_each_counted_once_in_what_was_spent() -> None:
    scene, hours = room(decides(True), adds()), IdleHours()
    model = scene.choices[AgentRole.CHARACTER].model
    prices = PriceBook({model: UnitPrices(input=Decimal(1_000), output=Decimal(2_000))})
    scene.play = replace(scene.play, idle_clock=hours.clock, afterthoughts=1)
    scene.rules = CallRules(prices=prices)
    async with scene.opened() as session:
        night = Evening(scene, session, hours)
        await session.afterthoughts.choose_speakers((RED,))
        await play(session, "Who is there?")
        await night.idle(10)
        assert len(await night.added()) == 1
        assert session.snapshot.spent == await scene.store.calls.spent(session.id) > 0
