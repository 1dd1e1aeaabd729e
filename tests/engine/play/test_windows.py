"""Two windows on one session, and windows that end without a word (design 6)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.errors import ErrorCode, SessionLockedError, StorageError
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import (
    DraftStored,
    EventsAppended,
    MemoryAppended,
    Notification,
    RequestFailed,
    RequestQueued,
    RequestSettled,
    SessionChanged,
    TextArrived,
    UnsentChanged,
    WriterChanged,
    WriterGone,
)
from core.engine.sync.session_tasks import Follower
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from tests.engine.windows import (
    MATCHES,
    Ears,
    GatedModel,
    Late,
    Outage,
    chapter,
    create,
    done,
    end_connections,
    end_writers,
    engine_on,
    failing,
    is_summary,
    listening,
    play,
    play_to_the_end,
    scripted,
    set_up,
    window,
)

pytestmark = pytest.mark.anyio
SECOND = "second window"


async def test_a_second_window_reads_only_and_says_who_writes(store: PostgresStore) -> None:
    async with chapter(store) as session, window(store, None, session.id, label=SECOND) as reader:
        assert reader.is_read_only
        assert reader.holder is not None
        assert reader.holder.label == "first window"
        assert not any(reader.can(command) for command in Command)
        assert not await reader.take_over()


async def test_every_command_of_a_window_that_reads_only_is_refused_and_changes_nothing(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session, window(store, None, session.id, label=SECOND) as reader:
        request = await session.submit_prompt(Slot.RED, "One")
        before = (await store.load(session.id)).session
        for command in (
            lambda: reader.edits.edit_tab1(Tab1Edit(world="Mine")),
            lambda: reader.edits.save_unsent(Slot.RED, "Mine"),
            lambda: reader.edits.retitle("Mine"),
            reader.lock,
            lambda: reader.submit_prompt(Slot.RED, "Mine"),
            lambda: reader.withdraw(request),
            lambda: reader.cancel(request),
            reader.end_chapter,
            lambda: reader.edits.define_narrative("Mine", None),
            lambda: reader.edits.correct_canon("Mine"),
            reader.build_narrative,
            reader.reset,
        ):
            with pytest.raises(SessionLockedError):
                await command()
        await done(session, request)
        after = (await store.load(session.id)).session
        assert (after.title, after.definition) == (before.title, before.definition)


async def test_a_window_that_reads_along_hears_everything_that_the_other_stores(
    store: PostgresStore,
) -> None:
    provider = scripted(failing(RequestKind.REPLY, Fault.SERVER_ERROR))
    async with (
        window(store, provider, await create(store, 2)) as session,
        window(store, None, session.id, label=SECOND) as reader,
        listening(reader) as ears,
    ):
        await set_up(session)
        await done(session, await session.lock())
        await ears.hear(MemoryAppended)
        failed = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        assert (await ears.hear(RequestFailed)).request == failed
        assert (await ears.hear(UnsentChanged, lambda notification: notification.text != "")).text == "One"
        await session.retry(failed.id)
        await ears.hear(EventsAppended)
        await ears.hear(RequestSettled, lambda n: n.request.state is RequestState.DONE)
        await play(session, 1)
        await ears.hear(MemoryAppended, lambda notification: notification.block.last == 2)
        await session.end_chapter()
        await ears.hear_state(SessionState.ENDED)
        await done(session, await session.build_narrative())
        await ears.hear(DraftStored)
        assert [n.events[0].prompt_index for n in ears.all(EventsAppended)] == [1, 2]
        assert len(ears.all(DraftStored)) == 1
        assert reader.snapshot.session == session.snapshot.session


async def test_a_window_that_reads_along_can_wait_for_what_the_other_does(store: PostgresStore) -> None:
    model = GatedModel()
    async with (
        chapter(store, model) as session,
        window(store, None, session.id, label=SECOND) as reader,
        listening(reader) as ears,
    ):
        first = await session.submit_prompt(Slot.RED, "One")
        second = await session.submit_prompt(Slot.RED, "Two")
        await ears.hear(RequestQueued, lambda notification: notification.request.id == second)
        waiting = asyncio.create_task(reader.wait(first))
        await session.withdraw(second)
        model.gate.set()
        assert (await waiting).state is RequestState.DONE
        settled = await ears.hear(RequestSettled, lambda notification: notification.request.id == second)
        assert settled.request.state is RequestState.CANCELLED
        await reader.wait_idle()


@asynccontextmanager
async def read_along(store: PostgresStore) -> AsyncIterator[tuple[SessionHandle, SessionHandle, Ears]]:
    """A chapter that one window plays and a second one reads along, and what the second hears."""
    async with (
        chapter(store) as session,
        window(store, None, session.id, label=SECOND) as reader,
        listening(reader) as ears,
    ):
        yield session, reader, ears


async def test_following_survives_the_loss_of_every_connection(store: PostgresStore, url: str) -> None:
    async with read_along(store) as (session, _, ears):
        await play(session, 1)
        await ears.hear(EventsAppended)
        await asyncio.to_thread(end_connections, url)
        await play(session, 1)
        await ears.hear(EventsAppended, lambda notification: notification.events[0].prompt_index == 2)


async def test_the_second_window_takes_over_when_the_first_is_closed_and_plays_on(
    store: PostgresStore,
) -> None:
    async with read_along(store) as (session, reader, ears):
        await play(session, 1)
        await session.aclose()
        assert await reader.take_over()
        assert (await ears.hear(WriterChanged)).holder is None
        assert not reader.is_read_only
        await play(reader, 1)
        assert (await store.load(session.id)).session.prompt_index == 2
        assert await reader.take_over(), "it writes already"


async def test_a_window_that_reads_along_is_told_when_the_writer_goes_and_who_comes_after_it(
    store: PostgresStore,
) -> None:
    async with read_along(store) as (session, reader, ears):
        assert await reader.look_for_writer() == reader.holder
        await session.aclose()
        assert await reader.look_for_writer() is None
        await ears.hear(WriterGone)
        assert reader.is_read_only, "it is told, and takes nothing"
        assert reader.holder is None
        async with window(store, None, session.id, label="third window"):
            found = await reader.look_for_writer()
            assert found is not None
            assert found.label == "third window"
            assert (await ears.hear(WriterChanged)).holder == found
            await reader.look_for_writer()
        assert len(ears.all(WriterChanged)) == 1, "what stays as it is is no news"


async def test_a_chapter_is_archived_only_by_the_window_that_writes_in_it(store: PostgresStore) -> None:
    async with (
        chapter(store, GatedModel()) as session,
        window(store, None, session.id, label=SECOND) as reader,
    ):
        for archive in (reader.archive, lambda: engine_on(store, label=SECOND).archive(session.id)):
            with pytest.raises(SessionLockedError, match="first window"):
                await archive()
        assert (await store.load(session.id)).session.archived_at is None
        await session.submit_prompt(Slot.RED, "One")
        await session.archive()
        stored = await store.load(session.id)
        assert stored.session.archived_at is not None
        assert stored.unsent == {Slot.RED: "One"}, "what ran is stopped, and given back"


async def test_a_chapter_whose_writer_is_gone_is_archived_from_where_it_was_read(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session, window(store, None, session.id, label=SECOND) as reader:
        await session.aclose()
        await reader.archive()
        assert (await store.load(session.id)).session.archived_at is not None


async def test_taking_over_from_a_window_that_died_gives_back_the_prompt_that_it_had_sent(
    store: PostgresStore, url: str
) -> None:
    model = GatedModel()
    async with (
        chapter(store, model) as session,
        listening(session) as ears,
        window(store, None, session.id, label=SECOND) as reader,
    ):
        await session.submit_prompt(Slot.RED, "One")
        await ears.hear(TextArrived)
        await asyncio.to_thread(end_writers, url)
        assert await reader.take_over()
        assert reader.snapshot.unsent == {Slot.RED: "One"}
        await play(reader, 1)


@pytest.mark.parametrize("kind", list(MATCHES))
async def test_a_session_that_was_left_without_a_word_is_mended_when_it_is_opened(
    store: PostgresStore, url: str, kind: RequestKind
) -> None:
    async with chapter(store, chunk_size=1) as prepared:
        if kind is RequestKind.NARRATIVE:
            await play_to_the_end(prepared, 1)
        session_id = prepared.id if kind is not RequestKind.LOCK else await create(store)
    model = GatedModel(when=is_summary if kind is RequestKind.SUMMARY else lambda _: True)
    async with window(store, model, session_id) as session, listening(session) as ears:
        match kind:
            case RequestKind.LOCK:
                await set_up(session)
                request_id = await session.lock()
            case RequestKind.REPLY:
                request_id = await session.submit_prompt(Slot.RED, "One")
            case RequestKind.SUMMARY:
                await done(session, await session.submit_prompt(Slot.RED, "One"))
                [request_id] = [request.id for request in session.snapshot.requests]
            case RequestKind.NARRATIVE:
                request_id = await session.build_narrative()
        await ears.hear(TextArrived, lambda notification: notification.request_id == request_id)
        await asyncio.to_thread(end_writers, url)
        async with window(store, None, session_id, label=SECOND) as repaired:
            states = {
                RequestKind.LOCK: SessionState.DRAFT_TAB1,
                RequestKind.REPLY: SessionState.ACTIVE,
                RequestKind.SUMMARY: SessionState.ACTIVE,
                RequestKind.NARRATIVE: SessionState.ENDED,
            }
            await repaired.wait_idle()
            assert repaired.snapshot.session.state is states[kind]
            made = await store.calls.artifacts(session_id, request_id=request_id)
            assert len([one for one in made if not one.call]) == 1
            if kind is RequestKind.SUMMARY:
                assert repaired.snapshot.session.boundary == 1, "it was caught up by itself"
            else:
                await done(repaired, await repaired.retry(request_id))


async def test_a_session_that_cannot_be_mended_at_opening_leaves_no_lock_behind(
    store: PostgresStore, url: str
) -> None:
    model = GatedModel()
    outage = Outage(store)
    outage.fail(9, StorageError(ErrorCode.STORAGE_SAVE_FAILED))
    async with chapter(store, model) as session, listening(session) as ears:
        await session.submit_prompt(Slot.RED, "One")
        await ears.hear(TextArrived)
        await asyncio.to_thread(end_writers, url)
        with pytest.raises(StorageError):
            await engine_on(outage, label=SECOND).open(session.id)
        async with window(store, None, session.id, label="third window") as third:
            assert not third.is_read_only


async def test_notices_tell_the_data_before_the_state_that_rests_on_it(store: PostgresStore) -> None:
    async with read_along(store) as (session, _, ears):
        await play(session, 1)
        changed = await ears.hear(SessionChanged, lambda notification: notification.session.prompt_index == 1)
        appended: Notification = await ears.hear(EventsAppended)
        assert ears.notifications.index(appended) < ears.notifications.index(changed)


async def test_what_is_stored_before_following_has_begun_is_heard_all_the_same(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first read and the first LISTEN lies a moment in which the other window may write."""
    late = Late(monkeypatch, Follower, "_follow")
    async with read_along(store) as (session, _, ears):
        await late.arrived.wait()
        await play(session, 1)
        late.gate.set()
        await ears.hear(EventsAppended)
