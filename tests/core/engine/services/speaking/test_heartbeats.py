"""A character that was silent for long may be asked what it would speak about: a hint to the GM alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from core.domain.ids import ArtifactId, new_uuid
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.changes.moves import new_request
from core.engine.kinds.speaking.afterthought import HeartbeatHandler
from core.engine.services.speaking.heartbeats import answers_of
from core.engine.services.speaking.hints import Hint, HintRules, hints_of
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, ScriptMatch
from core.storage.changes import Changes
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import play, room
from tests.core.values.sessions import NOW, session

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
WISH = "CANARY-4410 the lantern in the window"


def asks(speaks: bool = True, *, reason: str = WISH, times: int | None = None) -> Entry:
    payload: dict[str, object] = {"reason": reason, "speaks": speaks}
    return Entry(match=ScriptMatch(schema="heartbeat"), payload=payload, times=times)


def watched(*entries: Entry, by_model: bool = True) -> Room:
    scene = room(*entries)
    scene.play = replace(scene.play, hints=HintRules(by_model=by_model))
    return scene


async def asked(session: SessionHandle) -> list[Slot | None]:
    """Return the characters that were asked, in order."""
    return [one.slot for one in await session.reads.requests() if one.kind is RequestKind.HEARTBEAT]  # type: ignore[union-attr]


async def looked(session: SessionHandle) -> Sequence[Hint]:
    """Look as the screen does: again when a heartbeat is settled, until none is open."""
    hints = await session.heartbeats.hints()
    while session.snapshot.background:
        await session.wait(session.snapshot.background[0].id)
        hints = await session.heartbeats.hints()
    return hints


async def test_the_model_of_a_silent_character_says_what_it_would_speak_about_and_the_hint_has_it() -> None:
    async with watched(asks()).opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        hints = await looked(session)
        assert await asked(session) == [ORANGE, YELLOW]
        assert [hint.wish for hint in hints] == [WISH, WISH]
        assert hints[0].text == f"silent for 2 prompts; asks for a word: {WISH}"
        await session.heartbeats.hints()
        assert await asked(session) == [ORANGE, YELLOW], "each is asked once while it is silent"


async def test_two_looks_at_the_same_moment_ask_one_character_once() -> None:
    async with watched(asks()).opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        await asyncio.gather(session.heartbeats.hints(), session.heartbeats.hints())
        assert await asked(session) == [ORANGE]


async def test_one_that_wants_nothing_is_pointed_out_by_the_rule_and_not_asked_again() -> None:
    async with watched(asks(False)).opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        assert [hint.wish for hint in await looked(session)] == ["", ""]
        await play(session, "And then?")
        await looked(session)
        assert await asked(session) == [ORANGE, YELLOW]


async def test_after_its_next_reply_a_character_is_asked_anew() -> None:
    async with watched(asks()).opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        await looked(session)
        for slot in (ORANGE, YELLOW, RED, RED):
            await session.wait(await session.submit_prompt(slot, "You?"))
            await session.wait_idle()
        assert [hint.slot for hint in await looked(session)] == [ORANGE, YELLOW]
        assert await asked(session) == [ORANGE, YELLOW, ORANGE, YELLOW]


async def test_no_input_of_a_model_and_no_event_has_what_was_said() -> None:
    async with watched(asks()).opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?", "And then?")
        await looked(session)
        await play(session, "Well?", "Now?", "So?")
        sent = [call.input_ref for call in await session.reads.artifacts()]
        assert not [text for text in (await session.reads.contents(sent)).values() if WISH in text]
        assert all(WISH not in event.text for event in await session.reads.canon())


@pytest.mark.parametrize("number", [0, 2])
async def test_no_model_is_asked_unless_the_gm_wants_that_and_hints(number: int) -> None:
    async with watched(asks(), by_model=number == 0).opened() as session:
        await session.scene.set_hint(number)
        await play(session, "Who is there?", "And now?")
        hints = await session.heartbeats.hints()
        assert len(hints) == number
        assert await asked(session) == []


async def test_a_call_that_needs_the_gm_is_left_and_the_rule_still_points_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = watched(asks())
    async with scene.opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        monkeypatch.setattr(ScriptedProvider, "base_url", "https://elsewhere.example/v1")
        assert [hint.wish for hint in await looked(session)] == ["", ""]
        assert await asked(session) == [ORANGE, YELLOW]
        states = [one.state for one in await session.reads.requests() if isinstance(one, BackgroundRequest)]
        assert states == [RequestState.DONE, RequestState.DONE]


async def test_one_is_asked_at_a_time_however_often_the_screen_looks() -> None:
    async with watched(asks()).opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        await session.heartbeats.hints()
        await session.heartbeats.hints()
        assert await asked(session) == [ORANGE]


class NoCalls:
    """The calls of a handler that must make none."""

    choices = None


@pytest.mark.parametrize("why", ["has spoken", "has left"])
async def test_one_that_has_spoken_or_left_since_it_was_queued_is_not_asked(why: str) -> None:
    async with watched(asks(), by_model=False).opened() as session:
        await play(session, "Who is there?")
        if why == "has spoken":
            await session.wait(await session.submit_prompt(ORANGE, "You?"))
            await session.wait_idle()
        else:
            await session.scene.set_present([RED, YELLOW])
        request = BackgroundRequest(
            kind=RequestKind.HEARTBEAT,
            slot=ORANGE,
            text="0",
            priority=200,
            **new_request(session.id, NOW),
        )
        job: Any = SimpleNamespace(snapshot=session.snapshot, calls=NoCalls(), builder=None)
        _, call_records = await HeartbeatHandler().run(job, request)
        assert not call_records.artifacts


async def test_a_window_that_only_reads_asks_no_one() -> None:
    scene = watched(asks())
    async with scene.opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        async with scene.opened() as reader:
            assert reader.is_read_only
            assert [hint.slot for hint in await reader.heartbeats.hints()] == [ORANGE, YELLOW]
            assert await asked(reader) == []


async def test_an_answer_is_of_the_silence_in_which_it_was_given() -> None:
    scene = watched(asks())
    async with scene.opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        await looked(session)
        [first] = [call for call in await session.reads.artifacts() if call.agent_id == ORANGE]
        later = {ORANGE: (2, first.created_at + timedelta(seconds=1))}
        assert ORANGE not in await answers_of(scene.store.calls, session.id, later)
        assert await answers_of(scene.store.calls, session.id, {}) == {ORANGE: WISH, YELLOW: WISH}


async def test_a_query_of_the_memory_bank_is_no_answer() -> None:
    """Its call may have been put back behind it, so that the character is asked again."""
    scene = watched(asks())
    async with scene.opened() as session:
        await session.scene.set_hint(2)
        await play(session, "Who is there?", "And now?")
        await looked(session)
        [call] = [call for call in await session.reads.artifacts() if call.agent_id == ORANGE]
        query = replace(
            call, id=ArtifactId(new_uuid()), attempt=2, call=0, output_ref=None, prompt_version="embedding@1"
        )
        await session._writer.apply(lambda _: Changes(session_id=session.id, artifacts=(query,)))
        assert (await answers_of(scene.store.calls, session.id, {}))[ORANGE] == WISH


def test_what_a_model_says_is_one_short_line() -> None:
    from core.agents.speaking import LONGEST_REASON, reason_of, speaks

    assert reason_of('{"reason": "a\\u001b[31m\\nb", "speaks": true}') == "a b"
    assert len(reason_of('{"reason": "' + "x" * 5_000 + '", "speaks": true}')) == LONGEST_REASON
    assert reason_of("no") == reason_of('{"reason": 7}') == ""
    assert speaks('{"reason": "x", "speaks": "true"}')
    assert not speaks('{"reason": "x", "speaks": "maybe"}')


def test_the_minutes_after_which_one_counts_as_silent_are_a_setting() -> None:
    on: Session = replace(session(prompts=20), hint_after=9)
    last = {RED: (20, NOW), ORANGE: (17, NOW - timedelta(minutes=12)), YELLOW: (20, NOW)}
    assert hints_of(on, last, ()) == ()
    assert hints_of(on, last, (), HintRules(minutes=12)) == (Hint(ORANGE, 3, 12),)
