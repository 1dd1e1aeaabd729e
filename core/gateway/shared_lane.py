"""The places of an account over all windows of one database, behind those of this window (design 17)."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import Request
from core.storage.queue_store import SharedPlaces

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 2.0
"""Seconds after which a call that waits asks again, in case no window told it of a free place."""


class SharedLane:
    """Lets a call begin only when the account takes it, counting the calls of every window."""

    def __init__(self, account: str, most: int, places: SharedPlaces) -> None:
        self._account, self._most, self._places = account, most, places
        self._free = asyncio.Event()
        self._of_play: set[RequestId] = set()
        """Calls of the play that wait here. Work beside the play does not ask while there is one: it has just
        made room for it, and would have the place again before the database knows who wants it."""
        self._leaving: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Ask again: a place may be free."""
        self._free.set()

    @asynccontextmanager
    async def held(self, request: Request) -> AsyncIterator[None]:
        """Wait for a place, and hold it until the block ends."""
        if not request.spec.is_background:
            self._of_play.add(request.id)
        try:
            try:
                await self._until_taken(request)
            finally:
                self._no_longer_waits(request)
            yield
        finally:
            # In a task of its own: a call that is stopped does not wait for the database.
            task = asyncio.create_task(self._leave(request), name="leave a place")
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def aclose(self) -> None:
        """Wait until all places are left."""
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def _until_taken(self, request: Request) -> None:
        while True:
            self._free.clear()
            try:
                if self._may_ask(request) and await self._places.take_place(
                    self._account, self._most, request
                ):
                    return
            except StoryEngineError as error:
                # Without the database the limit of this window holds alone; that is better than no play.
                log.warning("the places of %s cannot be counted", self._account, exc_info=error)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._free.wait()

    def _may_ask(self, request: Request) -> bool:
        return not (self._of_play and request.spec.is_background)

    def _no_longer_waits(self, request: Request) -> None:
        if request.id in self._of_play:
            self._of_play.remove(request.id)
            self.wake()

    async def _leave(self, request: Request) -> None:
        try:
            await self._places.leave_place(self._account, request)
            self.wake()  # the database tells this window as well, a moment later
        except StoryEngineError as error:
            # The place counts no longer once the request is settled.
            log.warning("a place of %s could not be left", self._account, exc_info=error)
