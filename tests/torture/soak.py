"""A soak: prompts by the thousand in one process, one call in twenty fails, and nothing grows.

Memory is measured once the play has warmed up and again at the end; tasks, file descriptors and the
connections that the server counts must be exactly as many as before.
"""

import asyncio
import gc
import os
import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import psycopg

from bench.measure import resident_bytes
from core.domain.errors import ErrorCode, StorageError, StoryEngineError
from core.domain.requests.request import RequestState
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot, slot_after
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import RequestFailed
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from db.store import PostgresStore, open_store
from tests.engine.windows import Outage, create, engine_on, listening, set_up
from tests.store.servers import plain_url
from tests.torture.readers.reader import Reader

SHARE = 0.05
"""How many of the calls, and of the commits, fail."""
MEMORY_BOUND = 1.05
"""Growth of memory that is allowed, between the first fifth and the end: the canon of a chapter is held as
long as it is open, and one block in seven prompts brings some."""
PATIENCE = 60.0
A_MOMENT = 1.0
CODES = (
    ErrorCode.LLM_TIMEOUT,
    ErrorCode.LLM_RATE_LIMITED,
    ErrorCode.LLM_SERVER_ERROR,
    ErrorCode.LLM_AUTH_ERROR,
)
PROMPT = "The tide is on the turn and the lamp is dark. What do you do, and what do you say to the others?"


@dataclass(frozen=True, slots=True)
class Held:
    """Resources of a process at one instant."""

    resident: int
    tasks: int
    descriptors: int
    connections: int


@dataclass(slots=True)
class SoakFigures:
    """Figures of a soak."""

    prompts: int = 0
    model_faults: int = 0
    store_faults: int = 0
    early: Held = Held(0, 0, 0, 0)
    late: Held = Held(0, 0, 0, 0)

    def check(self) -> None:
        """Raise AssertionError when something grew beyond its bound."""
        assert self.late.tasks == self.early.tasks, (self.early, self.late)
        assert self.late.descriptors == self.early.descriptors, (self.early, self.late)
        assert self.late.connections == self.early.connections, (self.early, self.late)
        bound = self.early.resident * MEMORY_BOUND
        assert self.late.resident <= bound, f"{self.late.resident:,} bytes, bound {bound:,.0f}"


class Unreliable(ScriptedProvider):
    """Fails one call in twenty, before or within the answer."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance
        self.faults = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        fails = self._chance.random() < SHARE
        is_late = self._chance.random() < 0.5
        self.faults += fails
        if fails and not is_late:
            raise ProviderError(self._chance.choice(CODES))
        async for item in super().stream(request):
            if fails and isinstance(item, Completion):
                raise ProviderError(self._chance.choice(CODES))
            yield item


async def soak(url: str, prompts: int, seed: int) -> SoakFigures:
    """Play that number of prompts on a server of its own; return what was held early and late."""
    figures, chance = SoakFigures(), random.Random(seed)
    store = await open_store(url)
    outage, model = Outage(store), Unreliable(chance)

    def trouble(_: Changes) -> StorageError | None:
        return StorageError(ErrorCode.STORAGE_SAVE_FAILED) if chance.random() < SHARE else None

    session = await engine_on(outage, model, backoff=0.01).open(await create(store))
    async with listening(session) as ears:
        await set_up(session)
        await _lock(session)
        outage.trouble = trouble
        slot, warm = Slot.RED, max(10, prompts // 5)
        while (index := session.snapshot.session.prompt_index) < prompts:
            await _prompt(session, slot, f"{PROMPT} ({index})")
            slot = slot_after(slot, session.snapshot.session.slots)
            ears.notifications = [one for one in ears.notifications[-50:] if isinstance(one, RequestFailed)]
            if index + 1 == warm:
                figures.early = await _held(session, store, url)
    outage.trouble = lambda _: None
    async with asyncio.timeout(PATIENCE):
        await session.wait_idle()
        async with listening(session):
            figures.late = await _held(session, store, url)
    figures.prompts = prompts
    figures.model_faults, figures.store_faults = model.faults, outage.failures
    await session.aclose()
    await store.aclose()
    assert Reader().check(plain_url(url)) == 0
    return figures


async def _prompt(session: SessionHandle, slot: Slot, text: str) -> None:
    """Send a prompt until its reply is stored, as a patient GM does."""
    index = session.snapshot.session.prompt_index + 1
    async with asyncio.timeout(PATIENCE):
        while session.snapshot.session.prompt_index < index:
            try:
                request = await session.wait(await session.submit_prompt(slot, text, is_typed=False))
            except StoryEngineError:
                continue
            assert request.state in (RequestState.DONE, RequestState.FAILED)


async def _lock(session: SessionHandle) -> None:
    while session.snapshot.session.state is SessionState.DRAFT_TAB1:
        await session.wait(await session.lock())


async def _held(session: SessionHandle, store: PostgresStore, url: str) -> Held:
    """Look when nothing is under way; what only ends a moment later is no leak.

    Two reads at once open all that the pool keeps: play may need its second connection late, or never.
    """
    await session.wait_idle()
    await asyncio.gather(store.chapters.listed(), store.chapters.listed())
    await asyncio.sleep(A_MOMENT)
    gc.collect()
    with psycopg.connect(plain_url(url)) as connection:
        [count] = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'storyengine'"
        ).fetchone() or (0,)
    return Held(resident_bytes(), len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd")), int(count))
