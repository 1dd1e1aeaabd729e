"""Follows a session on a LISTEN connection that is reopened after a restart of the server (design 6)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psycopg
from psycopg import sql
from sqlalchemy import URL

from core.domain.ids import SessionId
from db.commit_statement import channel_of
from db.connections import Connection, close_quietly, open_connection
from db.errors import LOAD, guarded

_HEARTBEAT: Final = 20.0
"""Seconds without a notification after which the connection is tested."""
_ANSWER: Final = 10.0
_BACKOFF: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_LOST: Final = (psycopg.Error, OSError)


async def notifications(connection: Connection) -> AsyncIterator[str]:
    """Yield the payload of every notification; raise psycopg.Error or OSError once the connection is lost."""
    while True:
        async for notification in connection.notifies(timeout=_HEARTBEAT):
            yield notification.payload
        async with asyncio.timeout(_ANSWER):
            await connection.execute("SELECT 1")


@asynccontextmanager
async def follow_session(url: URL, session_id: SessionId) -> AsyncIterator[AsyncIterator[None]]:
    """Listen from before the block is entered until it is left; see `core.store.SessionStore.follow`."""
    changed = asyncio.Event()
    async with guarded(LOAD):
        connection = await _listen(url, session_id)
    listening = _keep_listening(url, session_id, connection, changed)
    task = asyncio.create_task(listening, name=f"follow {session_id}")
    try:
        yield _each(changed, task)
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _each(changed: asyncio.Event, task: asyncio.Task[None]) -> AsyncIterator[None]:
    """Yield after each notification; end when the listener ends, raising its exception if it has one."""
    task.add_done_callback(lambda _: changed.set())
    while True:
        await changed.wait()
        changed.clear()
        if task.done():
            if not task.cancelled():
                task.result()
            return
        yield


async def _keep_listening(
    url: URL, session_id: SessionId, connection: Connection | None, changed: asyncio.Event
) -> None:
    """Report every notification, and every new connection: notifications may have been missed before it."""
    failures = 0
    while True:
        try:
            if connection is None:
                async with asyncio.timeout(_ANSWER):
                    connection = await _listen(url, session_id)
                failures = 0
                changed.set()
            async for _ in notifications(connection):
                changed.set()
        except _LOST:
            await asyncio.sleep(_BACKOFF[min(failures, len(_BACKOFF) - 1)])
            failures += 1
        finally:
            if connection is not None:
                await close_quietly(connection)
                connection = None


async def _listen(url: URL, session_id: SessionId) -> Connection:
    connection = await open_connection(url)
    try:
        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel_of(session_id))))
    except BaseException:  # cancelled too: the connection has no other owner yet
        await close_quietly(connection)
        raise
    return connection
