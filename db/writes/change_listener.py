"""Follows a session on a LISTEN connection that is reopened after a restart of the server (design 6)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Protocol

import psycopg
from psycopg import sql
from sqlalchemy import URL

from core.domain.ids import SessionId
from db.connections import RawConnection, close_quietly, open_connection
from db.errors import LOAD, guarded
from db.writes.commit_statement import BANK_CHANGED, channel_of

CHANNEL: Final = "storyengine_queue"
"""On it windows tell each other of the queue; every connection that listens or holds a lock hears it."""
_IS_PAUSED: Final = sql.SQL("LISTEN {}; LISTEN {}; SELECT is_paused FROM queue_state")
"""Three statements in one message to the server: a pause that began before is known too."""
_HEARTBEAT: Final = 20.0
"""Seconds without a notification after which the connection is tested."""
_ANSWER: Final = 10.0
_BACKOFF: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_LOST: Final = (psycopg.Error, OSError)


async def notifications(connection: RawConnection) -> AsyncIterator[str]:
    """Yield the payload of every notification; raise psycopg.Error or OSError once the connection is lost."""
    while True:
        async for notification in connection.notifies(timeout=_HEARTBEAT):
            yield notification.payload
        async with asyncio.timeout(_ANSWER):
            await connection.execute("SELECT 1")


class QueueListener(Protocol):
    """Receives messages about the queue while a session is read, or its lock is held."""

    def on_message(self, payload: str) -> None:
        """Pass on a message between windows."""

    def on_message_as_reader(self, payload: str) -> None:
        """Pass on a message between windows as far as it concerns a reader."""

    def on_pause_state(self, *, is_paused: bool) -> None:
        """Pass on whether the queue was paused when listening began."""


class _PendingChange:
    """Messages received since the last look."""

    def __init__(self) -> None:
        self.has_come = asyncio.Event()
        self.of_bank = False

    def put(self, *, of_bank: bool) -> None:
        self.of_bank = self.of_bank or of_bank
        self.has_come.set()

    def collect(self) -> bool:
        """Return whether items of the memory bank changed, and wait for more."""
        self.has_come.clear()
        of_bank, self.of_bank = self.of_bank, False
        return of_bank


@asynccontextmanager
async def follow_session(
    url: URL, session_id: SessionId, queue: QueueListener
) -> AsyncIterator[AsyncIterator[bool]]:
    """Listen from before the block is entered until it is left; see `SessionStore.follow`."""
    pending = _PendingChange()
    async with guarded(LOAD):
        connection = await _listen(url, session_id, queue)
    listening = _keep_listening(url, session_id, connection, pending, queue)
    task = asyncio.create_task(listening, name=f"follow {session_id}")
    try:
        yield _each(pending, task)
    finally:
        task.cancel()
        await asyncio.wait([task])
        await close_quietly(connection)  # a task that is cancelled before it began closes nothing


async def _each(pending: _PendingChange, task: asyncio.Task[None]) -> AsyncIterator[bool]:
    """Yield after each notification; end when the listener ends, raising its exception if it has one."""
    task.add_done_callback(lambda _: pending.put(of_bank=False))
    while True:
        await pending.has_come.wait()
        of_bank = pending.collect()
        if task.done():
            if not task.cancelled():
                task.result()
            return
        yield of_bank


async def _keep_listening(
    url: URL,
    session_id: SessionId,
    connection: RawConnection | None,
    pending: _PendingChange,
    queue: QueueListener,
) -> None:
    """Report every commit, and every new connection: notifications may have been missed before it."""
    failures = 0
    while True:
        try:
            if connection is None:
                async with asyncio.timeout(_ANSWER):
                    connection = await _listen(url, session_id, queue)
                failures = 0
                pending.put(of_bank=True)
            async for payload in notifications(connection):
                if payload and payload != BANK_CHANGED:
                    queue.on_message_as_reader(payload)
                else:
                    pending.put(of_bank=bool(payload))
        except _LOST:
            await asyncio.sleep(_BACKOFF[min(failures, len(_BACKOFF) - 1)])
            failures += 1
        finally:
            if connection is not None:
                await close_quietly(connection)
                connection = None


async def _listen(url: URL, session_id: SessionId, queue: QueueListener) -> RawConnection:
    connection = await open_connection(url)
    try:
        channels = map(sql.Identifier, (channel_of(session_id), CHANNEL))
        cursor = await connection.execute(_IS_PAUSED.format(*channels), prepare=False)
        while cursor.nextset():
            pass
        row = await cursor.fetchone()
        queue.on_pause_state(is_paused=bool(row and row[0]))
    except BaseException:  # cancelled too: the connection has no other owner yet
        await close_quietly(connection)
        raise
    return connection
