"""At a ceiling, one part of a long chapter is refused for its memory bank, and the others wait for it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, SessionLockedError
from core.domain.requests.cost import FREE, UnitPrices
from core.domain.requests.request import BackgroundRequest, RequestState
from core.engine.engine_settings import CallRules
from core.engine.queue.queue_commands import retry_closed
from core.engine.services.bank.words import failed_in_words
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import RequestFailed, RequestSettled
from core.ledger.ceilings import Ceilings
from core.ledger.prices import PriceBook
from core.providers.scripted.script import Fault
from tests.core.rooms.bank_room import answer, calls, extractions, fact, items, read, room, scan
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import play

pytestmark = pytest.mark.anyio

OWN = UnitPrices(input=Decimal(1), output=Decimal(2))
DONE, FAILED, PENDING = RequestState.DONE, RequestState.FAILED, RequestState.PENDING


async def played(made: Room) -> Room:
    """Play three parts in a chapter that keeps no bank; from then on all calls have a price."""
    async with made.opened() as session:
        await play(session, *(f"{number}?" for number in range(1, 10)))
        await session.wait_idle()
    prices = PriceBook({choice.model: OWN for choice in made.choices.values()})
    made.rules = CallRules(prices=prices, ceilings=Ceilings(chapter=Decimal("0.000001")))
    return made


async def states(session: SessionHandle) -> list[RequestState]:
    return [one.state for one in await extractions(session)]


async def of_first_part(made: Room) -> Decimal:
    """Return what it costs at most to read the first part."""
    rules, made.rules = made.rules, replace(made.rules, ceilings=None)
    async with made.opened() as session:
        first, *_ = await session.keeping.to_read()
        amount = (await session.money.of_reading([first])).amount
    made.rules = rules
    assert amount is not None
    return amount


async def first_is_read(made: Room, session: SessionHandle) -> None:
    """Return once the first part is read; a test that waits for it in vain ends by its time-out."""
    [first, *_] = await extractions(session)
    await made.heard(RequestSettled, lambda told: told.request.id == first.id and told.request.state is DONE)
    assert (await states(session))[0] is DONE


async def test_a_ceiling_leaves_one_refused_part_which_takes_up_the_others_once_it_is_raised() -> None:
    made = await played(room(scan(facts=[fact()]), keeps_bank=False))
    async with made.opened() as session:
        assert await session.keeping.keep(is_on=True) == 3
        await read(session)
        assert await states(session) == [FAILED, PENDING, PENDING]
        assert failed_in_words(session.snapshot.requests) == "1 part could not be read and 2 wait for it"
        [refused] = await calls(session)
        assert refused.error_code is ErrorCode.CEILING_REACHED
    async with made.opened() as session:
        await read(session)
        assert await states(session) == [FAILED, PENDING, PENDING], "the ceiling is as it was"
    made.rules = replace(made.rules, ceilings=None)
    async with made.opened() as session:
        await read(session)
        assert await states(session) == [DONE, DONE, DONE]
        assert await items(session)


async def test_a_refused_part_that_is_retried_takes_up_the_others() -> None:
    made = await played(room(answer("bank_scan", fault=Fault.AUTH, times=1), scan(), keeps_bank=False))
    made.rules = CallRules()
    async with made.opened() as session:
        await session.keeping.keep(is_on=True)
        await read(session)
        await session.background.retry((await extractions(session))[0].id)
        await read(session)
        assert await states(session) == [DONE, DONE, DONE]


async def test_parts_that_the_ceiling_of_a_day_refused_are_read_on_the_next_day() -> None:
    made = await played(room(scan(facts=[fact()]), keeps_bank=False))
    now = utc_now()
    made.rules = replace(made.rules, ceilings=Ceilings(day=await of_first_part(made)))
    made.clock = lambda: now
    async with made.opened() as session:
        await play(session, "Who is there?")  # which leaves less than the first part may cost
        await session.keeping.keep(is_on=True)
        await read(session)
        session.background.wake()
        await session.wait_idle()
        assert await states(session) == [FAILED, PENDING, PENDING], "it is still that day"
        assert len(await calls(session)) == 1
        now += timedelta(days=1)
        session.background.wake()
        await first_is_read(made, session)


async def test_parts_that_a_ceiling_refused_are_read_once_the_gm_goes_on_beyond_it() -> None:
    made = await played(room(scan(facts=[fact()]), keeps_bank=False))
    limit = await of_first_part(made) - Decimal("0.000001")
    made.rules = replace(made.rules, ceilings=Ceilings(chapter=limit))
    async with made.opened() as session:
        await session.keeping.keep(is_on=True)
        await read(session)
        called = session.snapshot.session.slots
        refused = await session.wait(await session.submit_prompt(called[0], "Who is there?", then=called[1:]))
        assert refused.error_code is ErrorCode.CEILING_REACHED
        assert await states(session) == [FAILED, PENDING, PENDING]
        session.money.go_on()
        await first_is_read(made, session)


async def test_a_part_that_is_refused_again_once_the_gm_goes_on_waits_again() -> None:
    made = await played(room(scan(), keeps_bank=False))
    async with made.opened() as session:
        await session.keeping.keep(is_on=True)
        await read(session)
        before = len(made.notifications)
        session.background.spend_more()
        await made.heard(RequestFailed, lambda told: told in made.notifications[before:])
        for _ in range(20):  # as many changes as those of ten further refusals
            await session.background.make_vectors()
        assert len(await calls(session)) == 2
        assert await states(session) == [FAILED, PENDING, PENDING]


async def test_a_refused_part_that_an_opening_left_as_it_was_is_read_on_the_next_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = await played(room(scan(), keeps_bank=False))
    now = utc_now()
    async with made.opened() as session:
        await session.keeping.keep(is_on=True)
        await read(session)
        for one in await extractions(session):
            if one.state is PENDING:  # the next opening would begin with them
                await session.background.stop(one.id)
    made.rules = replace(made.rules, ceilings=None)
    made.clock = lambda: now
    monkeypatch.setattr("core.engine.session.open_session.another_round", lambda *_: None)
    async with made.opened() as session:
        now += timedelta(days=1)
        session.background.wake()
        await first_is_read(made, session)


async def test_the_next_part_is_asked_about_where_the_refused_one_is_dropped() -> None:
    made = await played(room(scan(), keeps_bank=False))
    async with made.opened() as session:
        await session.keeping.keep(is_on=True)
        await read(session)
        first, second, third = await extractions(session)
        await session.background.stop(first.id)
        await session.wait(second.id)
        assert await states(session) == [RequestState.CANCELLED, FAILED, PENDING]
        await session.background.retry(third.id)
        assert await states(session) == [RequestState.CANCELLED, FAILED, PENDING]


async def test_a_wrong_key_refuses_one_part_and_an_answer_of_no_use_holds_up_none() -> None:
    for fault, expected in (
        (Fault.AUTH, [FAILED, PENDING, PENDING]),
        (Fault.INVALID_JSON, [FAILED, DONE, DONE]),
    ):
        times = 1 if fault is Fault.AUTH else 2
        made = await played(room(answer("bank_scan", fault=fault, times=times), scan(), keeps_bank=False))
        made.rules = CallRules()
        async with made.opened() as session:
            await session.keeping.keep(is_on=True)
            await read(session)
            assert await states(session) == expected


async def test_a_retry_goes_on_with_all_parts_that_an_earlier_program_had_refused_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = await played(
        room(answer("bank_scan", fault=Fault.AUTH, times=3), scan(facts=[fact()]), keeps_bank=False)
    )
    made.rules = CallRules()
    async with made.opened() as session:
        with monkeypatch.context() as earlier:
            earlier.setattr(BackgroundRequest, "holds_up", False)
            await session.keeping.keep(is_on=True)
            await read(session)
        assert await states(session) == [FAILED, FAILED, FAILED]
        [first, *_] = await extractions(session)
        assert len(retry_closed(session.snapshot, first.id, utc_now()).requests) == 3
        await session.background.retry(first.id)
        await read(session)
        assert await states(session) == [DONE, DONE, DONE]


async def test_what_reading_costs_is_known_before_and_of_many_parts_some_stand_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = await played(room(scan(), keeps_bank=False))
    made.rules = replace(made.rules, ceilings=None)
    async with made.opened() as session:
        to_read = await session.keeping.to_read()
        assert not session.snapshot.background, "nothing begins by asking"
        forecast = await session.money.of_reading(to_read)
        monkeypatch.setattr("core.engine.session.money.MOST_LOOKED_AT", 1)
        guessed = await session.money.of_reading(to_read)
        await session.keeping.keep(is_on=True)
        await read(session)
        sent = [one for one in await calls(session) if one.error_code is None]
        assert len(to_read) == forecast.parts == guessed.parts == 3
        assert forecast.amount is not None
        assert guessed.amount is not None
        assert forecast.amount >= sum(one.cost.amount for one in sent if one.cost and one.cost.amount)
        assert abs(guessed.tokens - forecast.tokens) <= forecast.tokens / 3


async def test_a_command_knows_the_same_cost_of_a_chapter_that_no_window_has_open() -> None:
    made = await played(room(scan(), keeps_bank=False))
    made.rules = replace(made.rules, ceilings=None)
    async with made.opened() as session:
        asked = await session.money.of_reading(await session.keeping.to_read())
        with pytest.raises(SessionLockedError, match="change it there"):
            await made.engine().forecast_of_bank(session.id)
    assert await made.engine().forecast_of_bank(session.id) == asked
    assert asked.parts == 3


async def test_a_window_that_only_reads_is_refused_before_it_is_told_a_cost() -> None:
    made = await played(room(scan(), keeps_bank=False))
    other = made.store.seize("second window")
    async with made.opened() as session:
        with pytest.raises(SessionLockedError):
            await session.keeping.to_read()
    await other.aclose()


async def test_nothing_to_read_costs_nothing() -> None:
    async with room(keeps_bank=False).opened() as session:
        forecast = await session.money.of_reading(await session.keeping.to_read())
        assert (forecast.parts, forecast.tokens, forecast.amount) == (0, 0, FREE)
