"""Prompts on their way: queued, taken back, stopped, and whatever else happens to them meanwhile."""

import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest

from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.ids import RequestId, new_uuid
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.queue.worker import RequestWorker
from core.engine.sync.notifications import (
    CallStarted,
    EventsAppended,
    MemoryAppended,
    Notification,
    RequestBegun,
    RequestFailed,
    RequestQueued,
    RequestSettled,
    SessionChanged,
    SessionReplaced,
    TextArrived,
    UnsentChanged,
)
from core.engine.sync.session_writer import SessionWriter
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from tests.engine.windows import (
    GatedModel,
    Late,
    Recorder,
    chapter,
    done,
    failing,
    is_summary,
    listening,
    play,
    says,
    scripted,
    set_up,
    streaming,
    window,
)

pytestmark = pytest.mark.anyio


async def test_a_prompt_streams_and_is_heard_in_the_order_in_which_things_became_true(
    store: PostgresStore,
) -> None:
    async with chapter(store, chunk_size=1) as session, listening(session) as ears:
        await done(session, await session.submit_prompt(Slot.RED, "Who goes there?"))
        await ears.hear(MemoryAppended)
        [events] = ears.all(EventsAppended)
        reply = events.events[1].text
        first_call = ears.all(CallStarted)[0]
        streamed = [n.text for n in ears.all(TextArrived) if n.request_id == first_call.request.id]
        assert "".join(streamed).strip() == reply
        order = [
            type(notification)
            for notification in ears.notifications
            if not isinstance(notification, TextArrived)
        ]
        at = order.index(EventsAppended)
        assert order[at : at + 6] == [
            EventsAppended,
            SessionChanged,
            RequestSettled,
            RequestQueued,
            RequestBegun,
            CallStarted,
        ]


async def test_what_a_listener_hears_is_stored_already(store: PostgresStore) -> None:
    async with chapter(store) as session, listening(session) as ears:
        await session.submit_prompt(Slot.RED, "Who goes there?")
        heard = await ears.hear(EventsAppended)
        assert tuple(await store.log(session.id)) == heard.events
        assert session.snapshot.session.prompt_index == 1


async def test_a_prompt_submitted_while_a_summary_runs_is_queued_and_sent_when_it_settles(
    store: PostgresStore,
) -> None:
    model = GatedModel(when=is_summary)
    async with chapter(store, model, chunk_size=1) as session, listening(session) as ears:
        await done(session, await session.submit_prompt(Slot.RED, "One"))
        second = await session.submit_prompt(Slot.ORANGE, "Two")
        queued = await ears.hear(RequestQueued, lambda notification: notification.request.id == second)
        assert queued.request.state is RequestState.PENDING
        assert session.snapshot.session.state is SessionState.SUMMARIZING
        model.gate.set()
        await done(session, second)
        summarised = await ears.hear(MemoryAppended)
        started = await ears.hear(CallStarted, lambda notification: notification.request.id == second)
        assert ears.notifications.index(summarised) < ears.notifications.index(started)


async def test_prompts_are_answered_in_the_order_in_which_they_were_sent(store: PostgresStore) -> None:
    model = GatedModel()
    async with chapter(store, model) as session:
        requests = [await session.submit_prompt(Slot.RED, text) for text in ("One", "Two", "Three")]
        model.gate.set()
        for request in requests:
            await done(session, request)
        told = [event.text for event in await store.log(session.id) if event.ordinal == 0]
        assert told == ["One", "Two", "Three"]


async def test_a_queued_prompt_that_is_taken_back_is_never_sent(store: PostgresStore) -> None:
    model = GatedModel()
    async with chapter(store, model) as session:
        first = await session.submit_prompt(Slot.RED, "One")
        second = await session.submit_prompt(Slot.ORANGE, "Two")
        await session.cancel(second)
        assert (await store.load(session.id)).unsent == {Slot.ORANGE: "Two"}
        assert (await session.wait(second)).state is RequestState.CANCELLED
        model.gate.set()
        await done(session, first)
        await session.wait_idle()
        assert len(model.calls) == 1


async def test_a_prompt_that_is_stopped_mid_stream_fails_with_its_text_in_the_composer(
    store: PostgresStore,
) -> None:
    async with chapter(store, GatedModel()) as session, listening(session) as ears:
        request_id = await streaming(session, ears)
        await session.cancel(request_id)
        request = await session.wait(request_id)
        assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.LLM_CANCELLED)
        assert (await ears.hear(UnsentChanged)).text == "One"
        assert (await ears.hear(RequestFailed)).error.code is ErrorCode.LLM_CANCELLED
        [artifact] = await store.calls.artifacts(session.id, request_id=request_id)
        assert artifact.error_code is ErrorCode.LLM_CANCELLED
        assert artifact.output_ref is not None, "what had come in is on record"
        assert (await store.load(session.id)).session.prompt_index == 0


