"""A store that goes away: what was paid for is stored once it is back, and nothing is done twice."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from core.domain.errors import ErrorCode, IllegalCommandError, SessionLockedError, StorageError
from core.domain.ids import ArtifactId
from core.domain.requests.request import Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import (
    EventsAppended,
    MemoryAppended,
    StorageRecovered,
    StorageTrouble,
    WriterChanged,
)
from core.engine.sync.session_tasks import LeaseWatch
from core.ledger.sums import cost_text, entries_of, sum_of
from core.storage.changes import Changes
from core.storage.session_store import WriterInfo
from db.store import PostgresStore
from storyengine_tui.screens.calls.inputs.call_rows import calls_of, totals_of
from tests.engine.windows import (
    GatedModel,
    Outage,
    Recorder,
    chapter,
    done,
    end_connections,
    end_writers,
    listening,
    play,
    playable,
    reply_streaming,
    set_up,
    window,
)
from tests.store.servers import plain_url
from tests.torture.readers.reader import check_session

pytestmark = pytest.mark.anyio

AWAY = StorageError(ErrorCode.STORAGE_SAVE_FAILED)
REFUSAL = StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)


def with_reply(changes: Changes) -> bool:
    return bool(changes.events)


@pytest.mark.parametrize("is_late", [False, True], ids=["not stored", "stored, but the answer was lost"])
async def test_a_paid_reply_is_stored_exactly_once_when_the_store_is_back(
    store: PostgresStore, is_late: bool
) -> None:
    outage = Outage(store, is_late=is_late)
    outage.fail(5, AWAY, with_reply)
    model = Recorder()
    session_id = await playable(store)
    async with window(outage, model, session_id) as session, listening(session) as ears:
        await done(session, await session.submit_prompt(Slot.RED, "One"))
        assert outage.failures == 5
        assert len(model.calls) == 1, "it is not paid for twice"
        assert [event.text for event in await store.log(session.id)][::2] == ["One"]
        assert len(ears.all(EventsAppended)) == 1
        assert len(ears.all(StorageTrouble)) == 1
        assert len(ears.all(StorageRecovered)) == 1
        assert len(await store.calls.artifacts(session.id)) == 2, "the lock's and the reply's"
        await play(session, 1)


@pytest.mark.parametrize("is_late", [False, True], ids=["not stored", "stored, but the answer was lost"])
async def test_a_prompt_that_the_store_did_not_confirm_is_sent_once_when_it_is_sent_again(
    store: PostgresStore, is_late: bool
) -> None:
    outage = Outage(store, is_late=is_late)
    outage.fail(1, AWAY)
    model = Recorder()
    session_id = await playable(store)
    async with window(outage, model, session_id) as session:
        with pytest.raises(StorageError):
            await session.submit_prompt(Slot.RED, "One")
        await done(session, await session.submit_prompt(Slot.RED, "One"))
        await session.wait_idle()
        assert len(model.calls) == 1
        assert [event.text for event in await store.log(session.id)][::2] == ["One"]
        assert (await store.load(session.id)).unsent == {}


async def test_a_lock_that_was_stored_without_an_answer_goes_on_and_is_told(store: PostgresStore) -> None:
    outage = Outage(store, is_late=True)
    async with window(outage) as session, listening(session) as ears:
        await set_up(session)
        outage.fail(1, AWAY)
        with pytest.raises(StorageError):
            await session.lock()
        await session.edits.save_unsent(Slot.RED, "anything")
        await ears.hear(MemoryAppended)
        assert session.snapshot.session.state is SessionState.ACTIVE


async def test_a_reset_stops_what_was_stored_without_an_answer_and_puts_the_chapter_away_at_rest(
    store: PostgresStore,
) -> None:
    outage = Outage(store, is_late=True)
    async with window(outage, GatedModel()) as session:
        await set_up(session)
        outage.fail(1, AWAY)
        with pytest.raises(StorageError):
            await session.lock()
        fresh = await session.reset()
        old = (await store.load(session.id)).session
        assert (old.state, old.tab1_locked) == (SessionState.DRAFT_TAB1, False)
        assert old.archived_at is not None
        assert not [one for one in await store.calls.requests(session.id) if one.state.is_open]
    async with window(store, None, session.id) as restored:
        await done(restored, await restored.lock())
    assert (await store.load(fresh)).session.archived_at is None


async def test_a_settlement_that_can_never_be_stored_becomes_a_failure_and_the_session_goes_on(
    store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    outage = Outage(store)
    session_id = await playable(store)
    async with window(outage, None, session_id) as session:
        outage.fail(1, REFUSAL, with_reply)
        with caplog.at_level(logging.ERROR):
            request = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.STORAGE_SAVE_FAILED)
        assert (await store.load(session.id)).unsent == {Slot.RED: "One"}
        [artifact] = await store.calls.artifacts(session.id, request_id=request.id)
        assert artifact.output_ref is not None, "what was paid for is on record"
        assert "could not be settled" in caplog.text
        await done(session, await session.retry(request.id))
        calls = await store.calls.artifacts(session.id, request_id=request.id)
        assert len(calls) == 2, "an answer that the store refused is not used again"


async def test_answers_on_record_whose_outcome_can_never_be_stored_are_not_used_again_for_ever(
    store: PostgresStore, url: str
) -> None:
    """The parts of a chapter are stored as they come: no mark can be put on them afterwards."""
    async with ended_chapter(store) as (outage, session):
        outage.fail(1, REFUSAL, lambda changes: changes.drafts)
        request = await session.wait(await session.build_narrative())
        assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.STORAGE_SAVE_FAILED)
        first = await answered(store, request)
        assert first
        made = await store.calls.artifacts(session.id)
        total = sum_of(entries_of("Dawn", session.snapshot.session, made, ()))
        shown = totals_of(calls_of(made, ()))
        assert len(made) > total.calls == len([one for one in made if one.output_ref]), "a mark is no call"
        assert cost_text(total) == "$0.00 (local)"
        assert shown.startswith(f"{total.calls} calls ·"), shown
        outage.fail(1, REFUSAL, lambda changes: changes.drafts)
        request = await session.wait(await session.retry(request.id))
        assert request.state is RequestState.FAILED
        assert len(await answered(store, request)) == 2 * len(first), "other answers are tried"
        await done(session, await session.retry(request.id))
        assert len(await answered(store, request)) == 3 * len(first)
        assert session.snapshot.draft_count == 1
    with psycopg.connect(plain_url(url)) as connection:
        check_session(connection, session.id, may_be_late=True)


async def test_an_answer_of_an_earlier_attempt_that_the_store_refuses_is_not_used_once_more(
    store: PostgresStore,
) -> None:
    async with ended_chapter(store) as (outage, session):
        # The parts are stored; their attempt ends without a word of why, as after a crash.
        outage.fail(4, REFUSAL, lambda changes: [one for one in changes.requests if not one.state.is_open])
        request = await session.wait(await session.build_narrative())
        first = await answered(store, request)
        outage.fail(1, REFUSAL, lambda changes: changes.drafts)
        request = await session.wait(await session.retry(request.id))
        assert await answered(store, request) == first, "what is on record is used first"
        await done(session, await session.retry(request.id))
        assert len(await answered(store, request)) == 2 * len(first)


@asynccontextmanager
async def ended_chapter(store: PostgresStore) -> AsyncIterator[tuple[Outage, SessionHandle]]:
    """A chapter of one prompt that has ended, and the outage that its window meets when told to."""
    outage = Outage(store)
    async with window(outage, None, await playable(store)) as session:
        await play(session, 1)
        await session.end_chapter()
        await session.wait_idle()
        yield outage, session


async def answered(store: PostgresStore, request: Request) -> list[ArtifactId]:
    """Return the calls of a request that a model has answered."""
    calls = await store.calls.artifacts(request.session_id, request_id=request.id)
    return [one.id for one in calls if one.output_ref]


async def test_not_even_provenance_that_cannot_be_stored_stops_the_session(store: PostgresStore) -> None:
    outage = Outage(store)
    session_id = await playable(store)
    async with window(outage, None, session_id) as session:
        outage.fail(9, REFUSAL, lambda changes: changes.artifacts)
        request = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        assert request.error_code is ErrorCode.STORAGE_SAVE_FAILED
        outage.fail(0, REFUSAL)
        await done(session, await session.retry(request.id))


async def test_a_reply_is_stored_though_every_connection_was_ended_while_it_streamed(
    store: PostgresStore, url: str
) -> None:
    async with reply_streaming(store) as (session, _, request_id, model):
        await asyncio.to_thread(end_connections, url)
        model.gate.set()
        await done(session, request_id)
        assert not session.is_read_only
        await play(session, 1)
        assert len(await store.log(session.id)) == 4


@pytest.fixture
def lock_unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no window look for another writer, as in the second between two looks."""

    async def unnoticed(_: LeaseWatch) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(LeaseWatch, "_run", unnoticed)


