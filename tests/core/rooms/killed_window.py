"""A window that ends as a kill ends it."""

import asyncio

from core.engine.session.session_handle import SessionHandle


async def end_as_killed(session: SessionHandle) -> None:
    """End the work of a window and free its lock, without settling what runs."""
    task, lease = session._worker._task, session._writer.lease
    assert task is not None
    assert lease is not None
    task.cancel()
    await asyncio.wait({task})
    await lease.aclose()
    session._writer.lease = None
