"""How the database is reached: URLs, the pool, single connections, and what every connection sets."""

from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection
from sqlalchemy import URL, Dialect, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from core.domain.errors import StorageError
from db.errors import LOAD, guarded

DRIVER: Final = "postgresql+psycopg"
_ALIASES: Final = frozenset(
    {"postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2", "postgresql+asyncpg"}
)
_URL_HINT: Final = "Set STORYENGINE_DATABASE_URL to postgresql://user:password@host:5432/database."

# A server that is gone without a word is noticed within half a minute, also by who only listens.
_REACH: Final = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "storyengine",
}
# Set by a statement and not by the start-up parameter `options`, which poolers refuse.
_LIMITS: Final = (
    "SELECT set_config('statement_timeout', '20s', false), set_config('lock_timeout', '10s', false),"
    " set_config('idle_in_transaction_session_timeout', '60s', false), set_config('TimeZone', 'UTC', false)"
)

Connection = AsyncConnection[tuple[Any, ...]]


def parse_url(text: str) -> URL:
    """Return the URL with our driver, whatever PostgreSQL spelling it has; raise StorageError otherwise."""
    try:
        url = make_url(text.strip())
    except ArgumentError as error:
        raise StorageError(
            LOAD, "The database's address cannot be read.", _URL_HINT, is_transient=False
        ) from error
    if url.drivername not in _ALIASES:
        raise StorageError(
            LOAD, f"Chapters are kept in PostgreSQL, not in {url.drivername}.", _URL_HINT, is_transient=False
        )
    return url.set(drivername=DRIVER)


def open_engine(url: URL) -> AsyncEngine:
    """Return a small pool; nothing is connected until it is used.

    Four connections are enough for one window: writing, two reads beside it, and the chapter list.
    """
    engine = create_async_engine(
        url,
        pool_size=2,
        max_overflow=2,
        pool_timeout=10,
        pool_recycle=1_800,
        connect_args=_reach(url),
    )
    event.listen(engine.sync_engine, "connect", _set_limits)
    return engine


async def open_connection(url: URL) -> Connection:
    """Return a connection of its own, in autocommit, for what must not go back to a pool."""
    keywords = libpq_keywords(url)
    connection = await AsyncConnection.connect(**_reach(url), **keywords, autocommit=True)
    await connection.execute(_LIMITS)
    return connection


def libpq_keywords(url: URL) -> dict[str, Any]:
    """Return what libpq connects with, the password among it."""
    dialect: Dialect = url.get_dialect()()
    _, keywords = dialect.create_connect_args(url)
    return dict(keywords)


async def close_quietly(connection: AsyncConnection[Any]) -> None:
    """Close a connection that may already be broken."""
    with suppress(psycopg.Error, OSError):
        await connection.close()


async def refuse_transaction_pooler(url: URL) -> None:
    """Raise StorageError when a pooler hands out another server process for every transaction.

    Locks, LISTEN and prepared statements belong to a server process, so none of them would hold. A
    pooler shows itself by a process id that is not the server's; it pools transactions when two open
    connections meet in one process.
    """
    async with guarded(LOAD):
        first = await open_connection(url)
        try:
            if await _server_process(first) == first.info.backend_pid:
                return
            second = await open_connection(url)
            try:
                is_shared = await _meet(first, second)
            finally:
                await close_quietly(second)
        finally:
            await close_quietly(first)
    if is_shared:
        raise StorageError(
            LOAD,
            "The database is behind a pooler in transaction mode (PgBouncer), where no lock holds.",
            "Name the server itself in STORYENGINE_DATABASE_URL, or a pool in session mode.",
            is_transient=False,
        )


async def _meet(first: Connection, second: Connection) -> bool:
    pairs = [(await _server_process(first), await _server_process(second)) for _ in range(3)]
    return any(one == other for one, other in pairs) or len({one for one, _ in pairs}) > 1


async def _server_process(connection: Connection) -> int:
    row = await (await connection.execute("SELECT pg_backend_pid()", prepare=False)).fetchone()
    assert row is not None
    return int(row[0])


def _reach(url: URL) -> dict[str, Any]:
    return {name: value for name, value in _REACH.items() if name not in url.query}


def _set_limits(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute(_LIMITS)
    cursor.close()
    connection.commit()
