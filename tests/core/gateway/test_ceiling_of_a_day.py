"""The ceiling of a day counts from midnight to midnight, as the clock on the wall has it."""

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import ArtifactId, SessionId, new_uuid
from core.ledger.ceilings import CeilingGuard, Ceilings
from core.ledger.prices import PriceBook
from tests.core.gateway.embedding_way import beside_the_play
from tests.core.gateway.test_costs_of_calls import FORECAST, OWN, SPENT, asked, call, gateway, service
from tests.core.gateway.test_lanes import until_still
from tests.core.values.sessions import NOW
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


async def test_what_a_call_of_yesterday_cost_does_not_count_today(tmp_path: Path) -> None:
    now = NOW
    store = MemoryStore()
    way = gateway(service(), tmp_path)
    way.cashier = type(way.cashier)(
        PriceBook({"a-model": OWN}),
        CeilingGuard(Ceilings(day=FORECAST), store.calls.spent, lambda: now),
        lambda: NOW,
    )
    assert (await call(way)).error is None
    assert (await call(way, asked(SessionId(new_uuid())))).error is not None
    now += timedelta(days=1)
    assert (await call(way, asked(SessionId(new_uuid())))).error is None


async def test_a_call_that_runs_over_midnight_counts_in_other_windows_on_both_days() -> None:
    now, database = NOW, MemoryDatabase()
    first, second = (
        CeilingGuard(Ceilings(day=FORECAST), store.calls.spent, lambda: now, store.calls.tell_open_costs)
        for store in (MemoryStore(database), MemoryStore(database))
    )
    over_midnight, other = ArtifactId(new_uuid()), asked(SessionId(new_uuid()))
    await first.admit(asked(), over_midnight, [FORECAST])
    now += timedelta(days=1)
    with pytest.raises(StoryEngineError) as refused:
        await second.admit(other, ArtifactId(new_uuid()), [SPENT])
    assert refused.value.code is ErrorCode.CEILING_REACHED
    first.settle(over_midnight, None)
    await until_still()
    with pytest.raises(StoryEngineError):
        await second.admit(other, ArtifactId(new_uuid()), [SPENT])
    now += timedelta(days=1)
    await second.admit(other, ArtifactId(new_uuid()), [SPENT])


async def test_a_day_begins_at_midnight_also_when_the_clocks_change_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_for: list[object] = []

    async def spent(session_id: object = None, *, since: object = None, but_for: object = ()) -> Decimal:
        asked_for.append(since)
        return Decimal(0)

    noon = datetime(2026, 3, 29, 10, tzinfo=UTC)
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        await CeilingGuard(Ceilings(day=FORECAST), spent, lambda: noon).admit(
            asked(), ArtifactId(new_uuid()), [SPENT]
        )
    time.tzset()
    assert asked_for == [datetime(2026, 3, 28, 23, tzinfo=UTC)]


async def test_a_call_beside_the_play_counts_until_it_is_stored_whatever_the_play_asks_for_meanwhile(
    tmp_path: Path,
) -> None:
    way = gateway(service(), tmp_path, ceilings=Ceilings(chapter=FORECAST + SPENT))
    beside = beside_the_play()
    assert (await call(way, beside)).error is None
    assert (await call(way)).error is None, "with what is spent it just reaches the ceiling"
    refused = (await call(way, beside, 2)).error
    assert refused is not None
    assert refused.code is ErrorCode.CEILING_REACHED


async def test_a_chapter_that_is_purged_leaves_no_more_room_under_the_ceiling_of_its_day(
    tmp_path: Path,
) -> None:
    stored = [SPENT, Decimal(0)]

    async def spent(*_: object, **__: object) -> Decimal:
        return stored.pop(0)

    way = gateway(service(), tmp_path)
    guard = CeilingGuard(Ceilings(day=FORECAST + 3 * SPENT / 2), spent, lambda: NOW)
    way.cashier = type(way.cashier)(PriceBook({"a-model": OWN}), guard, lambda: NOW)
    guard.forget_stored((await call(way)).call_records.artifacts)
    refused = (await call(way, asked(SessionId(new_uuid())))).error
    assert refused is not None
    assert refused.code is ErrorCode.CEILING_REACHED
