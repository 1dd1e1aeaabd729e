"""What is kept of a change that was paid for, while the store does not take it."""

import asyncio
from datetime import datetime

import pytest

from core.domain.errors import StoryEngineError
from core.domain.slot import Slot
from core.engine.decisions import commands
from core.storage.changes import Changes
from core.storage.session_store import Lease
from core.storage.snapshot import Snapshot
from tests.core.rooms.faulty_store import AWAY
from tests.core.rooms.scene import Scene

pytestmark = pytest.mark.anyio


class Paid:
    """Changes of one scene that were paid for: each decision differs from the one before, as new ids do."""

    def __init__(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        self.decided: list[Changes] = []
        self.kept: list[tuple[Changes, int]] = []
        monkeypatch.setattr(scene.store, "keep", self._keep)

    def decide(self, snapshot: Snapshot) -> Changes:
        text = f"{len(self.decided)} of {snapshot.session.title}"
        self.decided.append(commands.save_unsent(snapshot, Slot.RED, text))
        return self.decided[-1]

    async def _keep(self, changes: Changes, epoch: int, since: datetime, *_: Changes) -> None:
        self.kept.append((changes, epoch))


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def paid(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Paid:
    return Paid(scene, monkeypatch)


async def test_a_change_whose_answer_is_awaited_at_the_close_is_kept_as_it_was_sent(
    scene: Scene, paid: Paid, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decided once more it would have other ids, and be stored twice."""
    is_sent = asyncio.Event()

    async def commit(changes: Changes, lease: Lease) -> None:
        is_sent.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(scene.store, "commit", commit)
    under_way = asyncio.create_task(scene.writer.apply_paid(paid.decide))
    await is_sent.wait()
    await scene.writer.aclose(StoryEngineError(AWAY.code))
    await asyncio.wait({under_way})
    assert paid.kept == [(paid.decided[0], 1)]


async def test_a_change_is_kept_for_the_writer_after_the_lock_under_which_it_was_sent(
    scene: Scene, paid: Paid
) -> None:
    scene.lease.lose()
    scene.store.failures = [AWAY]
    await scene.writer.apply_paid(paid.decide)
    assert paid.kept == [(paid.decided[0], 2)]


async def test_a_change_decided_before_another_window_wrote_is_not_kept_as_if_it_were_decided_after(
    scene: Scene, paid: Paid, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    know_recent = scene.writer._know_recent

    async def read() -> None:
        nonlocal reads
        reads += 1
        if reads in (2, 3):
            raise AWAY
        await know_recent()

    monkeypatch.setattr(scene.writer, "_know_recent", read)
    sleep, is_elsewhere = asyncio.sleep, False

    async def write_elsewhere(_: float) -> None:
        nonlocal is_elsewhere
        if not is_elsewhere:
            is_elsewhere = True
            await (await scene.take_elsewhere("Elsewhere")).aclose()
        await sleep(0)

    scene.store.failures = [AWAY]
    with monkeypatch.context() as patched:
        patched.setattr("core.engine.sync.session_writer.asyncio.sleep", write_elsewhere)
        await scene.writer.apply_paid(paid.decide)
    # Of a later lock it would be stored whole, over what the other window wrote.
    assert {epoch for changes, epoch in paid.kept if changes == paid.decided[0]} == {1}
    assert scene.store.snapshot.session.title == "Elsewhere"
