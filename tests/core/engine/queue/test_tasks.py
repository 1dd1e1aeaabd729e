"""The tasks of an open session: each runs once, however often it is started, and ends when it is closed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest

from core.agents.context_builder import ContextBuilder
from core.domain.requests.retry_policy import Backoffs
from core.engine.queue.control import QueueSwitch
from core.engine.queue.jobs import JobFactory
from core.engine.queue.worker import RequestWorker
from core.engine.recall.reading import BankReader
from core.engine.services.save_points.auto_save import AutoSaver
from core.engine.services.save_points.save_points import SavePoints
from core.engine.sync.notifications import WriterChanged
from core.engine.sync.session_tasks import Follower, LeaseWatch
from core.gateway.embedding_service import EmbeddingService
from core.gateway.model_gateway import ModelGateway
from core.providers.scripted.provider import ScriptedProvider
from tests.core.rooms.scene import ELSEWHERE, Scene
from tests.core.values.sessions import NOW, choices

pytestmark = pytest.mark.anyio


class Task(Protocol):
    """What all of them have."""

    def start(self) -> None:
        """Begin."""

    def aclose(self) -> Awaitable[None]:
        """End."""


def worker(scene: Scene) -> RequestWorker:
    made = choices()
    gateway = ModelGateway(ScriptedProvider(), made, None, lambda: NOW)
    bank = BankReader(scene.store.bank)
    embeddings = EmbeddingService(gateway, None, lambda: NOW)
    builder, save = ContextBuilder(made), scene.writer.apply_patiently
    jobs = JobFactory(scene.store, gateway, builder, save, bank, embeddings)
    return RequestWorker(scene.writer, jobs, Backoffs(), QueueSwitch())


TASKS: dict[str, Callable[[Scene], Task]] = {
    "follower": lambda scene: Follower(scene.writer),
    "lease watch": lambda scene: LeaseWatch(scene.writer, worker(scene).learn_pause),
    "save points": lambda scene: AutoSaver(scene.writer, SavePoints(scene.store, lambda: NOW)),
    "request worker": worker,
}


def running(name: str) -> int:
    return sum(task.get_name() == name for task in asyncio.all_tasks())


@pytest.mark.parametrize("name", TASKS)
async def test_a_task_that_runs_is_not_started_twice_and_ends_when_it_is_closed(name: str) -> None:
    scene = Scene()
    await TASKS[name](scene).aclose()  # one that was never started
    task = TASKS[name](scene)
    task.start()
    task.start()
    await asyncio.sleep(0)
    assert running(name) == 1
    scene.heard.close()
    await task.aclose()
    assert running(name) == 0


@pytest.mark.parametrize("name", ["follower", "lease watch"])
async def test_a_window_that_changes_between_writing_and_reading_starts_its_tasks_again(name: str) -> None:
    scene = Scene()
    task = TASKS[name](scene)
    task.start()
    await task.aclose()
    task.start()
    await asyncio.sleep(0)
    assert running(name) == 1
    await task.aclose()


async def test_the_loss_of_the_lock_is_told_as_soon_as_another_window_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.engine.sync.session_tasks.POLL_SECONDS", 0.0)
    scene = Scene()
    watch = LeaseWatch(scene.writer, worker(scene).learn_pause)
    watch.start()
    scene.lease.lose()
    for _ in range(5):
        await asyncio.sleep(0)
    assert scene.writer.lease is scene.lease, "nobody else writes: the next change takes the lock again"
    scene.store.seize(ELSEWHERE)
    async with asyncio.timeout(60):
        while running("lease watch"):
            await asyncio.wait({task for task in asyncio.all_tasks() if task.get_name() == "lease watch"})
    assert scene.heard.count(WriterChanged) == 1
    assert scene.writer.lease is None
