"""No ceiling is passed by calls of several windows together, or by calls that have not told their cost."""

import asyncio
import random
from collections.abc import Collection
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import ArtifactId, SessionId, new_uuid
from core.domain.requests.request import Artifact, Usage
from core.gateway.cancellation import Cancellation
from core.gateway.model_call import ModelCall
from core.gateway.model_gateway import ModelGateway
from core.ledger.ceilings import CeilingGuard, Ceilings
from core.ledger.prices import PriceBook
from core.ledger.spending import Spending
from core.providers.base import Completion, ProviderError, TextDelta
from tests.core.gateway.test_costs_of_calls import (
    CHOICE,
    CONTEXT,
    FORECAST,
    OWN,
    SPENT,
    answer,
    asked,
    call,
    cost_of,
    gateway,
    service,
)
from tests.core.gateway.test_lanes import until_still
from tests.core.gateway.test_model_gateway import StepModel
from tests.core.values.sessions import NOW, SESSION_ID
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


def window(
    database: MemoryDatabase,
    ceilings: Ceilings,
    tmp_path: Path,
    model: StepModel | None = None,
    spending: Spending | None = None,
) -> tuple[ModelGateway, CeilingGuard]:
    calls = MemoryStore(database).calls
    guard = CeilingGuard(ceilings, calls.spent, lambda: NOW, calls.tell_open_costs, spending or Spending())
    way = gateway(model or service(), tmp_path)
    way.cashier = type(way.cashier)(PriceBook({"a-model": OWN}), guard, lambda: NOW)
    return way, guard


def told_in(database: MemoryDatabase) -> list[Decimal]:
    return [ended + running for ended, running, _ in database.open_costs.values()]


async def test_two_calls_that_are_checked_at_once_cannot_pass_a_ceiling_together(tmp_path: Path) -> None:
    async def spent(*_: object, **__: object) -> Decimal:
        await asyncio.sleep(0)  # the other one goes on
        return Decimal(0)

    model = service()
    way = gateway(model, tmp_path)
    way.cashier = type(way.cashier)(
        PriceBook({"a-model": OWN}), CeilingGuard(Ceilings(day=FORECAST), spent, lambda: NOW), lambda: NOW
    )
    results = await asyncio.gather(call(way), call(way, asked(SessionId(new_uuid()))))
    codes = [result.error and result.error.code for result in results]
    assert codes == [None, ErrorCode.CEILING_REACHED]
    assert model.calls == 1


async def test_a_call_that_runs_in_another_window_counts_until_it_is_stored(tmp_path: Path) -> None:
    database, ceilings = MemoryDatabase(), Ceilings(day=FORECAST + SPENT)
    slow = service(TextDelta("I "), 60.0, answer())
    first, guard = window(database, ceilings, tmp_path, slow)
    second, of_second = window(database, ceilings, tmp_path)
    running = asyncio.create_task(call(first))
    await slow.sleeps.wait()
    other = SessionId(new_uuid())
    refused = (await call(second, asked(other))).error
    assert refused is not None
    assert refused.code is ErrorCode.CEILING_REACHED
    assert "up to $1.00 for calls that run" in refused.message
    running.cancel()
    await asyncio.wait({running})
    await until_still()
    assert (await call(second, asked(other))).error is None
    assert told_in(database) == [0, FORECAST]
    await guard.aclose()
    await of_second.aclose()


async def test_a_call_counts_in_other_windows_no_longer_once_it_is_stored(tmp_path: Path) -> None:
    database, ceilings = MemoryDatabase(), Ceilings(day=FORECAST)
    first, guard = window(database, ceilings, tmp_path)
    guard.forget_stored((await call(first)).call_records.artifacts)
    await until_still()
    assert told_in(database) == [0]


async def test_a_refused_call_takes_no_room_in_other_windows(tmp_path: Path) -> None:
    database, ceilings = MemoryDatabase(), Ceilings(day=FORECAST - SPENT)
    first, _ = window(database, ceilings, tmp_path)
    assert (await call(first)).error is not None
    await until_still()
    assert told_in(database) == [0]


@pytest.mark.parametrize("seed", range(20))
async def test_windows_that_call_at_random_never_spend_more_than_the_ceiling(seed: int) -> None:
    chance = random.Random(seed)
    ceilings, database = Ceilings(day=Decimal(5)), MemoryDatabase()
    stored: dict[ArtifactId, Decimal] = {}
    paid: list[Decimal] = []

    async def pause() -> None:
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)

    async def spent(*_: object, but_for: Collection[ArtifactId] = (), **__: object) -> Decimal:
        await pause()
        found = sum((cost for id, cost in stored.items() if id not in but_for), Decimal(0))
        await pause()
        return found

    async def play(guard: CeilingGuard) -> None:
        request = asked(SessionId(new_uuid()))
        for _ in range(12):
            most, id = Decimal(chance.randrange(1, 90)) / 100, ArtifactId(new_uuid())
            await pause()
            try:
                await guard.admit(request, id, [most])
            except StoryEngineError:
                continue
            await pause()
            cost = most * chance.randrange(101) / 100
            paid.append(cost)
            assert sum(paid) <= 5
            guard.settle(id, cost)
            await pause()
            stored[id] = cost
            await pause()
            guard.forget_stored([cast(Artifact, SimpleNamespace(id=id))])

    windows = [MemoryStore(database).calls for _ in range(3)]
    guards = [CeilingGuard(ceilings, spent, lambda: NOW, calls.tell_open_costs) for calls in windows]
    await asyncio.gather(*(play(guard) for guard in guards for _ in range(2)))
    await until_still()
    assert sum(paid) > 3, "and there is no room that nobody has"
    assert {*told_in(database)} == {0}


