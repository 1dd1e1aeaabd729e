"""Items are drawn from each block of play: scan, match, update, with evidence that the program found."""

from dataclasses import replace

import pytest

from core.domain.audience import EVERYONE
from core.domain.bank.details import ItemKind, StateDetails
from core.domain.bank.item import Validation
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.engine.kinds.bank.requests import is_extraction
from core.engine.kinds.outcome import Failed, PutBack
from core.engine.queue.worker import _put_back
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import CallStarted
from core.gateway.call_records import CallRecords
from core.providers.scripted.script import Entry, Fault
from tests.core.rooms.bank_room import (
    SAID,
    answer,
    calls,
    extractions,
    fact,
    items,
    read,
    room,
    scan,
    texts_of_calls,
)
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import done, play

pytestmark = pytest.mark.anyio

BOTH = "A thief knows that the brass key lies under the mill."
ONLY_THE_LAST_AGAIN = [
    (1, "bank_scan/full@2"),
    (1, "bank_scan/full@2"),
    (1, "bank_match/full@2"),
    (1, "bank_update/full@1"),
    (2, "bank_update/full@1"),
]
"""Attempt and prompt of each call, where the last one was made twice."""


async def test_a_chapter_without_a_bank_asks_nothing_more_and_keeps_nothing() -> None:
    made = room(scan(facts=[fact()]), keeps_bank=False)
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?", "Four?")
        await read(session)
        assert not await extractions(session)
        assert not await items(session)
        assert len(await session.reads.artifacts()) == 5  # four replies, one summary


async def test_each_block_is_read_once_and_what_has_evidence_is_kept() -> None:
    made = room(
        scan(
            facts=[fact(), fact("a silver key", name="A silver key")],
            quotes=[{"prompt": 2, "words": "My left arm bleeds.", "speaker": "Someone", "importance": 4}],
        )
    )
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await read(session)
        [request] = await extractions(session)
        assert (request.state, request.prompts, request.audience) == (
            RequestState.DONE,
            PromptRange(1, 3),
            EVERYONE,
        )
        key, quote = await items(session)
        assert (key.kind, key.name, key.text) == (
            ItemKind.FACT,
            "The brass key",
            "The brass key lies under the mill.",
        )
        [proof] = key.evidence
        assert (proof.prompt_index, proof.ordinal, SAID[proof.start : proof.end]) == (1, 1, proof.words)
        assert (key.prompt_index, key.take, key.importance, key.request_id) == (3, 1, 0.75, request.id)
        assert (quote.kind, quote.text, quote.about) == (ItemKind.QUOTE, "My left arm bleeds", Slot.RED)
        [call] = await calls(session)
        assert (call.agent_id, call.prompt_version) == (8, "bank_scan/full@2")
        assert call.left_out == ("1 item had no evidence and was dropped: “A silver key”",)


async def test_a_prompt_that_the_answer_does_not_name_rightly_proves_nothing() -> None:
    made = room(scan(facts=[fact(prompt=2, words="One is asked")]))
    async with made.opened() as session:
        await play(session, "One is asked?", "Two?", "Three?")
        await read(session)
        assert not await items(session)
        [call] = await calls(session)
        assert call.left_out == ("1 item had no evidence and was dropped: “The brass key”",)


async def test_what_was_read_is_not_read_again_and_what_is_played_again_is() -> None:
    made = room(scan(facts=[fact(prompt=3)]))
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await read(session)
        [first] = await items(session)
        await session.takes.undo()
        assert not await items(session)
        await session.takes.redo()
        await read(session)
        assert [item.id for item in await items(session)] == [first.id]
        assert len(await calls(session)) == 1
        await done(session, await session.takes.reroll())
        await read(session)
        [again] = await items(session)
        assert (again.take, again.evidence[0].take) == (2, 2)
        assert len(await calls(session)) == 1, "it has the same words, so that the answer is on record"


async def test_the_same_thing_is_found_again_without_asking_and_the_note_says_so() -> None:
    made = room(scan(last="4)", facts=[fact(prompt=4)]), scan(facts=[fact()]))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        assert len(await items(session)) == 1
        first, second = await calls(session)
        assert (first.left_out, second.left_out) == ((), ("1 item is in the bank already: “The brass key”",))


