"""Follows a session that another window writes, by reading what is new after each of its commits."""

import asyncio
import logging

from core.engine.notices import DraftStored, EventsAppended, MemoryAppended, SessionChanged, StorageTrouble
from core.engine.writing import Writer
from core.errors import StorageError
from core.store import Store

log = logging.getLogger(__name__)


class Follower:
    """One task that reads along; it tells the listeners what changed and never writes."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to follow."""
        self._task = asyncio.create_task(self._follow(), name="follower")

    async def aclose(self) -> None:
        """Stop following."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled() and (error := self._task.exception()):
            log.error("the follower ended with an error", exc_info=error)
        self._task = None

    async def _follow(self) -> None:
        async with self._store.follow(self._writer.snapshot.session.id) as commits:
            # What was stored between the first read and the start of listening.
            await self._catch_up()
            async for _ in commits:
                await self._catch_up()

    async def _catch_up(self) -> None:
        try:
            await self._read_new()
        except StorageError as error:
            self._writer.listeners.publish(StorageTrouble(error))

    async def _read_new(self) -> None:
        before = self._writer.snapshot
        now = await self._store.load(before.session.id)
        listeners = self._writer.listeners
        if now.session.prompt_index > before.session.prompt_index:
            first = before.session.prompt_index + 1
            events = await self._store.events(now.session.id, first=first, last=now.session.prompt_index)
            listeners.publish(EventsAppended(tuple(events)))
        known = {block.id for block in before.blocks}
        listeners.publish(*(MemoryAppended(block) for block in now.blocks if block.id not in known))
        if now.draft_count > before.draft_count:
            drafts = await self._store.drafts(now.session.id)
            listeners.publish(*(DraftStored(draft) for draft in drafts[before.draft_count :]))
        self._writer.snapshot = now
        if now.session != before.session:
            listeners.publish(SessionChanged(now.session))
