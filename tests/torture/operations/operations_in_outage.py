"""Two answers that come when the database is gone, as a command of the program that is killed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

import pytest

from core.config.files.paths import find_paths
from core.domain.ids import new_uuid
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from tests.torture.operations.operations_beside import proposed, send


async def _answer_twice(engine: Engine, session: SessionHandle) -> None:
    """Ask for a reply and a proposal, and kill the server when all text of both has come."""
    from tests.torture.kills.dying_program import kill_server

    both = _Both(lambda: kill_server(find_paths().data / "postgres", with_supervisor=True))
    with pytest.MonkeyPatch.context() as patched:
        both.hold(patched)
        async with proposed(session, "A lamp on a sea of glass."):
            await send(session, Slot.RED, f"Who is still there, {new_uuid()}?")
            await asyncio.Event().wait()  # until it is killed


class _Both:
    """Holds up the end of an answer until another one has come as far."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._come = 0
        self._go_on = asyncio.Event()

    def hold(self, patched: pytest.MonkeyPatch) -> None:
        behind = ScriptedProvider.stream

        async def stream(
            provider: ScriptedProvider, request: ModelRequest
        ) -> AsyncGenerator[TextDelta | Completion, None]:
            async for item in behind(provider, request):
                if isinstance(item, Completion):
                    await self._both()
                yield item

        patched.setattr(ScriptedProvider, "stream", stream)

    async def _both(self) -> None:
        self._come += 1
        if self._come == 2:
            await asyncio.to_thread(self._then)
            self._go_on.set()
        await self._go_on.wait()


OPERATIONS_IN_OUTAGE: Final[dict[str, Callable[[Engine, SessionHandle], Awaitable[None]]]] = {
    "answer twice": _answer_twice,
}
