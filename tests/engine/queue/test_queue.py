"""The queue of all chapters: listed, paused and changed from any window, and after a restart."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from core.domain.agent_role import AgentRole
from core.domain.errors import IllegalCommandError, SessionLockedError
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.kinds import registry
from core.engine.queue.entries import QueueEntry, entries_of
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import (
    QueuePaused,
    QueueResumed,
    RequestBegun,
    RequestFailed,
    RequestQueued,
    RequestSettled,
    TextArrived,
)
from core.gateway.lanes import Lane
from core.providers.base import Provider
from core.storage.queue_store import QueuedRequest
from db.store import open_store
from tests.core.values.sessions import waiting
from tests.engine.queue.test_background import ASKED, Work, work
from tests.engine.windows import (
    AT_WORK,
    CHOICES,
    Ears,
    GatedModel,
    end_writers,
    listening,
    playable,
    says,
    scripted,
)
from tests.store.servers import cloned

pytestmark = pytest.mark.anyio


@pytest.fixture
def url(private_template: str) -> Iterator[str]:
    """A database for each test: a pause and the list are of all of it."""
    yield from cloned(private_template)


@pytest.fixture(autouse=True)
def work_as_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_HANDLERS", {**registry._HANDLERS, RequestKind.ASSIST: Work()})


@dataclass
class Window:
    """One window: its engine, its session, and what that says."""

    engine: Engine
    session: SessionHandle
    ears: Ears

    async def add(self, text: str = ASKED) -> RequestId:
        request = work(self.session.id, text)
        await self.session.background.add(request)
        return request.id

    async def listed(self) -> list[QueueEntry]:
        return list(await self.engine.queue.entries())

    async def ids(self) -> list[RequestId]:
        return [one.request.id for one in await self.listed()]


@asynccontextmanager
async def a_window(
    url: str,
    session_id: SessionId | None = None,
    provider: Provider | None = None,
    label: str = "here",
    places: int | None = None,
) -> AsyncIterator[Window]:
    """Open a chapter that can be played in a window with a store of its own, as another process has."""
    store = await open_store(url)
    model = provider or scripted()
    try:
        if session_id is None:
            session_id = await playable(store)
        lanes = {} if places is None else {"work": Lane(lambda: model, concurrency=places)}
        choices = CHOICES if places is None else AT_WORK
        own = model if places is None else scripted()
        engine = Engine(store, own, choices, label=label, lanes=lanes, play=waiting(3600.0))
        session = await engine.open(session_id)
        async with listening(session) as ears:
            try:
                yield Window(engine, session, ears)
            finally:
                await session.aclose()
                await engine.queue.aclose()
    finally:
        await store.aclose()


# The pause


async def test_while_the_queue_is_paused_a_prompt_is_stored_and_waits_in_every_window(url: str) -> None:
    async with a_window(url) as here, a_window(url, label="there") as there:
        await here.engine.queue.pause()
        await there.ears.hear(QueuePaused)
        asked = await there.session.submit_prompt(Slot.RED, "Who is there?")
        extra = await there.add()
        states = {one.request.id: (one.request.state, one.waits_for) for one in await here.listed()}
        assert states == dict.fromkeys((asked, extra), (RequestState.PENDING, "paused"))
        await here.engine.queue.resume()
        await there.ears.hear(QueueResumed)
        assert (await there.session.wait(asked)).state is RequestState.DONE
        assert (await there.session.wait(extra)).state is RequestState.DONE


async def test_what_runs_goes_on_while_the_queue_is_paused(url: str) -> None:
    model = GatedModel()
    async with a_window(url, provider=model) as here:
        asked = await here.session.submit_prompt(Slot.RED, "Who is there?")
        await here.ears.hear(RequestBegun)
        await here.engine.queue.pause()
        model.gate.set()
        assert (await here.session.wait(asked)).state is RequestState.DONE


async def test_a_pause_survives_a_restart_and_is_known_when_a_chapter_is_opened(url: str) -> None:
    async with a_window(url) as here:
        assert not here.engine.queue.is_paused
        await here.engine.queue.pause()
        session_id = here.session.id
    async with a_window(url, session_id) as again:
        assert again.engine.queue.is_paused
        asked = await again.session.submit_prompt(Slot.RED, "Who is there?")
        assert [one.waits_for for one in await again.listed()] == ["paused"]
        await again.engine.queue.resume()
        assert (await again.session.wait(asked)).state is RequestState.DONE


# The list


async def test_the_list_has_what_is_taken_next_first_and_says_for_what_each_waits(url: str) -> None:
    model = GatedModel()
    async with a_window(url, provider=model) as here:
        await here.session.edits.retitle("The lamp")
        running = await here.session.submit_prompt(Slot.RED, "Who is there?")
        await here.ears.hear(RequestBegun)
        extra = await here.add()
        second = await here.session.submit_prompt(Slot.ORANGE, "And who else?")
        entries = await here.listed()
        assert (entries[0].request.id, entries[0].waits_for) == (running, "")
        by_id = {one.request.id: one for one in entries}
        assert by_id[second].waits_for in ("1 call before it", "2 calls before it")
        assert {one.session_title for one in entries} == {"The lamp"}
        assert by_id[running].lane == CHOICES[AgentRole.CHARACTER].label
        assert extra in by_id
        model.gate.set()
        await here.session.wait(second)


async def test_prompts_behind_one_that_failed_and_work_of_a_closed_chapter_say_so(url: str) -> None:
    async with a_window(url) as there, a_window(url) as here:
        await here.engine.queue.pause()
        closed = await here.add()
        session_id = here.session.id
        await here.session.aclose()
        await there.engine.queue.resume()
        [entry] = await there.listed()
        assert (entry.request.id, entry.waits_for) == (closed, "its chapter to be opened")
        assert entry.request.session_id == session_id
        taken = replace(entry.request, state=RequestState.PROCESSING)
        for is_open in (True, False):
            one = QueuedRequest(
                request=taken, session_title="", session_state=SessionState.ACTIVE, is_open=is_open
            )
            [listed] = entries_of([one], CHOICES, entry.request.updated_at, is_paused=False)
            assert listed.is_running is is_open, "the program that took it was killed"


# Changes, in this window


async def test_a_waiting_prompt_moves_up_is_edited_and_keeps_its_place(url: str) -> None:
    async with a_window(url) as here:
        queue = here.engine.queue
        await queue.pause()
        first, second, third = [
            await here.session.submit_prompt(slot, f"To {slot.name}.")
            for slot in (Slot.RED, Slot.ORANGE, Slot.YELLOW)
        ]
        await queue.move_up(third)
        assert await here.ids() == [first, third, second]
        await queue.move_up(third)
        assert await here.ids() == [third, first, second]
        with pytest.raises(IllegalCommandError, match="Nothing that waits"):
            await queue.move_up(third)
        await queue.edit(first, "  To RED, and louder.  ")
        texts = [entry.request.text for entry in await here.listed() if hasattr(entry.request, "text")]
        assert texts == ["To YELLOW.", "To RED, and louder.", "To ORANGE."]
        with pytest.raises(IllegalCommandError, match="no text left"):
            await queue.edit(second, " \n")
        await queue.resume()
        await here.session.wait_idle()
        spoken = [event.text for event in await here.session.reads.canon() if event.ordinal == 0]
        assert spoken == texts


async def test_all_waiting_prompts_are_taken_back_joined_in_their_composers(url: str) -> None:
    async with a_window(url) as here:
        await here.engine.queue.pause()
        await here.session.submit_prompt(Slot.RED, "One.")
        await here.session.submit_prompt(Slot.ORANGE, "Two.")
        await here.session.submit_prompt(Slot.RED, "Three.")
        assert await here.engine.queue.recall(here.session.id) == ("One.", "Two.", "Three.")
        assert here.session.snapshot.unsent == {Slot.RED: "One.\n\nThree.", Slot.ORANGE: "Two."}
        assert await here.listed() == []
        assert await here.engine.queue.recall(here.session.id) == ()


async def test_work_is_stopped_retried_dropped_and_cleared(url: str) -> None:
    model = GatedModel(when=says(ASKED))
    async with a_window(url, provider=model) as here:
        queue = here.engine.queue
        running, waits = await here.add(), await here.add()
        await here.ears.hear(RequestBegun, lambda notice: notice.request.id == running)
        with pytest.raises(IllegalCommandError, match="stop it first"):
            await queue.drop(running)
        with pytest.raises(IllegalCommandError, match="drop it instead"):
            await queue.stop(waits)
        await queue.drop(waits)
        await queue.stop(running)
        failed = await here.ears.hear(RequestFailed, lambda notice: notice.request.id == running)
        assert failed.request.has_failed
        model.gate.set()
        await queue.retry(running)
        assert (await here.session.wait(running)).state is RequestState.DONE
        await queue.pause()
        for _ in range(3):
            await here.add()
        assert await queue.clear_background() == 3
        assert await queue.clear_background() == 0
        assert await here.listed() == []
        with pytest.raises(IllegalCommandError, match="settled already"):
            await queue.drop(running)


async def test_a_failed_summary_cannot_be_dropped_and_a_running_prompt_not_edited(url: str) -> None:
    model = GatedModel()
    async with a_window(url, provider=model) as here:
        asked = await here.session.submit_prompt(Slot.RED, "Who is there?")
        await here.ears.hear(RequestBegun)
        with pytest.raises(IllegalCommandError, match="stop it first"):
            await here.engine.queue.edit(asked, "Another text.")
        extra = await here.add()
        with pytest.raises(IllegalCommandError, match="Only a prompt"):
            await here.engine.queue.edit(extra, "Another text.")
        model.gate.set()
        await here.session.wait(asked)


# Changes, in another window and in a closed chapter


async def test_what_another_window_has_is_changed_there_but_for_a_text(url: str) -> None:
    model = GatedModel(when=says(ASKED))
    async with a_window(url) as here, a_window(url, provider=model, label="there") as there:
        queue = here.engine.queue
        running = await there.add()
        await there.ears.hear(RequestBegun, lambda notice: notice.request.id == running)
        waits = await there.add()
        await queue.drop(waits)
        await there.ears.hear(RequestSettled, lambda notice: notice.request.id == waits)
        await queue.stop(running)
        await there.ears.hear(RequestFailed, lambda notice: notice.request.id == running)
        await queue.pause()
        await there.ears.hear(QueuePaused)
        first = await there.session.submit_prompt(Slot.RED, "One.")
        second = await there.session.submit_prompt(Slot.ORANGE, "Two.")
        await queue.move_up(second)
        await there.ears.hear(
            RequestQueued,
            lambda notice: notice.request.id in (first, second) and notice.request.priority != 20,
        )
        assert (await here.ids())[:2] == [second, first]
        with pytest.raises(SessionLockedError, match="edit the prompt there"):
            await queue.edit(first, "Another text.")
        await queue.retry(running)
        await there.ears.hear(
            RequestQueued, lambda notice: notice.request.id == running and notice.request.attempts == 1
        )
        assert await queue.clear_background() == 1
        await there.ears.hear(RequestSettled, lambda notice: notice.request.id == running)


async def test_work_of_a_chapter_that_nobody_has_open_is_changed_in_the_database(url: str) -> None:
    async with a_window(url) as there, a_window(url) as here:
        await here.engine.queue.pause()
        first, second, third = [await here.add() for _ in range(3)]
        session_id = here.session.id
        await here.session.aclose()
        queue = there.engine.queue
        await queue.move_up(second)
        await queue.drop(third)
        assert await there.ids() == [second, first]
        await queue.retry(first)
        with pytest.raises(IllegalCommandError, match="nothing runs in it"):
            await queue.stop(first)
        with pytest.raises(IllegalCommandError, match="Only a prompt"):
            await queue.edit(first, "Another text.")
        assert await queue.recall(session_id) == ()
        assert await queue.clear_background() == 2
        assert await there.ids() == []


async def test_a_message_that_is_not_ours_changes_nothing(url: str) -> None:
    async with a_window(url) as here:
        asked = await here.add()
        for payload in ("", "drop", "drop:", "drop:x", f"paint:{asked}", "x" * 7_000, "free:", "back:\n"):
            here.engine.queue.on_message(payload)
        assert (await here.session.wait(asked)).state is RequestState.DONE
        assert not here.engine.queue.is_paused


# The places of an account, over all windows


async def test_an_account_takes_only_so_many_calls_of_all_windows_and_the_next_goes_on(url: str) -> None:
    first_model, second_model = GatedModel(), GatedModel()
    async with (
        a_window(url, provider=first_model, places=1) as here,
        a_window(url, provider=second_model, places=1, label="there") as there,
    ):
        one = await here.session.submit_prompt(Slot.RED, "Who is there?")
        await _until(here, one)
        two = await there.session.submit_prompt(Slot.RED, "And there?")
        await there.ears.hear(RequestBegun)
        first_model.gate.set()
        assert (await here.session.wait(one)).state is RequestState.DONE
        second_model.gate.set()
        assert (await there.session.wait(two)).state is RequestState.DONE
        began, ended = await _times(there, two), await _times(here, one)
        assert began > ended, "the second call was sent when the first one had ended"


async def _until(here: Window, request_id: RequestId) -> None:
    await here.ears.hear(TextArrived, lambda notice: notice.request_id == request_id)


async def _times(here: Window, request_id: RequestId) -> float:
    calls = await here.session.reads.artifacts()
    [artifact] = [call for call in calls if call.request_id == request_id]
    return artifact.created_at.timestamp()


async def test_work_in_one_window_makes_room_for_a_prompt_in_another(url: str) -> None:
    model, quick = GatedModel(when=says(ASKED)), scripted()
    async with (
        a_window(url, provider=model, places=1) as here,
        a_window(url, provider=quick, places=1, label="there") as there,
    ):
        extra = await here.add()
        await _until(here, extra)
        asked = await there.session.submit_prompt(Slot.RED, "Who is there?")
        assert (await there.session.wait(asked)).state is RequestState.DONE
        model.gate.set()
        settled = await here.session.wait(extra)
        assert settled.state is RequestState.DONE


async def test_the_places_of_a_window_that_is_gone_are_free(url: str) -> None:
    hangs, quick = GatedModel(), scripted()
    async with a_window(url, provider=hangs, places=1) as here:
        asked = await here.session.submit_prompt(Slot.RED, "Who is there?")
        await _until(here, asked)
        async with a_window(url, provider=quick, places=1, label="there") as there:
            session_id = there.session.id
        end_writers(url)
        async with a_window(url, session_id, provider=quick, places=1, label="there") as there:
            other = await there.session.submit_prompt(Slot.RED, "And there?")
            assert (await there.session.wait(other)).state is RequestState.DONE
        hangs.gate.set()
