"""Restarts the supervisor of the private server when it has ended, as after a full disk or a kill.

The supervisor restarts a lost server; while the program runs, it checks at intervals for a supervisor.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from core.domain.errors import StorageError
from db.embedded.server import EmbeddedServer

INTERVAL: Final = 2.0
"""Seconds between two checks."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def keep_alive(server: EmbeddedServer, every: float = INTERVAL) -> AsyncIterator[None]:
    """Keep an acquired server running inside the block; leave the block before releasing the server."""
    task = asyncio.create_task(_watch(server, every), name="watchdog of the private server")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _watch(server: EmbeddedServer, every: float) -> None:
    logged = ""
    while True:
        await asyncio.sleep(every)
        try:
            if await asyncio.to_thread(server.is_supervised):
                continue
            await server.acquire_async()
        except (StorageError, OSError) as error:
            # The GM sees the store's own error; the log has the reason, once.
            if str(error) != logged:
                log.warning("the private database could not be restarted: %s", error)
            logged = str(error)
        else:
            log.warning("the private database had lost its supervisor and was restarted")
            logged = ""
