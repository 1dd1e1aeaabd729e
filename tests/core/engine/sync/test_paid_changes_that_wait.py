"""What is kept of changes that were paid for, and wait behind one that the store does not take."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from core.domain.errors import ErrorCode, SessionLockedError, StoryEngineError
from core.engine.sync.paid_change import Decide, PaidChange
from core.storage.changes import Changes
from core.storage.session_store import Lease
from core.storage.snapshot import Snapshot
from tests.core.rooms.scene import Scene

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Kept:
    title: str
    epoch: int
    changes: Changes
    after: tuple[Changes, ...]


class Waiting:
    """Three changes, of which each adds a letter to the title of the chapter; the first is being stored."""

    def __init__(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lease, self.snapshot = scene.lease, scene.writer.snapshot
        self.kept: list[Kept] = []
        self.impossible = ""
        """The letter of a change that cannot be decided."""
        monkeypatch.setattr(scene.store, "keep", self._keep)
        self.all: list[PaidChange] = []
        for letter in "abc":
            before = self.all[-1] if self.all else None
            self.all.append(PaidChange(self._adding(letter), scene.store, before))
        self.first, self.second, self.third = self.all
        self.first.begin()
        self.first.epoch = scene.lease.epoch

    def _adding(self, letter: str) -> Decide:
        def decide(snapshot: Snapshot) -> Changes:
            if letter == self.impossible:
                raise StoryEngineError(ErrorCode.LLM_ERROR)
            session = replace(snapshot.session, title=snapshot.session.title + letter)
            return Changes(session_id=session.id, session=session)

        return decide

    async def _keep(self, changes: Changes, epoch: int, since: datetime, *after: Changes) -> None:
        assert changes.session is not None
        self.kept.append(Kept(changes.session.title, epoch, changes, after))

    async def keep_first(self) -> Changes:
        await self.first.keep(self.snapshot)
        return self.kept.pop().changes

    async def keep_waiting(self) -> list[Kept]:
        """Keep those that wait, and return what was kept."""
        self.kept.clear()
        await self.third.keep_waiting(self.snapshot, self.lease)
        return list(self.kept)


@pytest.fixture
def waiting(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Waiting:
    return Waiting(scene, monkeypatch)


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_each_of_several_is_kept_after_those_before_it(waiting: Waiting) -> None:
    first = await waiting.keep_first()
    second, third = await waiting.keep_waiting()
    assert (second.title[-2:], second.after) == ("ab", (first,))
    assert (third.title[-3:], third.after) == ("abc", (first, second.changes))


async def test_what_waits_is_kept_as_it_was_until_what_is_before_it_changes(waiting: Waiting) -> None:
    await waiting.keep_first()
    before = await waiting.keep_waiting()
    assert await waiting.keep_waiting() == before, "with other ids it would be another change"
    session = replace(waiting.snapshot.session, title="Elsewhere, ")
    waiting.snapshot = replace(waiting.snapshot, session=session)
    waiting.first.decided = None
    await waiting.keep_first()
    assert [one.title for one in await waiting.keep_waiting()] == ["Elsewhere, ab", "Elsewhere, abc"]


async def test_what_waits_behind_a_change_that_is_stored_is_not_kept_after_it(waiting: Waiting) -> None:
    await waiting.keep_first()
    waiting.first.has_ended.set()
    second, third = await waiting.keep_waiting()
    assert (second.after, third.after) == ((), (second.changes,))


async def test_what_waited_is_decided_again_when_its_turn_comes(waiting: Waiting) -> None:
    await waiting.keep_first()
    await waiting.keep_waiting()
    waiting.first.has_ended.set()
    waiting.second.begin()
    assert (waiting.second.decided, waiting.second.before) == (None, None), "nothing stored is held"
    await waiting.second.keep(waiting.snapshot)
    assert (waiting.kept[-1].title[-1:], waiting.kept[-1].after) == ("b", ()), "the first is stored"


async def test_what_waits_is_kept_for_the_lock_that_is_held_at_last(scene: Scene, waiting: Waiting) -> None:
    await waiting.keep_first()
    await waiting.keep_waiting()
    waiting.first.is_kept = True
    waiting.first.has_ended.set()
    await waiting.second.keep_after(SessionLockedError(), waiting.snapshot, None)
    assert [one.epoch for one in waiting.kept] == [scene.lease.epoch, scene.lease.epoch, 0]


async def test_one_that_cannot_be_decided_takes_nothing_from_those_beside_it(waiting: Waiting) -> None:
    first = await waiting.keep_first()
    waiting.impossible = "b"
    with pytest.raises(StoryEngineError):
        await waiting.keep_waiting()
    [third] = waiting.kept
    assert (third.title[-2:], third.after) == ("ac", (first,)), "kept as the first it would replace that one"


@pytest.mark.parametrize("turns", [1, 3], ids=["not yet begun", "begun"])
async def test_one_that_cannot_be_decided_at_the_end_takes_nothing_from_those_beside_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    waiting = Waiting(scene, monkeypatch)
    waiting.impossible = "b"

    async def wait_for_ever(changes: Changes, lease: Lease) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(scene.store, "commit", wait_for_ever)
    under_way = [asyncio.create_task(scene.writer.apply_paid(one.decide)) for one in waiting.all]
    for _ in range(turns):
        await asyncio.sleep(0)
    await scene.writer.aclose(StoryEngineError(ErrorCode.STORAGE_SAVE_FAILED))
    await asyncio.gather(*under_way, return_exceptions=True)
    first, third = waiting.kept
    assert (third.title[-2:], third.after) == ("ac", (first.changes,))
