"""A prompt to several: each answers after the other at the one prompt number (design 17)."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import pytest

from core.domain.agent_role import AgentRole
from core.domain.audience import Audience
from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.requests.cost import UnitPrices
from core.domain.requests.request import ReplyRequest, RequestState, SummaryRequest
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.engine.decisions import commands
from core.engine.engine_settings import CallRules
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import EventsAppended, TextArrived
from core.ledger.ceilings import Ceilings
from core.ledger.prices import PriceBook
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from tests.core.rooms.room import Room
from tests.core.rooms.simulation import active
from tests.core.rooms.takes_model import CHUNK, play, room

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
NAMES = {slot: f"Slot: {slot.value} (" for slot in Slot}


def says(slot: Slot, text: str, *, times: int | None = None, fault: Fault | None = None) -> Entry:
    return Entry(match=ScriptMatch(anywhere=NAMES[slot]), text=text, times=times, fault=fault)


IN_TURN = (says(RED, "I am Red."), says(ORANGE, "I am Orange."), says(YELLOW, "I am Yellow."))


@asynccontextmanager
async def table(*entries: Entry) -> AsyncIterator[tuple[Room, SessionHandle]]:
    scene = room(*(entries or IN_TURN))
    async with scene.opened() as session:
        yield scene, session


async def ask(session: SessionHandle, text: str, first: Slot, *then: Slot) -> None:
    """Send a prompt to several, and wait until nothing is open any more."""
    await session.wait(await session.submit_prompt(first, text, then=then))
    await session.wait_idle()


async def replies(session: SessionHandle, prompt: int) -> list[tuple[int, Slot | None, str]]:
    events = await session.reads.canon(first=prompt, last=prompt)
    return [(event.ordinal, event.slot, event.text) for event in events if event.role is Role.AGENT]


async def input_of(session: SessionHandle, request_id: str) -> str:
    """Return the whole input of the last call of a request."""
    calls = [one for one in await session.reads.artifacts() if str(one.request_id) == request_id]
    manifest = (await session.reads.contents([calls[-1].input_ref]))[calls[-1].input_ref]
    parts = [part for _, _, part in json.loads(manifest)]
    texts = await session.reads.contents(parts)
    return "\n".join(texts[part] for part in parts)


async def test_all_who_are_called_answer_in_the_order_of_calling_at_one_prompt_number() -> None:
    async with table() as (scene, session):
        await ask(session, "The light goes out.", ORANGE, YELLOW, RED)
        assert await replies(session, 1) == [
            (1, ORANGE, "I am Orange."),
            (2, YELLOW, "I am Yellow."),
            (3, RED, "I am Red."),
        ]
        assert session.snapshot.session.prompt_index == 1
        assert session.snapshot.session.next_slot is ORANGE, "the one after the last that was called"
        asked = [one for one in await session.reads.requests() if isinstance(one, ReplyRequest)]
        assert [(one.slot, one.follows, one.state) for one in asked] == [
            (ORANGE, False, RequestState.DONE),
            (YELLOW, True, RequestState.DONE),
            (RED, True, RequestState.DONE),
        ]
        told = [one.events for one in scene.notifications if isinstance(one, EventsAppended)]
        assert [len(events) for events in told] == [2, 1, 1]
        assert session.snapshot.recent == tuple(await session.reads.canon())


async def test_each_sees_what_came_before_it() -> None:
    async with table() as (_, session):
        await ask(session, "Who is there?", ORANGE, YELLOW, RED)
        *_, third, last = await session.reads.canon()
        seen = await input_of(session, last.request_id)
        assert "Agent Orange: I am Orange." in seen
        assert third.text in seen
        assert "1) Who is there?" in seen
        second = await input_of(session, third.request_id)
        assert "I am Orange." in second
        assert "I am Red." not in second


async def test_whoever_is_called_hears_a_whisper_and_nobody_else_does() -> None:
    async with table() as (_, session):
        whisper = Audience.of((RED,))
        await session.wait(await session.submit_prompt(RED, "Between us.", heard_by=whisper, then=(ORANGE,)))
        await session.wait_idle()
        assert {event.audience for event in await session.reads.canon()} == {Audience.of((RED, ORANGE))}
        await ask(session, "And you?", YELLOW)
        last = (await session.reads.canon())[-1]
        seen = await input_of(session, last.request_id)
        assert "Between us." not in seen
        assert "I am Orange." not in seen


async def test_one_that_fails_is_retried_alone_and_then_the_next_answers() -> None:
    failing = says(YELLOW, "", times=1, fault=Fault.AUTH)
    async with table(failing, *IN_TURN) as (_, session):
        await ask(session, "Well?", RED, YELLOW, ORANGE)
        assert await replies(session, 1) == [(1, RED, "I am Red.")]
        further = session.snapshot.further_reply
        assert further is not None
        assert (further.slot, further.has_failed, further.then) == (YELLOW, True, (ORANGE,))
        assert session.snapshot.unsent == {}, "the text stands in the transcript"
        assert await session.retry(further.id) == further.id
        await session.wait_idle()
        assert [slot for _, slot, _ in await replies(session, 1)] == [RED, YELLOW, ORANGE]
        assert session.snapshot.further_reply is None


@pytest.mark.parametrize(("with_rest", "answered"), [(False, [RED, ORANGE]), (True, [RED])])
async def test_one_that_fails_is_left_out_alone_or_with_the_rest(
    with_rest: bool, answered: list[Slot]
) -> None:
    async with table(says(YELLOW, "", fault=Fault.AUTH), *IN_TURN) as (_, session):
        await ask(session, "Well?", RED, YELLOW, ORANGE)
        further = session.snapshot.further_reply
        assert further is not None
        await session.takes.leave_out(further.id, with_rest=with_rest)
        await session.wait_idle()
        assert [slot for _, slot, _ in await replies(session, 1)] == answered
        with pytest.raises(IllegalCommandError):
            await session.takes.leave_out(further.id)


async def test_the_next_prompt_leaves_out_whoever_failed() -> None:
    async with table(says(YELLOW, "", fault=Fault.AUTH), *IN_TURN) as (_, session):
        await ask(session, "Well?", RED, YELLOW, ORANGE)
        await ask(session, "Go on.", ORANGE)
        assert [slot for _, slot, _ in await replies(session, 1)] == [RED]
        assert [slot for _, slot, _ in await replies(session, 2)] == [ORANGE]
        assert session.snapshot.requests == ()


async def test_a_prompt_sent_meanwhile_waits_until_all_have_answered() -> None:
    async with table() as (_, session):
        first = await session.submit_prompt(RED, "One", then=(ORANGE, YELLOW))
        second = await session.submit_prompt(RED, "Two")
        await session.wait(first)
        await session.wait(second)
        await session.wait_idle()
        assert len(await replies(session, 1)) == 3
        assert len(await replies(session, 2)) == 1


async def test_the_summary_waits_for_the_last_reply() -> None:
    async with table(says(YELLOW, "", times=1, fault=Fault.AUTH), *IN_TURN) as (_, session):
        await play(session, *(f"Prompt {number}" for number in range(1, CHUNK)))
        await ask(session, "The last of the chunk", RED, YELLOW)
        assert session.snapshot.session.state is SessionState.ACTIVE
        assert session.snapshot.session.boundary == 0
        further = session.snapshot.further_reply
        assert further is not None
        await session.retry(further.id)
        await session.wait_idle()
        assert session.snapshot.session.boundary == CHUNK
        summary = next(one for one in await session.reads.requests() if isinstance(one, SummaryRequest))
        assert "Agent Yellow: I am Yellow." in await input_of(session, str(summary.id))


@pytest.mark.parametrize("way", ["left out", "next prompt", "end"])
async def test_the_summary_is_made_when_the_last_reply_is_dropped(way: str) -> None:
    async with table(says(YELLOW, "", fault=Fault.AUTH), *IN_TURN) as (_, session):
        await play(session, *(f"Prompt {number}" for number in range(1, CHUNK)))
        await ask(session, "The last of the chunk", RED, YELLOW)
        further = session.snapshot.further_reply
        assert further is not None
        if way == "left out":
            await session.takes.leave_out(further.id)
        elif way == "next prompt":
            await session.wait(await session.submit_prompt(RED, "On."))
        else:
            await session.end_chapter()
        await session.wait_idle()
        assert session.snapshot.session.boundary == CHUNK
        delta = (await session.reads.memory_blocks())[-1]
        assert (delta.first, delta.last) == (1, CHUNK)


async def test_undo_takes_the_whole_prompt_and_redo_brings_it_back() -> None:
    async with table() as (_, session):
        await ask(session, "All of you.", ORANGE, RED)
        before = await session.reads.canon()
        await session.takes.undo()
        assert await session.reads.canon() == []
        assert session.snapshot.unsent == {ORANGE: "All of you."}
        assert session.snapshot.session.next_slot is ORANGE
        await session.takes.redo()
        assert await session.reads.canon() == before
        assert session.snapshot.session.next_slot is ORANGE


async def test_a_reroll_asks_all_again_in_the_same_order_and_is_one_take() -> None:
    entries = (says(RED, "First Red.", times=1), says(ORANGE, "First Orange.", times=1), *IN_TURN)
    async with table(*entries) as (_, session):
        await ask(session, "Both.", ORANGE, RED)
        await session.wait(await session.takes.reroll())
        await session.wait_idle()
        takes = [[event.text for event in take] for take in await session.takes.listed()]
        assert takes == [
            ["Both.", "First Orange.", "First Red."],
            ["Both.", "I am Orange.", "I am Red."],
        ]
        second = (await session.reads.canon())[-1]
        assert second.take == 2
        assert "First Orange." not in await input_of(session, second.request_id)
        await session.takes.choose(1)
        assert [event.text for event in await session.reads.canon()] == takes[0]
        await ask(session, "And now?", YELLOW)
        assert session.snapshot.session.prompt_index == 2


async def test_a_take_whose_second_reply_failed_goes_on_or_gives_way_to_the_first_take() -> None:
    async with table(*IN_TURN[:2], says(YELLOW, "Once.", times=1), says(YELLOW, "", fault=Fault.AUTH)) as (
        _,
        session,
    ):
        await ask(session, "Both.", RED, YELLOW)
        await session.wait(await session.takes.reroll())
        await session.wait_idle()
        further = session.snapshot.further_reply
        assert further is not None
        assert [event.text for event in await session.reads.canon()] == ["Both.", "I am Red."]
        await session.takes.choose(1)
        assert session.snapshot.further_reply is None, "it belonged to the other take"
        assert [event.text for event in await session.reads.canon()] == ["Both.", "I am Red.", "Once."]


async def test_a_failed_take_of_several_is_retried_with_all_of_them() -> None:
    entries = (says(RED, "Once.", times=1), says(RED, "", times=1, fault=Fault.AUTH), *IN_TURN)
    async with table(*entries) as (_, session):
        await ask(session, "Both.", RED, ORANGE)
        failed = await session.wait(await session.takes.reroll())
        assert failed.has_failed
        again = await session.retry(failed.id)
        assert again == failed.id, "the request is used again"
        await session.wait(again)
        await session.wait_idle()
        assert [event.text for event in await session.reads.canon()] == ["Both.", "I am Red.", "I am Orange."]


async def test_the_last_reply_is_corrected_or_continued_and_the_others_stay() -> None:
    async with table() as (_, session):
        await ask(session, "Both.", RED, ORANGE)
        await session.takes.correct_reply("I am nobody.")
        assert [event.text for event in await session.reads.canon()] == ["Both.", "I am Red.", "I am nobody."]
        await session.wait(await session.takes.continue_reply())
        await session.wait_idle()
        assert [event.text for event in await session.reads.canon()] == [
            "Both.",
            "I am Red.",
            "I am nobody. I am Orange.",
        ]
        assert [event.ordinal for event in await session.reads.canon()] == [0, 1, 2]


async def test_what_came_of_a_stopped_further_reply_is_kept_and_the_next_answers() -> None:
    stopped = Entry(match=ScriptMatch(anywhere=NAMES[YELLOW]), text="Half " + "x " * 500, between_tokens=0.02)
    async with table(stopped, *IN_TURN) as (scene, session):
        await session.wait(await session.submit_prompt(RED, "All.", then=(YELLOW, ORANGE)))
        further = session.snapshot.further_reply
        assert further is not None
        await scene.heard(TextArrived, lambda one: one.request_id == further.id)
        await session.cancel(further.id)
        await session.wait(further.id)
        await session.takes.keep_partial(further.id)
        await session.wait_idle()
        told = [(slot, text[:4]) for _, slot, text in await replies(session, 1)]
        assert told == [(RED, "I am"), (YELLOW, "Half"), (ORANGE, "I am")]


async def test_a_failed_prompt_is_sent_again_with_all_whom_it_called() -> None:
    async with table(says(RED, "", times=1, fault=Fault.AUTH), *IN_TURN) as (_, session):
        await ask(session, "Well?", RED, YELLOW)
        [failed] = session.snapshot.failed(ReplyRequest)
        assert session.snapshot.unsent == {RED: "Well?"}
        assert await session.retry(failed.id) == failed.id
        await session.wait_idle()
        assert [slot for _, slot, _ in await replies(session, 1)] == [RED, YELLOW]
        assert session.snapshot.unsent == {}


def test_a_crash_between_two_replies_leaves_one_to_retry() -> None:
    played = active()
    changes, _ = commands.submit_prompt(played.snapshot, RED, "All.", played.now, then=(ORANGE, YELLOW))
    played.store(changes)
    played.settle()
    assert [event.ordinal for event in played.events] == [0, 1]
    played.begin()
    played.crash_and_open()
    further = played.snapshot.further_reply
    assert further is not None
    assert (further.slot, further.has_failed, further.then) == (ORANGE, True, (YELLOW,))
    assert played.snapshot.unsent == {}
    assert played.state is SessionState.ACTIVE


def test_nobody_is_called_twice_and_only_who_plays() -> None:
    played = active()
    changes, request_id = commands.submit_prompt(
        played.snapshot, RED, "All.", played.now, then=(RED, ORANGE, ORANGE)
    )
    [asked] = [one for one in changes.requests if one.id == request_id]
    assert isinstance(asked, ReplyRequest)
    assert asked.then == (ORANGE,)
    with pytest.raises(IllegalCommandError):
        commands.submit_prompt(played.snapshot, RED, "All.", played.now, then=(Slot.VIOLET,))


def test_a_save_point_or_a_line_never_counts_as_a_reply_that_is_missing() -> None:
    played = active()
    changes, _ = commands.submit_prompt(played.snapshot, RED, "All.", played.now, then=(ORANGE,))
    played.store(changes)
    played.settle()
    assert played.snapshot.further_reply is not None
    played.settle()
    assert played.snapshot.further_reply is None
    events: list[Event] = played.events
    assert [(event.ordinal, event.is_added) for event in events] == [(0, False), (1, False), (2, True)]


# Money

OWN = UnitPrices(input=Decimal(1), output=Decimal(10))


@asynccontextmanager
async def paid(ceilings: Ceilings | None = None) -> AsyncIterator[tuple[Room, SessionHandle, Decimal]]:
    """Yield an open chapter whose calls have a price, and what a reply by Red alone costs."""
    scene = room(*IN_TURN)
    names = {choice.model for choice in scene.choices.values()}
    scene.rules = CallRules(prices=PriceBook(dict.fromkeys(names, OWN)), ceilings=ceilings)
    async with scene.opened() as session:
        alone = await session.money.of_prompt(RED, "Who is there?")
        assert alone is not None
        yield scene, session, alone


async def test_a_prompt_to_several_is_forecast_with_all_replies_each_given_those_before_it() -> None:
    async with paid() as (scene, session, alone):
        choice = scene.choices[AgentRole.CHARACTER]
        answer = choice.max_output_tokens
        # Their inputs are alike but for the names, so a token or two apart; each has one answer more.
        three = await session.money.of_prompt(RED, "Who is there?", (ORANGE, YELLOW))
        assert three is not None
        assert abs(three - 3 * alone - Decimal(3 * answer) / 1_000_000) <= Decimal(10) / 1_000_000
        assert await session.money.of_prompt(RED, "Who is there?", ()) == alone


async def test_all_replies_of_a_prompt_are_asked_about_before_the_first_of_them() -> None:
    async with paid() as (_, session, _alone):
        whole = await session.money.of_prompt(RED, "Who is there?", (ORANGE, YELLOW))
        assert whole is not None
    async with paid(Ceilings(chapter=whole - Decimal("0.000001"))) as (_, session, _):
        refused = await session.wait(await session.submit_prompt(RED, "Who is there?", then=(ORANGE, YELLOW)))
        assert (refused.state, refused.error_code) == (RequestState.FAILED, ErrorCode.CEILING_REACHED)
        assert "These 3 replies may cost up to" in refused.error_message
        assert "they could pass your ceiling" in refused.error_message
        assert await session.reads.canon() == []
        assert len(session.snapshot.requests) == 1, "nobody else is asked"
        session.money.go_on()
        await session.wait(await session.retry(refused.id))
        await session.wait_idle()
        assert [slot for _, slot, _ in await replies(session, 1)] == [RED, ORANGE, YELLOW]
    async with paid(Ceilings(chapter=whole)) as (__, session, _):
        await ask(session, "Who is there?", RED, ORANGE, YELLOW)
        assert len(await replies(session, 1)) == 3
        assert {one.kind for one in session.snapshot.requests} == set()


async def test_a_prompt_to_one_is_asked_about_alone() -> None:
    async with paid() as (_, session, alone):
        pass
    async with paid(Ceilings(chapter=alone)) as (_, session, _):
        await ask(session, "Who is there?", RED)
        assert len(await replies(session, 1)) == 1
