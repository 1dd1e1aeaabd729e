"""Stores what files keep of chapters that are not open, before these are read, copied or counted."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import Final

from core.domain.errors import StoryEngineError
from core.storage.session_store import WriterInfo
from db.connections import open_engine, parse_url
from db.errors import LOAD, guarded
from db.schema.migrate import is_current
from db.store import PostgresStore
from db.writes.unstored import chapters_in

log = logging.getLogger(__name__)

_WHAT: Final = "which stores what was kept"
_LONGEST: Final = 5.0
"""Seconds that a start may take longer for it; the rest is stored once its chapter is opened."""


async def store_kept(store: PostgresStore, folder: Path, label: str) -> None:
    """Store what is kept in `folder`, except for chapters of other windows.

    Nothing is raised: a file that cannot be stored now waits, for the next start or its chapter's opening.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST):
            for session_id in await asyncio.to_thread(chapters_in, folder):
                try:
                    lease = await store.acquire(session_id, f"{label}, {_WHAT}", is_window=False)
                except StoryEngineError as error:  # also where it is a chapter of another database
                    log.info("what is kept of chapter %s waits: %s", session_id, error)
                    continue
                if not isinstance(lease, WriterInfo):
                    await lease.aclose()


async def store_kept_before_copy(url: str, folder: Path, label: str) -> None:
    """Do so in a database that is about to be copied; one of an older schema is left as it is."""
    if not await asyncio.to_thread(chapters_in, folder):
        return
    parsed = parse_url(url)
    store = PostgresStore(parsed, engine := open_engine(parsed), folder)
    try:
        async with guarded(LOAD):
            has_this_schema = await is_current(engine)
        if has_this_schema:
            await store_kept(store, folder, label)
    finally:
        await store.aclose()
