"""Bringing an open session to rest: all that runs or waits is stopped, then something is stored."""

import asyncio

import pytest

from core.domain.errors import ErrorCode, IllegalCommandError, StorageError
from core.domain.ids import RequestId
from core.domain.requests.request import RequestState
from core.engine.decisions import commands
from core.engine.decisions.tab1_commands import retitle
from core.engine.decisions.transitions import settle
from core.engine.session.reset import apply_when_idle
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from tests.core.rooms.faulty_store import AWAY
from tests.core.rooms.scene import Scene
from tests.core.rooms.simulation import BACKOFF, Simulation, active, failure
from tests.core.values.sessions import NOW

pytestmark = pytest.mark.anyio


async def test_nothing_is_decided_at_rest_while_a_call_is_open_that_was_stored_without_an_answer() -> None:
    simulation = Simulation()
    simulation.set_up()
    scene = Scene(simulation.snapshot)
    scene.store.failures, scene.store.is_late = [AWAY], True
    with pytest.raises(StorageError):
        await scene.writer.apply(lambda snapshot: commands.lock(snapshot, NOW)[0])
    stopped: list[RequestId] = []

    async def stop(request_id: RequestId) -> None:
        stopped.append(request_id)
        request = commands.find_request(scene.writer.snapshot, request_id)
        outcome = failure(ErrorCode.LLM_CANCELLED)
        await scene.writer.apply(
            lambda snapshot: settle(snapshot, request, outcome, CallRecords(), NOW, BACKOFF)
        )

    await apply_when_idle(scene.writer, stop, lambda snapshot: retitle(snapshot, "At rest", NOW))
    assert len(stopped) == 1
    assert [request.state for request in scene.store.snapshot.requests] == [RequestState.FAILED]
    assert scene.store.snapshot.session.title == "At rest"


async def test_what_waits_is_stopped_before_what_runs_and_each_is_settled_before_the_next() -> None:
    simulation = active()
    first, second = simulation.submit("One"), simulation.submit("Two")
    simulation.begin()
    scene = Scene(simulation.snapshot)
    stopped: list[RequestId] = []

    async def stop(request_id: RequestId) -> None:
        stopped.append(request_id)
        request = commands.find_request(scene.writer.snapshot, request_id)
        outcome = failure(ErrorCode.LLM_CANCELLED)

        def settled(snapshot: Snapshot) -> Changes:
            return settle(snapshot, request, outcome, CallRecords(), NOW, BACKOFF)

        waiters.append(asyncio.create_task(scene.writer.apply(settled)))

    waiters: list[asyncio.Task[Changes]] = []
    await apply_when_idle(scene.writer, stop, lambda snapshot: retitle(snapshot, "At rest", NOW))
    assert stopped == [second, first]
    assert all(task.done() for task in waiters)
    assert scene.unsent == "One\n\nTwo"


async def test_a_call_that_cannot_be_stopped_is_told_and_nothing_is_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.engine.session.reset.STOP_TIMEOUT_SECONDS", 0.02)
    simulation = active()
    simulation.submit("One")
    scene = Scene(simulation.snapshot)

    async def does_not_stop(_: RequestId) -> None:
        await asyncio.sleep(0)

    with pytest.raises(IllegalCommandError, match="could not be stopped; nothing was changed"):
        await apply_when_idle(scene.writer, does_not_stop, lambda snapshot: retitle(snapshot, "At rest", NOW))
    assert not scene.store.commits
