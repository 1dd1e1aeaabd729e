"""Parts that the benchmarks of playing share: a provider that counts its own seconds, and the other work."""

import time
from collections.abc import AsyncGenerator, Coroutine

from core.domain.ids import RequestId
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.session.session_handle import SessionHandle
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider

PROMPT = "The tide is on the turn and the lamp is dark. What do you do, and what do you say to the others?"


class TimedProvider(ScriptedProvider):
    """The scripted provider, with a count of the seconds spent inside it."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Stream as the scripted provider does."""
        items = super().stream(request)
        while True:
            began = time.perf_counter()
            try:
                item = await anext(items)
            except StopAsyncIteration:
                return
            finally:
                self.seconds += time.perf_counter() - began
            yield item


async def lock_chapter(session: SessionHandle) -> None:
    """Lock tab 1 of a chapter with three characters."""
    await session.edits.edit_tab1(
        Tab1Edit(world="A drowned coast.", chapter="A lamp goes out.", character_count=3)
    )
    await session.wait(await session.lock())


async def work_of(
    session: SessionHandle, provider: TimedProvider, asking: Coroutine[object, object, RequestId]
) -> float:
    """Return the engine's seconds from asking to settled: those inside the provider are not among them."""
    inside = provider.seconds
    began = time.perf_counter()
    await session.wait(await asking)
    return time.perf_counter() - began - (provider.seconds - inside)
