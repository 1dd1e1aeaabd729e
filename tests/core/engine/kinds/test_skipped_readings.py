"""A part of the chapter that was not read for the bank, as nothing was to be read then, is read later."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from core.domain.requests.request import RequestState
from core.engine.engine import Engine
from core.engine.kinds.bank.extraction import ExtractionHandler, ItemsMade
from core.engine.kinds.bank.nearest import Neighbours
from core.engine.kinds.bank.requests import is_extraction
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import CallStarted, RequestQueued
from core.providers.scripted.script import Fault
from tests.core.rooms.bank_room import answer, calls, extractions, fact, items, read, room, scan
from tests.core.rooms.killed_window import end_as_killed
from tests.core.rooms.takes_model import play

pytestmark = pytest.mark.anyio


async def _end_as_killed_while_reading(session: SessionHandle) -> None:
    task = session.keeping._background._task
    assert task is not None
    task.cancel()
    await asyncio.wait({task})
    await end_as_killed(session)


async def test_a_reading_that_a_crash_cut_short_before_the_bank_was_switched_off_is_made_when_it_is_on() -> (
    None
):
    made = room(answer("bank_scan", fault=Fault.HANG))
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await made.heard(CallStarted, lambda call: is_extraction(call.request))
        await _end_as_killed_while_reading(session)
    made.provider = room(scan(facts=[fact()])).provider
    engine = Engine(made.store, made.provider, made.choices, label="command", play=made.play)
    await engine.closed(session.id).keep_bank(is_on=False)
    async with made.opened() as session:
        await read(session)
        made_so_far = len(await calls(session))
        assert await session.keeping.keep(is_on=True) == 1
        await read(session)
        assert [item.name for item in await items(session)] == ["The brass key"]
        assert len(await calls(session)) == made_so_far + 1


async def test_what_is_undone_before_it_is_read_is_read_once_it_is_played_again() -> None:
    made = room(answer("bank_scan", fault=Fault.TIME_OUT, times=1), scan(facts=[fact(prompt=3)]))
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await made.heard(RequestQueued, lambda queued: queued.request.attempts == 1)
        [waits] = session.keeping.unread
        await session.takes.undo()
        await session.keeping._background.retry(waits.id)
        await read(session)
        await session.takes.redo()
        await read(session)
        assert [item.name for item in await items(session)] == ["The brass key"]
        states = [one.state for one in await extractions(session)]
        assert states == [RequestState.CANCELLED, RequestState.DONE]


async def test_a_reading_that_was_stopped_because_the_bank_was_switched_off_is_made_when_it_is_on_again() -> (
    None
):
    made = room(answer("bank_scan", fault=Fault.HANG))
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await made.heard(CallStarted, lambda call: is_extraction(call.request))
        await session.keeping.keep(is_on=False)
    made.provider = room(scan(facts=[fact()])).provider
    async with made.opened() as session:
        assert await session.keeping.keep(is_on=True) == 1
        await read(session)
        assert [item.name for item in await items(session)] == ["The brass key"]


async def test_items_that_come_once_the_bank_is_off_are_not_stored_and_their_reading_not_done() -> None:
    made = room(scan(facts=[fact()]))
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await read(session)
        [done], found = await extractions(session), await items(session)
        off = replace(session.snapshot, session=replace(session.snapshot.session, keeps_bank=False))
        for snapshot, state, stored in (
            (session.snapshot, RequestState.DONE, 1),
            (off, RequestState.CANCELLED, 0),
        ):
            changes = ExtractionHandler().settle(snapshot, done, ItemsMade(tuple(found)), done.updated_at)
            assert [request.state for request in changes.requests] == [state]
            assert len(changes.items) == stored


async def test_an_answer_that_comes_as_the_bank_is_switched_off_is_not_paid_for_again_once_it_is_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_come, is_off = asyncio.Event(), asyncio.Event()
    look = Neighbours.of

    async def looked_late(neighbours: Neighbours, *arguments: Any) -> Any:
        has_come.set()
        await is_off.wait()
        return await look(neighbours, *arguments)

    monkeypatch.setattr(Neighbours, "of", looked_late)
    made = room(scan(facts=[fact()]))
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await has_come.wait()
        [reading] = session.keeping.unread
        await session.keeping.keep(is_on=False)
        is_off.set()
        await session.wait(reading.id)
        assert await items(session) == []
        assert await session.keeping.keep(is_on=True) == 1
        await read(session)
        assert [item.name for item in await items(session)] == ["The brass key"]
        states = [one.state for one in await extractions(session)]
        assert states == [RequestState.CANCELLED, RequestState.DONE]
        assert len(await calls(session)) == 1
