"""What every store promises about money: costs come back to the last digit, and are summed exactly."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from core.config.models.assignments import defaults_for
from core.domain.clock import utc_now
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.cost import LOCAL, PROVIDER, Cost, UnitPrices
from core.domain.session.session import Session
from core.engine.catalog import SessionCatalog
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import read_records
from core.ledger.sums import sum_of
from core.storage.session_store import Lease, SessionStore
from tests.store import chapters
from tests.store.contract.conftest import OpenWindow

pytestmark = pytest.mark.anyio

PRICES = UnitPrices(input=Decimal("1.25"), output=Decimal(10), cached_input=Decimal("0.125"))
DAY = date(2026, 10, 31)
COSTS = [
    Cost(amount=Decimal("0.011500000000000001"), source="genai-prices 0.2.3", prices=PRICES),
    Cost(amount=Decimal("0.1"), source=PROVIDER),
    Cost(amount=Decimal("0.2"), source=PROVIDER, prices=replace(PRICES, reasoning=Decimal(12))),
    Cost(amount=None, source="genai-prices 0.2.3", prices=PRICES),
    Cost(amount=Decimal(0), source=LOCAL),
    None,
]


async def played(store: SessionStore, session: Session, lease: Lease) -> Session:
    for cost in COSTS:
        turn = chapters.turn(session)
        await store.commit(replace(turn, artifacts=(replace(turn.artifacts[0], cost=cost),)), lease)
        session = turn.session or session
    return session


async def test_the_cost_of_a_call_comes_back_as_it_was(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    await played(store, session, lease)
    assert [artifact.cost for artifact in await store.calls.artifacts(session.id)] == COSTS


async def test_what_was_spent_is_summed_to_the_last_digit(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    assert (await store.load(session.id)).spent == await store.calls.spent(session.id) == 0
    await played(store, session, lease)
    total = Decimal("0.311500000000000001")
    assert await store.calls.spent(session.id) == total
    assert (await store.load(session.id)).spent == total
    artifacts = await store.calls.artifacts(session.id)
    assert await store.calls.spent(session.id, but_for=[artifacts[1].id]) == total - Decimal("0.1")
    assert await store.calls.spent(since=chapters.NOW) == total
    assert await store.calls.spent(since=chapters.NOW + timedelta(seconds=1)) == 0


async def test_a_call_of_a_copy_is_counted_once_in_what_all_chapters_cost(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    await played(store, session, lease)
    copy = SessionId(new_uuid())
    body = await read_records(store, await store.load(session.id))
    texts = await store.calls.contents_after(session.id, "", most=100)
    await store.chapters.create(as_new_session(replace(body, contents=tuple(texts)), copy))
    spent = Decimal("0.311500000000000001")
    assert await store.calls.spent(session.id) == await store.calls.spent(copy) == spent
    assert await store.calls.spent() == await store.calls.spent(since=chapters.NOW) == spent
    catalog = SessionCatalog(store, defaults_for("scripted"), label="here", clock=utc_now)
    entries, _ = await catalog.ledger()
    assert {(entry.artifact.session_id, entry.number) for entry in entries} == {
        (session.id, number) for number in range(1, len(COSTS) + 1)
    }
    copied, _ = await catalog.ledger(copy)
    assert sum_of(copied).amount == sum_of(entries).amount == spent


async def test_the_snapshot_knows_what_was_spent_without_reading_again(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    session = await played(store, session, lease)
    before = await store.load(session.id)
    turn = chapters.turn(session)
    turn = replace(turn, artifacts=(replace(turn.artifacts[0], cost=COSTS[0]),))
    await store.commit(turn, lease)
    assert before.after(turn).spent == (await store.load(session.id)).spent == Decimal("0.323000000000000002")


async def test_a_window_knows_what_calls_of_the_others_may_cost_until_these_end(
    store: SessionStore, open_window: OpenWindow
) -> None:
    second, third = await open_window(), await open_window()
    assert await store.calls.tell_open_costs(Decimal("0.5"), DAY) == 0
    assert await second.calls.tell_open_costs(Decimal("0.00001"), DAY) == Decimal("0.5")
    assert await third.calls.tell_open_costs(Decimal(0), DAY) >= Decimal("0.50001"), "rounded up, if at all"
    assert await store.calls.tell_open_costs(Decimal("0.25"), DAY) <= Decimal("0.0001")
    assert await second.calls.tell_open_costs(Decimal(0), DAY) == Decimal("0.25")
    assert await second.calls.tell_open_costs(Decimal("0.5"), DAY) == Decimal("0.25")
    assert await store.calls.tell_open_costs(Decimal("0.5"), DAY) == Decimal("0.5"), "one of two windows"
    assert await second.calls.tell_open_costs(Decimal("0.5"), DAY) == Decimal("0.5")
    await second.aclose()

    async def is_alone() -> bool:
        return await store.calls.tell_open_costs(Decimal("1e9"), DAY) == 0

    await chapters.until(is_alone)  # The server ends the connection of a closed window a moment later.
    assert await third.calls.tell_open_costs(Decimal(0), DAY) > 5_000, "more than any ceiling"


async def test_what_calls_of_a_window_may_cost_counts_in_others_on_their_day_alone(
    store: SessionStore, open_window: OpenWindow
) -> None:
    second = await open_window()
    await store.calls.tell_open_costs(Decimal("0.5"), DAY)
    assert await second.calls.tell_open_costs(Decimal("0.25"), DAY + timedelta(days=1)) == 0
    assert await store.calls.tell_open_costs(Decimal("0.5"), DAY + timedelta(days=1)) == Decimal("0.25")
    assert await second.calls.tell_open_costs(Decimal("0.25"), DAY) == 0, "the same amount of another day"


async def test_what_running_calls_of_a_window_may_cost_counts_in_others_on_every_day(
    store: SessionStore, open_window: OpenWindow
) -> None:
    second = await open_window()
    await store.calls.tell_open_costs(Decimal("0.5"), DAY, Decimal("0.25"))
    assert await second.calls.tell_open_costs(Decimal(0), DAY) == Decimal("0.75")
    assert await second.calls.tell_open_costs(Decimal(0), DAY + timedelta(days=1)) == Decimal("0.25")
    await store.calls.tell_open_costs(Decimal("0.25"), DAY)
    assert await second.calls.tell_open_costs(Decimal(0), DAY) == Decimal("0.25")
    await store.calls.tell_open_costs(Decimal(0), DAY)
    assert await second.calls.tell_open_costs(Decimal(0), DAY) == 0