@pytest.mark.usefixtures("lock_unwatched")
async def test_a_window_that_lost_its_lock_to_another_for_a_while_goes_on_after_what_that_one_stored(
    store: PostgresStore, url: str
) -> None:
    async with chapter(store) as session:
        await play(session, 1)
        await asyncio.to_thread(end_writers, url)
        async with window(store, None, session.id, label="second window") as other:
            assert not other.is_read_only
            await play(other, 2)
            await other.edits.retitle("Theirs")
        await play(session, 1)
        stored = (await store.load(session.id)).session
        assert (stored.prompt_index, stored.title) == (4, "Theirs")
        assert session.snapshot.session == stored
        assert len(await store.log(session.id)) == 8


@pytest.mark.usefixtures("lock_unwatched")
async def test_an_answer_that_arrives_after_another_window_has_settled_its_prompt_is_kept_on_record(
    store: PostgresStore, url: str
) -> None:
    async with reply_streaming(store) as (session, _, request_id, model):
        await asyncio.to_thread(end_writers, url)
        async with window(store, None, session.id, label="second window") as other:
            assert other.snapshot.unsent == {Slot.RED: "One"}
        model.gate.set()
        request = await session.wait(request_id)
        assert request.error_code is ErrorCode.LLM_CANCELLED, "the other window gave it back"
        await play(session, 1)
        assert len(await store.log(session.id)) == 2, "no reply without its prompt"
        artifacts = await store.calls.artifacts(session.id, request_id=request_id)
        assert sorted(artifact.error_code is None for artifact in artifacts) == [False, True]


