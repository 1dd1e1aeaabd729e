"""Every engine test plays on a real PostgreSQL; they share one database, each with sessions of its own."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import psycopg
import pytest

from core.engine.services.save_points.auto_save import AutoSaver
from db.store import PostgresStore, open_store
from tests.store.servers import cloned


@pytest.fixture(scope="session")
def url(private_template: str) -> Iterator[str]:
    """The database that all engine tests share."""
    yield from cloned(private_template)


@pytest.fixture(scope="module")
async def store(url: str) -> AsyncIterator[PostgresStore]:
    """A store that the tests of a file share, as a window that stays open for an evening."""
    async with aclosing(await open_store(url)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only an instant for a store that is away."""
    monkeypatch.setattr("core.engine.sync.session_writer.FIRST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr("core.engine.sync.session_writer.MAX_BACKOFF_SECONDS", 0.05)
    monkeypatch.setattr("core.engine.sync.session_tasks.RESTART_SECONDS", 0.01)


@pytest.fixture
def without_auto_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """No save point is created at a lock or a summary, for files that are about neither.

    Each reads the whole chapter and writes it, which is a third of the work of a short one.
    `test_save_points` has what is saved, and when.
    """

    async def nothing(_: AutoSaver, __: object) -> None:
        """Create none."""

    monkeypatch.setattr(AutoSaver, "_receive", nothing)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is sent to the database from now on, by whatever part of the program."""
    statements: list[str] = []
    behind = psycopg.AsyncCursor.execute

    async def execute(self: Any, query: Any, *arguments: Any, **more: Any) -> Any:
        statements.append(query if isinstance(query, str) else query.as_string(self))
        return await behind(self, query, *arguments, **more)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", execute)
    return statements
