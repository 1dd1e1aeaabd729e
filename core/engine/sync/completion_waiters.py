"""Futures of callers that wait for a request to be settled; each is resolved or failed."""

import asyncio
from collections.abc import Iterable

from core.domain.ids import RequestId
from core.domain.request import Request


class CompletionWaiters:
    """Futures of requests that are open in this window."""

    def __init__(self) -> None:
        self._futures: dict[RequestId, asyncio.Future[Request]] = {}
        self._error: BaseException | None = None

    async def wait(self, request_id: RequestId) -> Request:
        """Return the request once it is settled; raise why it never will be in this window.

        Cancelling one waiter does not affect the others.
        """
        if self._error is not None:
            raise self._error
        loop = asyncio.get_running_loop()
        return await asyncio.shield(self._futures.setdefault(request_id, loop.create_future()))

    def settle(self, requests: Iterable[Request]) -> None:
        """Resolve the waiters of these requests; requests that are still open are skipped."""
        for request in requests:
            if not request.state.is_open and (future := self._futures.pop(request.id, None)):
                future.set_result(request)

    def fail(self, error: BaseException) -> None:
        """Tell all who wait, and all who will, that nothing is settled in this window any more."""
        self._error = error
        for future in self._futures.values():
            future.set_exception(error)
            future.exception()  # The waiter may be gone; its error needs no other reader.
        self._futures.clear()

    def reopen(self) -> None:
        """Settle again: this window writes, or follows, from now on."""
        self._error = None
