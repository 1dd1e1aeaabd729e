"""A pooled connection is returned before the store is closed, whatever becomes of who read over it."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable, Coroutine

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from db import pool
from db.store import PostgresStore, open_store

Use = Callable[[PostgresStore, Callable[[AsyncConnection], Awaitable[None]]], Awaitable[object]]
USES: dict[str, Use] = {
    "a read": lambda store, work: store._database.read(work),
    "a change": lambda store, work: store._database.change(work),
}


async def _end_beside(
    use: Use, url: str, *, is_given_up: bool = False, asks: str = "", ends: bool = True
) -> None:
    """Close the store, as the program ends, while somebody is about to return a connection, or uses it."""
    store = await open_store(url)
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def work(connection: AsyncConnection) -> None:
        await connection.exec_driver_sql("SELECT 1")
        has_begun.set()
        if asks:
            await connection.exec_driver_sql(asks)
        await may_end.wait()

    using = asyncio.ensure_future(use(store, work))
    await has_begun.wait()
    if ends:
        may_end.set()
    if is_given_up:
        using.cancel()
    await store.aclose()
    del using


def warnings_of(ending: Coroutine[None, None, None]) -> list[str]:
    """Run `ending` in a loop of its own, and return what Python says of what it leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # Connections that tests before this one left are not counted.
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        asyncio.run(ending)
        gc.collect()
    return [str(one.message) for one in heard]


@pytest.mark.parametrize("is_given_up", [False, True], ids=["ends", "is given up"])
@pytest.mark.parametrize("name", USES)
def test_what_ends_as_the_program_does_leaves_no_connection_in_its_transaction(
    url: str, name: str, *, is_given_up: bool
) -> None:
    assert not warnings_of(_end_beside(USES[name], url, is_given_up=is_given_up))


@pytest.mark.parametrize("asks", ["", "SELECT pg_sleep(60)"], ids=["thinks", "asks"])
@pytest.mark.parametrize("name", USES)
def test_what_goes_on_for_longer_than_the_end_of_the_program_waits_loses_its_connection(
    url: str, name: str, asks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_LONGEST_WAIT", 0.01)
    assert not warnings_of(_end_beside(USES[name], url, asks=asks, ends=False))
