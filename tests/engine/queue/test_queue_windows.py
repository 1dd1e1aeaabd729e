"""What one window does to the queue is seen where a chapter is open, to write in it or to read along."""

import asyncio

import pytest

from core.domain.errors import SessionLockedError
from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.engine.sync.notifications import PromptReturned, QueuePaused, QueueResumed
from tests.engine.queue.test_queue import a_window
from tests.engine.queue.test_queue import url as url
from tests.engine.queue.test_queue import work_as_a_kind as work_as_a_kind
from tests.engine.windows import end_writers

pytestmark = pytest.mark.anyio


async def test_a_prompt_that_another_window_drops_is_returned_to_its_panel_there(url: str) -> None:
    async with a_window(url) as here, a_window(url, label="there") as there:
        await here.engine.queue.pause()
        await there.ears.hear(QueuePaused)
        asked = await there.session.submit_prompt(Slot.RED, "One.")
        assert not await here.engine.queue.drop(asked), "the other window was asked to"
        returned = await there.ears.hear(PromptReturned)
        assert (returned.request.id, returned.request.text) == (asked, "One.")
        assert there.session.snapshot.unsent == {Slot.RED: "One."}
        with pytest.raises(SessionLockedError, match="take its prompts back there"):
            await here.engine.queue.recall(there.session.id)
        for text in ("Two.", "Three."):
            await there.session.submit_prompt(Slot.ORANGE, text)
        await there.engine.queue.recall(there.session.id)
        await there.ears.hear(PromptReturned, lambda notice: notice.request.text == "Two.")
        texts = [one.request.text for one in there.ears.all(PromptReturned)]
        assert texts == ["One.", "Three.", "Two."], "each is put before what is in the panel"


async def test_a_window_that_only_reads_knows_of_a_pause_and_hears_of_it(url: str) -> None:
    async with a_window(url) as here:
        await here.engine.queue.pause()
        async with a_window(url, here.session.id, label="reader") as reader:
            assert reader.session.is_read_only
            await reader.ears.hear(QueuePaused)
            extra = await here.add()
            await here.engine.queue.resume()
            await reader.ears.hear(QueueResumed)
            assert not reader.engine.queue.is_paused
            await here.session.wait(extra)


async def test_what_waits_begins_as_soon_as_another_window_resumes_the_queue(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("worker", "background"):
        monkeypatch.setattr(f"core.engine.queue.{module}.MAX_SLEEP_SECONDS", 3_600.0)
    async with a_window(url) as here, a_window(url, label="there") as there:
        await here.engine.queue.pause()
        await there.ears.hear(QueuePaused)
        asked = await there.session.submit_prompt(Slot.RED, "Who is there?")
        extra = await there.add()
        async with asyncio.timeout(60):
            await here.engine.queue.resume()
            for request in (asked, extra):
                assert (await there.session.wait(request)).state is RequestState.DONE


async def test_a_window_that_lost_its_connection_while_the_queue_was_paused_learns_that_it_goes_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.engine.sync.session_tasks.POLL_SECONDS", 0.05)
    async with a_window(url) as here, a_window(url, label="there") as there:
        await here.engine.queue.pause()
        await there.ears.hear(QueuePaused)
        asked = await there.session.submit_prompt(Slot.RED, "Who is there?")
        await asyncio.to_thread(end_writers, url)
        async with asyncio.timeout(60):
            await here.engine.queue.resume()
            assert (await there.session.wait(asked)).state is RequestState.DONE
