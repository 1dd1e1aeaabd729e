"""Who waits for a request to be settled, and the promise that nobody waits for ever."""

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

        Cancelling one who waits disturbs nobody else.
        """
        if self._error is not None:
            raise self._error
        loop = asyncio.get_running_loop()
        return await asyncio.shield(self._futures.setdefault(request_id, loop.create_future()))

    def settle(self, requests: Iterable[Request]) -> None:
        """Tell whoever waits for one of these; those that are still open are passed over."""
        for request in requests:
            if not request.state.is_open and (future := self._futures.pop(request.id, None)):
                future.set_result(request)

    def fail(self, error: BaseException) -> None:
        """Tell all who wait, and all who will, that nothing is settled in this window any more."""
        self._error = error
        for future in self._futures.values():
            future.set_exception(error)
            future.exception()  # Whoever waited may be gone; nobody else has to hear of it.
        self._futures.clear()

    def reopen(self) -> None:
        """Settle again: this window writes, or follows, from now on."""
        self._error = None