async def test_a_window_that_lost_its_lock_for_good_says_so_follows_along_and_can_take_over_again(
    store: PostgresStore, url: str
) -> None:
    async with reply_streaming(store) as (session, ears, request_id, model):
        await asyncio.to_thread(end_writers, url)
        async with window(store, None, session.id, label="second window") as other:
            waiter = asyncio.create_task(session.wait(request_id))
            model.gate.set()
            with pytest.raises(SessionLockedError):
                await waiter
            assert session.is_read_only
            assert session.holder is not None
            assert session.holder.label == "second window"
            with pytest.raises(SessionLockedError):
                await session.submit_prompt(Slot.RED, "Mine")
            await done(other, await other.submit_prompt(Slot.ORANGE, "Theirs"))
            await ears.hear(EventsAppended, lambda notification: notification.events[0].text == "Theirs")
            assert not await session.take_over()
        assert await session.take_over()
        await play(session, 1)
        assert (await store.load(session.id)).session.prompt_index == 2


async def test_our_own_lock_that_the_server_has_not_given_up_yet_is_waited_for(
    store: PostgresStore, url: str
) -> None:
    """After a broken network the server may hold the lock of our lost connection for a while."""
    async with reply_streaming(store, label="this window") as (session, ears, request_id, model):
        await asyncio.to_thread(end_writers, url)
        ghost = await store.acquire(session.id, "this window")
        assert not isinstance(ghost, WriterInfo)
        model.gate.set()
        await ears.hear(StorageTrouble)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.wait(request_id), 0.2)
        await ghost.aclose()
        assert (await session.wait(request_id)).kind is RequestKind.REPLY
        assert not session.is_read_only


async def test_closing_does_not_wait_for_a_store_that_stays_away(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("core.engine.session.open_session.CLOSE_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr("core.engine.queue.worker.Worker.patience", 0.1)
    outage = Outage(store)
    session_id = await playable(store)
    async with window(outage, None, session_id) as session, listening(session) as ears:
        outage.fail(1_000_000, AWAY, with_reply)
        request_id = await session.submit_prompt(Slot.RED, "One")
        waiter = asyncio.create_task(session.wait(request_id))
        await ears.hear(StorageTrouble)
        async with asyncio.timeout(60):
            await session.aclose()
        with pytest.raises(IllegalCommandError, match="closed"):
            await waiter
    assert "repaired at its next opening" in caplog.text
    async with window(store, None, session_id) as session:
        assert session.snapshot.unsent == {Slot.RED: "One"}


async def test_a_window_that_lost_its_lock_says_so_before_it_stores_anything(
    store: PostgresStore, url: str
) -> None:
    async with chapter(store) as session, listening(session) as ears:
        await asyncio.to_thread(end_writers, url)
        async with window(store, None, session.id, label="second window"):
            notification = await ears.hear(WriterChanged)
            assert notification.holder is not None
            assert notification.holder.label == "second window"
            assert session.is_read_only
