"""Waiting for requests of one session to be settled."""

import asyncio
from collections.abc import Iterable

from core.domain.ids import RequestId
from core.domain.requests.request import Request


class CompletionWaiters:
    """The futures of open requests of one session."""

    def __init__(self) -> None:
        self._futures: dict[RequestId, asyncio.Future[Request]] = {}
        self._next: asyncio.Future[None] | None = None
        """Waits for any request; None where nothing waits."""
        self._error: BaseException | None = None

    async def wait(self, request_id: RequestId) -> Request:
        """Return the request once it is settled; raise the error when this window stops settling requests.

        Cancelling one waiter does not affect the others.
        """
        if self._error is not None:
            raise self._error
        loop = asyncio.get_running_loop()
        return await asyncio.shield(self._futures.setdefault(request_id, loop.create_future()))

    async def wait_for_any(self) -> None:
        """Return once the next request is settled; raise as `wait`."""
        if self._error is not None:
            raise self._error
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._next)

    def settle(self, requests: Iterable[Request]) -> None:
        """Resolve the futures of these requests, except those that are still open."""
        for request in requests:
            if request.state.is_open:
                continue
            if future := self._futures.pop(request.id, None):
                future.set_result(request)
            if self._next is not None:
                self._next.set_result(None)
                self._next = None

    def fail(self, error: BaseException) -> None:
        """Fail all current and future waits, because this window settles no more requests."""
        self._error = error
        waiting: list[asyncio.Future[Request] | asyncio.Future[None]] = [*self._futures.values()]
        if self._next is not None:
            waiting.append(self._next)
        for future in waiting:
            future.set_exception(error)
            future.exception()  # Marks it as retrieved: the waiter may have been cancelled.
        self._futures.clear()
        self._next = None

    def reopen(self) -> None:
        """Accept waits again: this window writes or follows from now on."""
        self._error = None
