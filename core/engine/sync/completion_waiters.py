"""Waiting for requests of one session to be settled."""

import asyncio
from collections.abc import Iterable

from core.domain.ids import RequestId
from core.domain.requests.request import Request


class CompletionWaiters:
    """The futures of open requests of one session."""

    def __init__(self) -> None:
        self._futures: dict[RequestId, asyncio.Future[Request]] = {}
        self._error: BaseException | None = None

    async def wait(self, request_id: RequestId) -> Request:
        """Return the request once it is settled; raise the error when this window stops settling requests.

        Cancelling one waiter does not affect the others.
        """
        if self._error is not None:
            raise self._error
        loop = asyncio.get_running_loop()
        return await asyncio.shield(self._futures.setdefault(request_id, loop.create_future()))

    def settle(self, requests: Iterable[Request]) -> None:
        """Resolve the futures of these requests, except those that are still open."""
        for request in requests:
            if not request.state.is_open and (future := self._futures.pop(request.id, None)):
                future.set_result(request)

    def fail(self, error: BaseException) -> None:
        """Fail all current and future waits, because this window settles no more requests."""
        self._error = error
        for future in self._futures.values():
            future.set_exception(error)
            future.exception()  # Marks it as retrieved: the waiter may have been cancelled.
        self._futures.clear()

    def reopen(self) -> None:
        """Accept waits again: this window writes or follows from now on."""
        self._error = None