@pytest.mark.parametrize(
    "steps",
    [
        (TextDelta("I nod."), answer(Usage())),
        (TextDelta("I "), OSError()),
        (ProviderError(ErrorCode.LLM_SERVER_ERROR, is_begun=True),),
    ],
    ids=["told no tokens", "broke off", "broke off while it thought"],
)
async def test_a_call_that_does_not_tell_its_cost_counts_at_the_most_that_it_may_have(
    steps: tuple[TextDelta | Completion | Exception, ...], tmp_path: Path
) -> None:
    way, guard = window(MemoryDatabase(), Ceilings(chapter=FORECAST + SPENT), tmp_path, service(*steps))
    made = await call(way)
    cost = cost_of(made)
    assert cost is not None
    assert cost.amount is None
    guard.forget_stored(made.call_records.artifacts)
    refused = (await call(way)).error
    assert refused is not None
    assert "With the $0.00 spent in this chapter, and up to $1.00 for calls that" in refused.message
    reached = guard.reached(SESSION_ID)
    assert reached is not None
    assert (reached.spent, reached.uncertain) == (Decimal(0), FORECAST)


async def test_a_call_that_does_not_tell_its_cost_counts_for_the_engine_that_starts_after_it(
    tmp_path: Path,
) -> None:
    database, spending = MemoryDatabase(), Spending()
    model = service(TextDelta("I nod."), answer(Usage()))
    ceilings = Ceilings(day=FORECAST + SPENT)
    way, guard = window(database, ceilings, tmp_path, model, spending)
    guard.forget_stored((await call(way)).call_records.artifacts)
    await until_still()
    database.open_costs.clear()  # its connection is closed
    again, after = window(database, ceilings, tmp_path, model, spending)
    after.tell_soon()
    await until_still()
    assert told_in(database) == [FORECAST]
    refused = (await call(again)).error
    assert refused is not None
    assert refused.code is ErrorCode.CEILING_REACHED
    after.go_on(SESSION_ID)
    last, _ = window(database, ceilings, tmp_path, model, spending)
    database.open_costs.clear()
    assert (await call(last)).error is None, "what the GM agreed to holds until the program ends"
    higher, _ = window(MemoryDatabase(), Ceilings(day=Decimal(100)), tmp_path, model, spending)
    assert (await call(higher)).error is None, "a higher ceiling goes before it"


async def test_only_the_call_itself_counts_that_did_not_tell_its_cost_and_not_those_to_follow(
    tmp_path: Path,
) -> None:
    way, _ = window(
        MemoryDatabase(),
        Ceilings(chapter=3 * FORECAST),
        tmp_path,
        service(TextDelta("I nod."), answer(Usage())),
    )
    more = [(CONTEXT, CHOICE)]
    await way.call(ModelCall(CONTEXT, CHOICE, asked(), 1), Cancellation(), lambda: more)
    assert (await call(way)).error is None


@pytest.mark.parametrize(
    "code", [ErrorCode.LLM_RATE_LIMITED, ErrorCode.LLM_AUTH_ERROR, ErrorCode.LLM_SERVER_ERROR]
)
async def test_a_call_that_the_service_answered_with_an_error_alone_takes_no_room_under_a_ceiling(
    code: ErrorCode, tmp_path: Path
) -> None:
    way, _ = window(MemoryDatabase(), Ceilings(chapter=FORECAST), tmp_path, service(ProviderError(code)))
    for _ in range(2):
        error = (await call(way)).error
        assert error is not None
        assert error.code is code


async def test_a_call_of_unknown_price_is_asked_about_once_a_ceiling_is_passed(tmp_path: Path) -> None:
    billed = service(TextDelta("I nod."), answer(billed=SPENT))
    way, guard = window(MemoryDatabase(), Ceilings(day=SPENT), tmp_path, billed)
    way.cashier = type(way.cashier)(PriceBook(), guard, lambda: NOW)
    assert [(await call(way)).error for _ in range(2)] == [None, None]
    refused = (await call(way)).error
    assert refused is not None
    assert refused.message == (
        "The price of this call is unknown, and with the $1.00 spent today, your ceiling of $0.50 is passed; "
        "nothing was sent."
    )
    guard.go_on(SESSION_ID)
    assert (await call(way)).error is None
    assert billed.calls == 3


async def test_a_call_that_is_stopped_while_other_windows_are_told_of_it_takes_no_room_there() -> None:
    store, told = MemoryStore(MemoryDatabase()), asyncio.Event()

    async def tell(ended: Decimal, day: date, running: Decimal) -> Decimal:
        others = await store.calls.tell_open_costs(ended, day, running)
        if running:
            told.set()
            await asyncio.Event().wait()  # the answer of the server is late
        return others

    guard = CeilingGuard(Ceilings(day=FORECAST), store.calls.spent, lambda: NOW, tell)
    admission = asyncio.create_task(guard.admit(asked(), ArtifactId(new_uuid()), [FORECAST]))
    await told.wait()
    admission.cancel()
    await until_still()
    assert told_in(store.database) == [0]
