"""Brings the private server back where its supervisor is gone too, as after a full disk or a kill of both.

The supervisor restarts a lost server. The supervisor itself is restarted by the program: as
long as it runs, it looks now and then whether there is one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from core.domain.errors import StorageError
from db.embedded.server import EmbeddedServer

INTERVAL: Final = 2.0
"""Seconds between two looks."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def keep_alive(server: EmbeddedServer, every: float = INTERVAL) -> AsyncIterator[None]:
    """Keep a server that was acquired for the length of the block; end before it is released."""
    task = asyncio.create_task(_keep(server, every), name="keeper of the private server")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _keep(server: EmbeddedServer, every: float) -> None:
    said = ""
    while True:
        await asyncio.sleep(every)
        if await asyncio.to_thread(server.is_supervised):
            continue
        try:
            await server.acquire_async()
        except StorageError as error:
            # What the GM is told is what the store says; the log has the reason, once.
            if str(error) != said:
                log.warning("the private database could not be started again: %s", error)
            said = str(error)
        else:
            log.warning("the private database had lost its supervisor and was started again")
            said = ""