async def test_a_prompt_that_is_stopped_the_moment_it_is_sent_is_stopped(store: PostgresStore) -> None:
    async with chapter(store, GatedModel()) as session:
        request_id = await session.submit_prompt(Slot.RED, "One")
        await session.cancel(request_id)
        assert (await session.wait(request_id)).error_code is ErrorCode.LLM_CANCELLED
        assert (await store.load(session.id)).unsent == {Slot.RED: "One"}


async def test_a_prompt_that_is_stopped_before_it_reached_the_model_never_reaches_it(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        late = Late(monkeypatch, RequestWorker, "_work")
        request_id = await session.submit_prompt(Slot.RED, "One")
        await session.cancel(request_id)
        late.gate.set()
        assert (await session.wait(request_id)).error_code is ErrorCode.LLM_CANCELLED
        assert model.calls == []
        await done(session, await session.retry(request_id))


async def test_a_prompt_that_is_taken_back_in_the_moment_in_which_its_turn_comes_is_not_sent(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = GatedModel()
    async with chapter(store, model) as session, listening(session) as ears:
        await session.submit_prompt(Slot.RED, "One")
        second = await session.submit_prompt(Slot.RED, "Two")
        await ears.hear(TextArrived)
        late = Late(monkeypatch, SessionWriter, "apply_patiently")  # Before the second one begins.
        model.gate.set()
        await late.arrived.wait()
        await session.withdraw(second)
        late.gate.set()
        await session.wait_idle()
        assert len(model.calls) == 1
        assert len(await store.log(session.id)) == 2
        assert (await store.load(session.id)).unsent == {Slot.RED: "Two"}
        await play(session, 1)


async def test_a_lock_that_is_stopped_returns_to_the_draft(store: PostgresStore) -> None:
    async with window(store, GatedModel()) as session, listening(session) as ears:
        await set_up(session)
        request_id = await session.lock()
        await ears.hear(TextArrived)
        await session.cancel(request_id)
        assert (await session.wait(request_id)).error_code is ErrorCode.LLM_CANCELLED
        assert session.snapshot.session.state is SessionState.DRAFT_TAB1


async def test_a_summary_that_is_stopped_leaves_the_chapter_playing(store: PostgresStore) -> None:
    model = GatedModel(when=is_summary)
    async with chapter(store, model, chunk_size=1) as session, listening(session) as ears:
        await done(session, await session.submit_prompt(Slot.RED, "One"))
        summary = (await ears.hear(CallStarted, lambda notification: notification.agent_id == 8)).request
        await session.cancel(summary.id)
        assert (await session.wait(summary.id)).error_code is ErrorCode.LLM_CANCELLED
        stored = (await store.load(session.id)).session
        assert (stored.state, stored.boundary) == (SessionState.ACTIVE, 0)


async def test_one_who_stops_waiting_for_a_reply_does_not_disturb_it(store: PostgresStore) -> None:
    model = GatedModel()
    async with chapter(store, model) as session:
        request_id = await session.submit_prompt(Slot.RED, "One")
        impatient = asyncio.create_task(session.wait(request_id))
        patient = asyncio.create_task(session.wait(request_id))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.wait({impatient})
        model.gate.set()
        assert (await patient).state is RequestState.DONE
        await play(session, 1)


async def test_a_prompt_whose_sender_goes_away_in_the_middle_is_stored_and_answered(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session, listening(session) as ears:
        sender = asyncio.create_task(session.submit_prompt(Slot.RED, "One"))
        await asyncio.sleep(0)
        sender.cancel()
        await asyncio.wait({sender})
        assert sender.cancelled()
        assert (await ears.hear(EventsAppended)).events[0].text == "One"


async def test_prompts_behind_a_failed_one_wait_until_the_gm_has_decided(store: PostgresStore) -> None:
    provider = scripted(failing(RequestKind.REPLY, Fault.SERVER_ERROR))
    async with chapter(store, provider) as session:
        first = await session.submit_prompt(Slot.RED, "One")
        second = await session.submit_prompt(Slot.ORANGE, "Two")
        assert (await session.wait(first)).state is RequestState.FAILED
        [waiting] = [request for request in session.snapshot.requests if request.id == second]
        assert waiting.state is RequestState.PENDING
        assert await session.retry(first) == first
        await done(session, second)
        told = [event.text for event in await store.log(session.id) if event.ordinal == 0]
        assert told == ["One", "Two"]


async def test_retrying_a_summary_while_a_reply_streams_loses_neither(store: PostgresStore) -> None:
    model = GatedModel(scripted(failing(RequestKind.SUMMARY, Fault.SERVER_ERROR)), when=says("Two"))
    async with chapter(store, model, chunk_size=1) as session, listening(session) as ears:
        await done(session, await session.submit_prompt(Slot.RED, "One"))
        failed = (await ears.hear(RequestFailed)).request
        second = await session.submit_prompt(Slot.RED, "Two")
        await ears.hear(TextArrived, lambda notification: notification.request_id == second)
        await session.retry(failed.id)
        model.gate.set()
        await done(session, second)
        await session.wait_idle()
        stored = await store.load(session.id)
        assert (stored.session.prompt_index, stored.session.boundary) == (2, 2)


class Broken:
    """A provider with a bug."""

    name = "broken"
    base_url = None

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        yield TextDelta("Half a wo")
        raise self._error

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("error", [ZeroDivisionError("in the provider"), asyncio.CancelledError()])
async def test_a_bug_inside_a_provider_settles_the_request_and_the_session_goes_on(
    store: PostgresStore, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async with chapter(store, Broken(error)) as session:
        with caplog.at_level(logging.ERROR):
            request = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        assert request.state is RequestState.FAILED
        assert (await store.load(session.id)).unsent == {Slot.RED: "One"}
        [artifact] = await store.calls.artifacts(session.id, request_id=request.id)
        assert artifact.error_code is request.error_code
        if isinstance(error, Exception):
            assert request.error_code is ErrorCode.LLM_ERROR
            assert "in the provider" in caplog.text
        assert (await session.wait(await session.retry(request.id))).attempts == 2


async def test_closing_while_a_call_runs_puts_the_text_back_into_its_composer(store: PostgresStore) -> None:
    model = GatedModel()
    async with chapter(store, model) as session:
        first = await session.submit_prompt(Slot.RED, "One")
        second = await session.submit_prompt(Slot.RED, "Two")
        waiters = [asyncio.create_task(session.wait(request)) for request in (first, second)]
        await asyncio.sleep(0)
        await session.aclose()
        stored = await store.load(session.id)
        assert stored.unsent == {Slot.RED: "One\n\nTwo"}
        assert not any(request.state.is_open for request in stored.requests)
        assert not await store.log(session.id)
        _, pending = await asyncio.wait(waiters, timeout=60)
        assert not pending, "nobody waits for ever"
        await session.aclose()


async def test_closing_in_the_moment_of_sending_puts_the_text_back_into_its_composer(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        sender = asyncio.create_task(session.submit_prompt(Slot.RED, "One"))
        await asyncio.sleep(0)
        sender.cancel()
        await session.aclose()
        stored = await store.load(session.id)
        assert stored.unsent == {Slot.RED: "One"}
        assert not any(request.state.is_open for request in stored.requests)


async def test_nobody_waits_for_a_request_that_does_not_exist(store: PostgresStore) -> None:
    async with chapter(store) as session:
        with pytest.raises(IllegalCommandError, match="no such call"):
            await session.wait(RequestId(new_uuid()))


async def test_a_reset_stops_everything_archives_the_chapter_and_starts_a_new_one(
    store: PostgresStore,
) -> None:
    model = GatedModel()
    async with chapter(store, model) as session, listening(session) as ears:
        await session.submit_prompt(Slot.RED, "One")
        await session.submit_prompt(Slot.ORANGE, "Two")
        fresh = await session.reset()
        assert fresh != session.id
        assert (await ears.hear(SessionReplaced)).new_id == fresh
        stored = await store.load(session.id)
        assert stored.session.archived_at is not None
        assert stored.session.state is SessionState.ACTIVE, "it can be restored and played on"
        assert stored.unsent == {Slot.RED: "One", Slot.ORANGE: "Two"}
        assert (await store.load(fresh)).session.state is SessionState.DRAFT_TAB1
        assert not session.can(Command.SUBMIT_PROMPT), "nothing is sent from an archived chapter"


async def test_a_reset_while_a_summary_is_about_to_run_does_not_wait_for_it(store: PostgresStore) -> None:
    async with chapter(store, GatedModel(when=is_summary), chunk_size=1) as session:
        await done(session, await session.submit_prompt(Slot.RED, "One"))
        fresh = await session.reset()
        assert (await store.load(fresh)).session.prompt_index == 0


async def test_notices_of_a_closed_session_end(store: PostgresStore) -> None:
    async with chapter(store) as session:
        heard: list[Notification] = []
        with session.listen() as listener:
            await session.aclose()
            heard += [notification async for notification in listener]
        with session.listen() as late:
            heard += [notification async for notification in late]
        assert heard == []
