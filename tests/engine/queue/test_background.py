"""Work beside the play: it never moves the session, makes room for the play, and nothing of it is lost."""

from datetime import datetime
from typing import Final

import pytest

from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.requests.request import BackgroundRequest, Request, RequestState
from core.domain.requests.request_kinds import Level, RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.kinds import registry
from core.engine.kinds.base import Job, KindHandler
from core.engine.kinds.outcome import Failed, ReplyMade
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import RequestBegun, RequestFailed, RequestQueued, RequestSettled
from core.gateway.call_records import CallRecords
from core.providers.scripted.script import Fault
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from db.store import PostgresStore
from tests.core.values.sessions import waiting
from tests.engine.windows import (
    CHOICES,
    Ears,
    GatedModel,
    chapter,
    create,
    done,
    engine_at_work,
    failing,
    listening,
    play,
    says,
    scripted,
    set_up,
    window,
)

pytestmark = pytest.mark.anyio
ASKED: Final = "Work beside the play."


class Work(KindHandler[BackgroundRequest, ReplyMade]):
    """Asks a character's model, and keeps the answer in the provenance alone."""

    async def run(self, job: Job, request: BackgroundRequest) -> tuple[ReplyMade | Failed, CallRecords]:
        context = job.builder.character(job.snapshot.known_to(Slot.RED), request.text)
        result = await job.calls.make(context)
        if result.error is not None:
            return Failed(result.error, result.retry_after), result.call_records
        return ReplyMade(result.text), result.call_records

    def settle(self, snapshot: Snapshot, done: BackgroundRequest, made: ReplyMade, now: datetime) -> Changes:
        return Changes(session_id=snapshot.session.id, requests=(done,))

    def is_done(self, request: BackgroundRequest, changes: Changes) -> bool:
        return True


@pytest.fixture(autouse=True)
def work_as_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kind be carried out by the handler above, whatever the program's own does."""
    monkeypatch.setattr(registry, "_HANDLERS", {**registry._HANDLERS, RequestKind.ASSIST: Work()})


def work(session_id: SessionId, text: str = ASKED, priority: int = Level.NORMAL.first) -> BackgroundRequest:
    now = utc_now()
    return BackgroundRequest(
        kind=RequestKind.ASSIST,
        id=RequestId(new_uuid()),
        session_id=session_id,
        text=text,
        priority=priority,
        created_at=now,
        updated_at=now,
    )


async def add(session: SessionHandle, text: str = ASKED) -> RequestId:
    request = work(session.id, text)
    await session.background.add(request)
    return request.id


async def begin(session: SessionHandle, ears: Ears) -> RequestId:
    """Add such work, and wait until it has begun."""
    request_id = await add(session)
    await ears.hear(RequestBegun, lambda notice: notice.request.id == request_id)
    return request_id


async def stored(store: PostgresStore, session: SessionHandle, request_id: RequestId) -> Request:
    return next(one for one in await store.calls.requests(session.id) if one.id == request_id)


async def test_work_is_done_beside_the_play_and_leaves_the_session_as_it_is(store: PostgresStore) -> None:
    async with chapter(store) as session:
        before = session.snapshot.session
        request_id = await add(session)
        settled = await session.wait(request_id)
        assert (settled.state, settled.attempts) == (RequestState.DONE, 1)
        assert session.snapshot.session == before
        assert len(await store.calls.artifacts(session.id, request_id=request_id)) == 1


