"""A thread that play closes, and a state that ends, end in the bank too, whatever words say so."""

from typing import Any

import pytest

from core.domain.bank.details import StateDetails, ThreadDetails
from core.domain.bank.item import Item
from tests.core.rooms.bank_room import answer, fact, items, read, room, scan
from tests.core.rooms.takes_model import play

pytestmark = pytest.mark.anyio
WOUND = {
    **fact("My left arm bleeds", name="Left arm", text="The left arm of Agent Red bleeds."),
    "who": "Agent Red",
    "aspect": "wound",
    "other": "",
    "is_over": False,
}
THREAD = {**fact(name="The key", text="Who finds the brass key?"), "category": "Goal", "is_closed": False}


async def ended(kind: str, entry: dict[str, Any], end: dict[str, Any]) -> list[Item]:
    """Return what counts after a part of play with an entry, one with its end, and the end taken back."""
    first: dict[str, Any] = {kind: [entry]}
    later: dict[str, Any] = {kind: [{**entry, "prompt": 4, **end}]}
    made = room(
        scan(last="4)", **later),
        scan(**first),
        answer("bank_match", {"n1": "a"}),
        answer("bank_update", {"n1": {"change": "none", "text": ""}}),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        [newest] = await items(session)
        await session.takes.undo()
        [before] = await items(session)
        return [newest, before]


async def test_a_state_that_ends_in_the_same_words_is_over() -> None:
    newest, before = await ended("states", WOUND, {"is_over": True})
    assert isinstance(newest.details, StateDetails)
    assert isinstance(before.details, StateDetails)
    assert (newest.details.is_over, before.details.is_over) == (True, False)
    assert (newest.supersedes, newest.text) == (before.id, before.text)


@pytest.mark.parametrize("text", [THREAD["text"], "The brass key is found by whom, then?"])
async def test_a_thread_is_closed_by_the_same_words_and_where_a_model_sees_no_change(text: str) -> None:
    newest, before = await ended("threads", THREAD, {"is_closed": True, "text": text})
    assert isinstance(newest.details, ThreadDetails)
    assert isinstance(before.details, ThreadDetails)
    assert (newest.details.is_closed, before.details.is_closed) == (True, False)
    assert (newest.supersedes, newest.text) == (before.id, before.text)


async def test_the_stakes_of_a_thread_are_kept_where_play_tells_them_later() -> None:
    newest, before = await ended("threads", THREAD, {"stakes": "The post of the miller."})
    assert isinstance(newest.details, ThreadDetails)
    assert isinstance(before.details, ThreadDetails)
    assert (newest.details.stakes, before.details.stakes) == ("The post of the miller.", "")
    assert newest.text == before.text


async def test_a_state_that_the_gm_rejected_keeps_no_newer_one_away() -> None:
    place = {**WOUND, "aspect": "whereabouts", "name": "The mill", "text": "Agent Red is at the mill."}
    newer = {**place, "prompt": 4, "text": "Agent Red is at the forge."}
    made = room(
        scan(last="7)", states=[{**place, "prompt": 7}]),
        scan(last="4)", states=[newer]),
        scan(states=[place]),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        await session.bank.reject(await items(session))
        await play(session, "4?", "5?", "6?")
        await read(session)
        assert [one.text for one in await items(session)] == [newer["text"]]
        await play(session, "7?", "8?", "9?")
        await read(session)
        assert [one.text for one in await items(session)] == [newer["text"]], "what was rejected stays away"


async def test_a_fact_that_the_gm_rejected_keeps_none_away_with_another_name_in_it() -> None:
    newer = fact(prompt=4, text="The brass key lies under the Agent Orange mill.")
    made = room(
        scan(last="7)", facts=[fact(prompt=7, text="Under the mill lies the brass key.")]),
        scan(last="4)", facts=[newer]),
        scan(facts=[fact()]),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        await session.bank.reject(await items(session))
        await play(session, "4?", "5?", "6?")
        await read(session)
        [kept] = await items(session)
        assert kept.text == newer["text"]
        await session.bank.reject([kept])
        await play(session, "7?", "8?", "9?")
        await read(session)
        assert not await items(session), "the same in other words"
