"""Brings an open session to rest: everything that runs or waits is stopped and settled, then something is
stored."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId
from core.engine.sync.session_writer import Decide, SessionWriter
from core.store import Changes, Snapshot

LONGEST_STOP: Final = 30.0
"""Seconds to wait for the calls that were stopped to be settled."""


class _NotIdleError(Exception):
    """Something runs that the snapshot did not know, or began after everything was stopped."""


async def apply_when_idle(
    writer: SessionWriter, cancel: Callable[[RequestId], Awaitable[None]], decide: Decide
) -> None:
    """Stop everything and store what is decided on a snapshot in which nothing is open.

    A call may be stored whose answer was lost, so that only reading again tells of it; a summary that had
    failed may be due again meanwhile.
    """
    try:
        async with asyncio.timeout(LONGEST_STOP):
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
        # Those that wait first, so that none of them begins when another ends.
        request = max(running, key=lambda request: request.order)
        with suppress(IllegalCommandError):  # It was settled just now.
            await cancel(request.id)
            if any(other.id == request.id for other in writer.snapshot.open_requests):
                await writer.waiters.wait(request.id)