async def test_a_session_without_work_beside_the_play_has_no_task_for_it(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await play(session, 1)
        assert session.background._task is None


async def test_a_prompt_is_answered_while_work_beside_the_play_goes_on_at_another_place(
    store: PostgresStore,
) -> None:
    model = GatedModel(when=says(ASKED))
    async with chapter(store, model) as session, listening(session) as ears:
        request_id = await begin(session, ears)
        await done(session, await session.submit_prompt(Slot.RED, "And you?"))
        assert session.snapshot.background[0].state is RequestState.PROCESSING
        model.gate.set()
        assert (await session.wait(request_id)).state is RequestState.DONE


async def test_work_makes_room_for_a_prompt_and_is_taken_up_again(store: PostgresStore) -> None:
    model = GatedModel(when=says(ASKED))
    session_id = await create(store)
    async with window(store, session_id=session_id) as session:
        await set_up(session)
        await done(session, await session.lock())
    session = await engine_at_work(store, model, waiting(3600.0)).open(session_id)
    async with listening(session) as ears:
        request_id = await begin(session, ears)
        await done(session, await session.submit_prompt(Slot.RED, "And you?"))
        model.gate.set()
        settled = await session.wait(request_id)
    put_back = [n for n in ears.all(RequestQueued) if n.request.id == request_id]
    assert len(put_back) == 2, "queued, and put back once"
    artifacts = await store.calls.artifacts(session_id, request_id=request_id)
    assert settled.state is RequestState.DONE
    assert settled.attempts == len(artifacts) <= 2
    await session.aclose()


async def test_work_that_runs_when_the_chapter_is_closed_is_done_when_it_is_opened_again(
    store: PostgresStore,
) -> None:
    model = GatedModel(when=says(ASKED))
    async with chapter(store, model) as session, listening(session) as ears:
        request_id = await begin(session, ears)
    assert (await stored(store, session, request_id)).state is RequestState.PENDING
    async with window(store, session_id=session.id) as again:
        if any(one.id == request_id for one in again.snapshot.background):
            await again.wait(request_id)
        assert (await stored(store, again, request_id)).state is RequestState.DONE


async def test_work_is_tried_again_by_itself_and_is_dead_after_its_tries(store: PostgresStore) -> None:
    soon = waiting(3600.0, background=0.001, tries=3)
    session_id = await create(store)
    async with window(store, session_id=session_id) as session:
        await set_up(session)
        await done(session, await session.lock())
    broken = scripted(failing(RequestKind.REPLY, Fault.SERVER_ERROR, times=None))
    session = await Engine(store, broken, CHOICES, label="here", play=soon).open(session_id)
    async with listening(session) as ears:
        request_id = await add(session)
        failed = await ears.hear(RequestFailed, lambda notice: notice.request.id == request_id)
        assert (failed.request.state, failed.request.attempts) == (RequestState.DEAD, 3)
        assert failed.request.error_code is ErrorCode.LLM_SERVER_ERROR
        assert session.snapshot.session.state is SessionState.ACTIVE
    await session.aclose()
    async with window(store, session_id=session_id) as again:
        assert (await stored(store, again, request_id)).state is RequestState.DEAD, "nothing takes it up"
        await again.retry(request_id)
        assert (await again.wait(request_id)).state is RequestState.DONE


async def test_work_that_the_gm_stops_has_failed_and_work_that_waits_is_given_up(
    store: PostgresStore,
) -> None:
    model = GatedModel(when=says(ASKED))
    async with chapter(store, model) as session, listening(session) as ears:
        running = await begin(session, ears)
        queued = await add(session, f"{ASKED} Later.")
        await session.cancel(queued)
        await ears.hear(RequestSettled, lambda notice: notice.request.id == queued)
        await session.cancel(running)
        stopped = await ears.hear(RequestFailed, lambda notice: notice.request.id == running)
        assert (stopped.request.state, stopped.request.error_code) == (
            RequestState.FAILED,
            ErrorCode.LLM_CANCELLED,
        )
        assert (await stored(store, session, queued)).state is RequestState.CANCELLED
        await session.cancel(running)
        assert (await stored(store, session, running)).state is RequestState.CANCELLED
        with pytest.raises(IllegalCommandError):
            await session.cancel(running)


async def test_the_most_urgent_work_goes_first_and_the_oldest_among_equals(store: PostgresStore) -> None:
    model = GatedModel(when=says(ASKED))
    async with chapter(store, model) as session, listening(session) as ears:
        first = await begin(session, ears)
        low, normal, last = (
            work(session.id, f"{ASKED} {name}", level.first)
            for name, level in (("low", Level.LOW), ("normal", Level.NORMAL), ("last", Level.NORMAL))
        )
        for request in (low, normal, last):
            await session.background.add(request)
        model.gate.set()
        for request in (low, normal, last):
            await session.wait(request.id)
        begun = [n.request.id for n in ears.all(RequestBegun) if isinstance(n.request, BackgroundRequest)]
        assert begun == [first, normal.id, last.id, low.id]
