"""Archives a chapter that is open, once all its requests are settled, and stores an empty one (design 5)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from core.domain.errors import IllegalCommandError, StoryEngineError
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.session.session_state import SessionState
from core.engine.changes import moves
from core.engine.decisions import commands
from core.engine.sync.notifications import SessionReplaced
from core.engine.sync.session_writer import Decide, SessionWriter
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot

log = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS: Final = 30.0
"""Seconds to wait until stopped calls are settled."""


class _NotIdleError(Exception):
    """A request is open that the snapshot did not have, or that began after all were stopped."""


async def apply_when_idle(
    writer: SessionWriter, cancel: Callable[[RequestId], Awaitable[None]], decide: Decide
) -> None:
    """Stop all requests and store a change that is decided on a snapshot without open ones.

    Retries when a request turns up: one whose commit was not confirmed, or a failed summary that is due
    again.
    """
    try:
        async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
            while True:
                await _stop_everything(writer, cancel)
                with suppress(_NotIdleError):
                    await writer.apply(partial(_decided, decide))
                    return
    except TimeoutError as error:
        raise IllegalCommandError(
            "The call that runs could not be stopped; nothing was changed, try again in a moment."
        ) from error


def _decided(decide: Decide, snapshot: Snapshot) -> Changes:
    if snapshot.open_requests:
        raise _NotIdleError
    return decide(snapshot)


async def _stop_everything(writer: SessionWriter, cancel: Callable[[RequestId], Awaitable[None]]) -> None:
    while running := writer.snapshot.open_requests:
        # Queued ones first, so that none of them begins when another ends.
        request = max(running, key=lambda request: request.order)
        with suppress(IllegalCommandError):  # It was settled just now.
            await cancel(request.id)
            if any(other.id == request.id for other in writer.snapshot.open_requests):
                await writer.waiters.wait(request.id)


async def reset_session(
    writer: SessionWriter,
    apply_when_idle: Callable[[Decide], Awaitable[None]],
    save: Callable[[str], Awaitable[None]],
) -> SessionId:
    """Archive the session of `writer`, store a new one, and return its id.

    `save` creates a save point of it. Raises IllegalCommandError, and StorageError; then the session is as it
    was.
    """
    chapters, clock = writer.store.chapters, writer.clock
    commands.require_resettable(writer.snapshot)
    await apply_when_idle(lambda snapshot: Changes(session_id=snapshot.session.id))
    await save("before the chapter was reset")
    before, is_decided = writer.snapshot.session, False

    def reset(snapshot: Snapshot) -> Changes:
        nonlocal before, is_decided
        commands.require_resettable(snapshot)
        before, is_decided = snapshot.session, True
        return _in_state(snapshot, SessionState.RESETTING, clock())

    try:
        await apply_when_idle(reset)
    except BaseException:  # cancelled too: it may be stored although this does not wait for it any more
        if is_decided:  # a second reset that is refused leaves the first alone
            with _undoing():
                await writer.apply(lambda snapshot: _beginning_undone(snapshot, before.state, clock()))
        raise
    fresh = moves.new_session(clock(), session_id=SessionId(new_uuid()))
    try:
        await chapters.create(fresh)
        # Archived in its state before the reset, so that it can be restored and continued.
        await writer.apply(lambda snapshot: _in_state(snapshot, before.state, clock(), archived_at=clock()))
    except BaseException:  # cancelled too: undo an incomplete reset
        with _undoing():
            await writer.apply(lambda snapshot: _in_state(snapshot, before.state, clock()))
            await chapters.archive(before.id, None)  # archived perhaps, although the store was not heard
            await chapters.archive(fresh.session_id, clock())
            await chapters.purge(fresh.session_id)
        raise
    writer.listeners.publish(SessionReplaced(fresh.session_id))
    return fresh.session_id


@contextmanager
def _undoing() -> Iterator[None]:
    """Log what fails within: the next opening undoes a reset too, and the first error is the one to raise."""
    try:
        yield
    except StoryEngineError:
        log.warning("an incomplete reset could not be undone now", exc_info=True)


def _beginning_undone(snapshot: Snapshot, before: SessionState, now: datetime) -> Changes:
    """Return the change that takes the beginning of a reset back; an empty one where it was not stored."""
    if snapshot.session.state is not SessionState.RESETTING:
        return Changes(session_id=snapshot.session.id)
    return _in_state(snapshot, before, now)


def _in_state(
    snapshot: Snapshot, state: SessionState, now: datetime, *, archived_at: datetime | None = None
) -> Changes:
    session = replace(snapshot.session, state=state, archived_at=archived_at, updated_at=now)
    return Changes(session_id=session.id, session=session)
