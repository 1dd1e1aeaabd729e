"""Stops and settles all requests of an open session, and then stores a change."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId
from core.engine.sync.session_writer import Decide, SessionWriter
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot

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
            "The call that runs could not be stopped; nothing was reset, try again in a moment."
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