async def test_what_may_be_the_same_is_asked_about_and_brought_up_to_date() -> None:
    later = fact(prompt=4, name="The key of brass", text="The brass key is under the mill, a thief knows.")
    made = room(
        scan(last="4)", facts=[later]),
        scan(facts=[fact(), fact("My left arm bleeds", name="The arm", text="An arm bleeds.")]),
        answer("bank_match", {"n1": "a"}),
        answer("bank_update", {"n1": {"change": "adds", "text": BOTH}}),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        arm, key = await items(session)
        assert (arm.name, key.name, key.text) == ("The arm", "The brass key", BOTH)
        assert [one.prompt_index for one in key.evidence] == [4, 1]
        assert key.supersedes is not None
        assert [call.prompt_version for call in await calls(session)] == [
            "bank_scan/full@2",
            "bank_scan/full@2",
            "bank_match/full@2",
            "bank_update/full@1",
        ]
        await session.takes.undo()
        assert {one.text for one in await items(session)} == {
            "The brass key lies under the mill.",
            "An arm bleeds.",
        }


@pytest.mark.parametrize(
    ("match", "update", "kept"),
    [
        ({"n1": "none"}, {}, ["The brass key", "The key of brass"]),
        ({"n1": "a"}, {"n1": {"change": "none", "text": ""}}, ["The brass key"]),
    ],
)
async def test_what_is_another_thing_is_added_and_what_says_nothing_new_is_not(
    match: dict[str, object], update: dict[str, object], kept: list[str]
) -> None:
    later = fact(prompt=4, name="The key of brass", text="The brass key is under the mill, a thief knows.")
    made = room(
        scan(last="4)", facts=[later]),
        scan(facts=[fact()]),
        answer("bank_match", match),
        answer("bank_update", update),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        assert [one.name for one in await items(session)] == kept


async def test_what_the_gm_rejected_is_not_proposed_again() -> None:
    made = room(scan(last="4)", facts=[fact(prompt=4)]), scan(facts=[fact()]))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        [key] = await items(session)
        rejected = replace(key.next_version(key.updated_at), validation=Validation.REJECTED)
        await made.store.bank.put([rejected])
        await play(session, "4?", "5?", "6?")
        await read(session)
        assert not await items(session)
        assert (await calls(session))[-1].left_out == ("1 item was rejected before: “The brass key”",)


def wound(prompt: int, text: str, **fields: object) -> dict[str, object]:
    who = {"who": "Agent Red", "aspect": "wound", "other": "", "is_over": False}
    return {**fact("My left arm bleeds", prompt=prompt, name="Left arm", text=text), **who, **fields}


async def inputs(session: SessionHandle, agent: Slot) -> list[str]:
    """Return the whole input of each call of a character, oldest first."""
    own = [one for one in await session.reads.artifacts() if one.agent_id == agent]
    return await texts_of_calls(session, own)


async def test_a_newer_state_takes_the_place_of_the_older_one_in_its_characters_input() -> None:
    made = room(
        scan(last="7)"),
        scan(last="4)", states=[wound(4, "The arm is bound.")]),
        scan(states=[wound(1, "The arm bleeds.")]),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        await play(session, "4?")
        await done(session, await session.submit_prompt(Slot.ORANGE, "5?"))
        await play(session, "6?")
        await read(session)
        [state] = await items(session)
        assert isinstance(state.details, StateDetails)
        assert (state.about, state.text) == (Slot.RED, "The arm is bound.")
        await play(session, "7?")
        *_, bleeding, _, bound = await inputs(session, Slot.RED)
        assert "- wound: The arm bleeds. (prompt 1)" in bleeding
        assert "- wound: The arm is bound. (prompt 4)" in bound
        assert "The arm bleeds" not in bound
        assert bound.index("CHARACTER_SHEET") < bound.index("STRUCTURED_MEMORY ===")
        [other] = await inputs(session, Slot.ORANGE)
        assert "CHARACTER_SHEET" not in other


async def test_a_state_belongs_to_its_character_however_the_accents_of_its_name_are_written() -> None:
    made = room(
        scan(states=[wound(1, "The arm bleeds.", who="ZO\u00cb")]), other_names={Slot.RED: "Zoe\u0308"}
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        assert [one.about for one in await items(session)] == [Slot.RED]


async def test_what_is_newer_than_the_words_of_the_gm_is_added_beside_them() -> None:
    later = fact(prompt=4, text="The brass key is gone.")
    made = room(
        scan(last="4)", facts=[later]),
        scan(facts=[fact()]),
        answer("bank_match", {"n1": "a"}),
        answer("bank_update", {"n1": {"change": "contradicts", "text": "The key is gone."}}),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        [key] = await items(session)
        mine = replace(key.next_version(key.updated_at), text="The key lies in the mill pond.", is_by_gm=True)
        await made.store.bank.put([mine])
        await play(session, "4?", "5?", "6?")
        await read(session)
        assert [one.text for one in await items(session)] == [mine.text, "The brass key is gone."]


async def test_someone_of_the_cast_is_no_stranger() -> None:
    person = {**fact("My left arm bleeds"), "name": "agent red", "relationship": "none"}
    made = room(scan(people=[person, {**person, "name": "The miller"}]))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        assert [one.name for one in await items(session)] == ["The miller"]


async def test_known_people_and_places_are_named_to_the_model() -> None:
    person = {**fact("My left arm bleeds"), "name": "The miller", "relationship": ""}
    made = room(scan(people=[person]))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        texts = await texts_of_calls(session, await calls(session))
        first, second = [one for one in texts if "RECENT_CONTEXT_CHUNK" in one]
        assert "Other people:" not in first
        assert "Other people:\n- The miller" in second
        assert "- Agent Red" in first


async def test_a_bank_that_is_kept_later_reads_what_is_in_memory_oldest_first_and_once() -> None:
    made = room(scan(facts=[fact()]), keeps_bank=False)
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?", "7?")
        assert await session.keeping.keep(is_on=True) == 2
        assert await session.keeping.keep(is_on=True) <= 2
        await read(session)
        assert [one.prompts for one in await extractions(session)] == [PromptRange(1, 3), PromptRange(4, 6)]
        assert len(await items(session)) == 1
        await session.keeping.keep(is_on=False)
        assert await session.keeping.keep(is_on=True) == 0
        assert len(await calls(session)) == 2


async def test_a_bank_that_is_kept_no_longer_gives_up_what_waits_and_is_read_on_later() -> None:
    made = room(scan(facts=[fact()]), keeps_bank=False)
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await made.store.queue.set_paused(is_paused=True)
        await session.keeping.keep(is_on=True)
        await session.keeping.keep(is_on=False)
        assert not session.keeping.unread
        await play_on(made, session)
        assert await session.keeping.keep(is_on=True)
        await read(session)
        states = [one.state for one in await extractions(session)]
        assert states.count(RequestState.DONE) == 2


async def play_on(made: Room, session: SessionHandle) -> None:
    await made.store.queue.set_paused(is_paused=False)
    await session.wait_idle()


def updating(*faults: Entry) -> Room:
    """Return a chapter whose second chunk needs all three questions; the last fails in these ways first."""
    later = fact(prompt=4, name="The key of brass", text="The brass key is under the mill, a thief knows.")
    return room(
        scan(last="4)", facts=[later]),
        scan(facts=[fact()]),
        answer("bank_match", {"n1": "a"}),
        *faults,
        answer("bank_update", {"n1": {"change": "adds", "text": BOTH}}),
    )


async def test_an_attempt_after_a_failure_goes_on_with_the_question_that_was_open() -> None:
    made = updating(answer("bank_update", fault=Fault.CONTENT_FILTERED, times=1))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        failed = (await extractions(session))[1]
        assert failed.state is RequestState.FAILED
        assert [one.name for one in await items(session)] == ["The brass key"]
        await session.retry(failed.id)
        await read(session)
        assert [(call.attempt, call.prompt_version) for call in await calls(session)] == ONLY_THE_LAST_AGAIN
        assert [one.text for one in await items(session)] == [BOTH]


async def test_a_call_that_makes_room_for_the_play_is_taken_up_where_it_was() -> None:
    made = updating(answer("bank_update", fault=Fault.HANG, times=1))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        hanging = await made.heard(CallStarted, lambda one: one.call == 3 and is_extraction(one.request))
        session.background.put_back(hanging.request.id)
        await read(session)
        assert [(call.attempt, call.prompt_version) for call in await calls(session)] == ONLY_THE_LAST_AGAIN
        assert [one.text for one in await items(session)] == [BOTH]
        assert (await extractions(session))[1].tries == 1


async def test_an_answer_that_was_asked_for_in_another_form_is_not_asked_for_again() -> None:
    later = fact(prompt=4, name="The key of brass", text="The brass key is under the mill, a thief knows.")
    made = room(
        scan(last="4)", facts=[later]),
        scan(facts=[fact()]),
        answer("bank_match", fault=Fault.INVALID_JSON, times=1),
        answer("bank_match", {"n1": "a"}),
        answer("bank_update", fault=Fault.CONTENT_FILTERED, times=1),
        answer("bank_update", {"n1": {"change": "adds", "text": BOTH}}),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        failed = (await extractions(session))[1]
        await session.retry(failed.id)
        await read(session)
        asked = [(call.attempt, call.prompt_version) for call in await calls(session)]
        assert asked == [*ONLY_THE_LAST_AGAIN[:3], *ONLY_THE_LAST_AGAIN[2:]]
        assert [one.text for one in await items(session)] == [BOTH]


def test_an_attempt_with_stored_calls_keeps_its_number_when_it_makes_room_before_the_next_one() -> None:
    stopped = Failed(StoryEngineError(ErrorCode.LLM_CANCELLED), is_on_record=True)
    assert _put_back(stopped, CallRecords()) == PutBack(is_on_record=True, is_try=False)


async def test_an_answer_that_cannot_be_read_is_shown_to_its_author_once() -> None:
    made = room(answer("bank_scan", fault=Fault.INVALID_JSON, calls=(1,)), scan(facts=[fact()]))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        first, second = await calls(session)
        assert (first.error_code, second.error_code) == (ErrorCode.LLM_INVALID_JSON, None)
        assert len(await items(session)) == 1


async def test_what_cannot_be_read_twice_waits_for_the_gm_and_a_retry_reads_it() -> None:
    made = room(answer("bank_scan", fault=Fault.INVALID_JSON, times=2), scan(facts=[fact()]))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        [failed] = await extractions(session)
        assert (failed.state, failed.error_code) == (RequestState.FAILED, ErrorCode.LLM_INVALID_JSON)
        await session.retry(failed.id)
        await read(session)
        assert len(await items(session)) == 1
