"""A chapter that is closed while something else begins: nothing of it runs behind the close."""

import asyncio

import pytest

from core.domain.errors import ErrorCode, SessionLockedError, StorageError
from core.domain.ids import SessionId
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.engine.queue.background import BackgroundWorker
from core.engine.services.save_points.auto_save import AutoSaver
from core.engine.sync.notifications import StorageRecovered
from core.gateway.cashier import Cashier
from core.storage.session_store import Lease, WriterInfo
from core.storage.snapshot import Snapshot
from tests.engine.windows import GatedModel, Late, done, engine_on, is_summary, listening, play, playable
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


async def test_what_a_summary_asks_for_while_its_chapter_is_closed_waits_for_the_next_opening(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, model = MemoryStore(), GatedModel()
    model.gate.set()
    session = await engine_on(store, model).open(await playable(store, chunk_size=2))
    await session.keeping.keep(is_on=True)
    await play(session, 1)
    counting = Late(monkeypatch, Cashier, "cost", after=1)  # of the reply; the next one is the summary's
    await done(session, await session.submit_prompt(Slot.RED, "And then?"))
    await counting.arrived.wait()
    has_ended, end = asyncio.Event(), BackgroundWorker.aclose

    async def end_and_tell(worker: BackgroundWorker) -> None:
        await end(worker)
        has_ended.set()

    monkeypatch.setattr(BackgroundWorker, "aclose", end_and_tell)
    closing = asyncio.create_task(session.aclose())
    await has_ended.wait()
    counting.gate.set()
    await closing
    assert is_summary(model.calls[-1]), "no model is called for a chapter that is closed"
    assert not session.background.is_running
    drawn = (await store.calls.requests(session.id))[-1]
    assert (drawn.kind, drawn.attempts) == (RequestKind.EXTRACTION, 0)


class SlowToAcquire(MemoryStore):
    """A store whose lock is given late, to those who ask for it a second time."""

    def __init__(self, database: MemoryDatabase) -> None:
        super().__init__(database)
        self.has_come, self.goes_on = asyncio.Event(), asyncio.Event()
        self._times = 0

    async def acquire(self, session_id: SessionId, label: str) -> Lease | WriterInfo:
        acquired = await super().acquire(session_id, label)
        self._times += 1
        if self._times > 1:
            self.has_come.set()
            await self.goes_on.wait()
        return acquired


async def test_a_chapter_that_is_closed_while_its_window_takes_over_has_no_writer() -> None:
    database = MemoryDatabase()
    session_id = await playable(MemoryStore(database))
    writing = await engine_on(MemoryStore(database)).open(session_id)
    slow = SlowToAcquire(database)
    reading = await engine_on(slow, label="second window").open(session_id)
    await writing.aclose()
    taking = asyncio.create_task(reading.take_over())
    await slow.has_come.wait()
    closing = asyncio.create_task(reading.aclose())
    await asyncio.sleep(0)
    slow.goes_on.set()
    await asyncio.gather(taking, closing)
    assert not reading._worker.is_running
    assert not reading._follower.is_running
    assert await slow.writer_of(session_id) is None
    assert not await reading.take_over(), "it is closed"


async def test_a_window_that_loses_its_chapter_to_another_while_it_is_closed_follows_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = MemoryDatabase()
    store = MemoryStore(database)
    session = await engine_on(store).open(await playable(store))
    behind = AutoSaver.aclose

    async def lose_the_lock(saver: AutoSaver) -> None:
        await behind(saver)
        MemoryStore(database).take(session.id, "second window")
        with pytest.raises(SessionLockedError):
            await session.edits.retitle("The Lamp")

    monkeypatch.setattr(AutoSaver, "aclose", lose_the_lock)
    await session.aclose()
    assert not session._follower.is_running


class OnceAway(MemoryStore):
    """A store that cannot be reached for the first reading behind the opening of a chapter."""

    def __init__(self, database: MemoryDatabase) -> None:
        super().__init__(database)
        self._times = 0

    async def load(self, session_id: SessionId, *, recent_prompts: int = 0) -> Snapshot:
        self._times += 1
        if self._times == 2:
            raise StorageError(ErrorCode.STORAGE_LOAD_FAILED)
        return await super().load(session_id, recent_prompts=recent_prompts)


async def test_a_window_that_reads_along_says_when_the_store_is_back() -> None:
    database = MemoryDatabase()
    session_id = await playable(MemoryStore(database))
    writing = await engine_on(MemoryStore(database)).open(session_id)
    reading = await engine_on(OnceAway(database), label="second window").open(session_id)
    async with listening(reading) as ears:
        await ears.hear(StorageRecovered)
    await reading.aclose()
    await writing.aclose()
