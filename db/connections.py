"""Connections to the database: URLs, the pool, single connections, and the settings of each."""

import logging
from contextlib import suppress
from typing import Any, Final, LiteralString

import psycopg
from psycopg import AsyncConnection
from sqlalchemy import URL, Dialect, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from core.domain.errors import StorageError
from db.errors import LOAD, guarded, is_lost_connection

DRIVER: Final = "postgresql+psycopg"
_ALIASES: Final = frozenset(
    {"postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2", "postgresql+asyncpg"}
)
_URL_HINT: Final = "Set STORYENGINE_DATABASE_URL to postgresql://user:password@host:5432/database."

# A server that vanishes silently is noticed within half a minute, also on a connection that only listens.
_TIMEOUTS: Final = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "storyengine",
    # That of a role, a database or the environment may lack letters of a text.
    "client_encoding": "utf8",
}
# Set by a statement: poolers refuse the start-up parameter `options`.
_LIMITS: Final[LiteralString] = (
    "SELECT set_config('statement_timeout', '20s', false), set_config('lock_timeout', '10s', false),"
    " set_config('idle_in_transaction_session_timeout', '60s', false), set_config('TimeZone', 'UTC', false),"
    # Starting workers and compiling take longer than our queries, and play needs the other processor.
    " set_config('max_parallel_workers_per_gather', '0', false), set_config('jit', 'off', false),"
    # A window that vanishes holds its locks until the server notices, by default for two hours.
    " set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),"
    " set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '30000', false),"
    # A GM thinks for longer than servers of others let a connection be idle, and the lock is held by one.
    " set_config('idle_session_timeout', '0', false),"
    # What a server, a role or a database may have set otherwise: how times and arrays are written, and that
    # a statement sees what was stored while the transaction waited for a lock.
    " set_config('DateStyle', 'ISO', false), set_config('array_nulls', 'on', false),"
    " set_config('default_transaction_isolation', 'read committed', false)"
)
_LATER_LIMIT: Final[LiteralString] = ", set_config('transaction_timeout', '0', false)"
"""Limit that older servers do not know; an upgrade or a deletion may take minutes."""
_HAS_LATER_LIMIT: Final = 17_00_00
"""The server's version, as libpq counts it."""

RawConnection = AsyncConnection[tuple[Any, ...]]


class LostConnections(logging.Filter):
    """Drops what the pool logs as an error of its own where a connection is lost.

    The caller gets an exception, and logs what became of its work.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is about anything else."""
        error = record.exc_info[1] if record.exc_info else None
        return error is None or not is_lost_connection(error)


_NO_LOST_CONNECTIONS: Final = LostConnections()
_POOL_LOG: Final = logging.getLogger(f"{AsyncAdaptedQueuePool.__module__}.{AsyncAdaptedQueuePool.__name__}")
"""The log of the pool of an asynchronous engine."""


def parse_url(text: str) -> URL:
    """Return a PostgreSQL URL in any usual spelling with our driver; raise StorageError for any other."""
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
    """Return a small pool, which connects on first use.

    Four connections are enough for one window: a change, two reads beside it, and the chapter list.
    """
    engine = create_async_engine(
        url,
        pool_size=2,
        max_overflow=2,
        pool_timeout=10,
        pool_recycle=1_800,
        connect_args=_timeouts(url),
        hide_parameters=True,  # They are the GM's texts, and an error's message goes into logs and reports.
        use_native_hstore=False,  # No column has that type, and looking for it is a query at each start.
    )
    event.listen(engine.sync_engine, "connect", _set_limits)
    _POOL_LOG.addFilter(_NO_LOST_CONNECTIONS)
    return engine


async def open_connection(url: URL) -> RawConnection:
    """Return a new connection in autocommit, for uses that must not share a pooled one."""
    keywords = libpq_keywords(url)
    connection = await AsyncConnection.connect(**_timeouts(url), **keywords, autocommit=True)
    try:
        await connection.execute(_limits_of(connection))
    except BaseException:  # cancelled too: the connection has no other owner yet
        await close_quietly(connection)
        raise
    return connection


def libpq_keywords(url: URL) -> dict[str, Any]:
    """Return the keywords that libpq connects with, including the password."""
    dialect: Dialect = url.get_dialect()()
    _, keywords = dialect.create_connect_args(url)
    return dict(keywords)


async def close_quietly(connection: AsyncConnection[Any]) -> None:
    """Close a connection that may already be broken."""
    with suppress(psycopg.Error, OSError):
        await connection.close()


async def refuse_transaction_pooler(url: URL) -> None:
    """Raise StorageError when a pooler assigns a server process to each transaction.

    Locks, LISTEN and prepared statements belong to a server process, so none of them would work. Behind any
    pooler, the process id of the connection is not the server's; in transaction mode, two open connections
    share a server process.
    """
    async with guarded(LOAD):
        first = await open_connection(url)
        try:
            if await _server_process(first) == first.info.backend_pid:
                return
            second = await open_connection(url)
            try:
                is_shared = await _share_backend(first, second)
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


async def _share_backend(first: RawConnection, second: RawConnection) -> bool:
    pairs = [(await _server_process(first), await _server_process(second)) for _ in range(3)]
    return any(one == other for one, other in pairs) or len({one for one, _ in pairs}) > 1


async def _server_process(connection: RawConnection) -> int:
    row = await (await connection.execute("SELECT pg_backend_pid()", prepare=False)).fetchone()
    assert row is not None
    return int(row[0])


def _timeouts(url: URL) -> dict[str, Any]:
    return {name: value for name, value in _TIMEOUTS.items() if name not in url.query}


def _limits_of(connection: AsyncConnection[Any]) -> LiteralString:
    return _LIMITS + (_LATER_LIMIT if connection.info.server_version >= _HAS_LATER_LIMIT else "")


def _set_limits(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute(_limits_of(connection.driver_connection))
    cursor.close()
    connection.commit()
