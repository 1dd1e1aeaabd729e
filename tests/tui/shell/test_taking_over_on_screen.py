"""Taking a chapter over whose window was killed while a model answered."""

import asyncio

import pytest

from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import CallStarted
from core.providers.scripted.script import Entry, Script, ScriptMatch
from storyengine_tui.screens.chapter.writer_banner import WriterBanner
from tests.core.rooms.killed_window import end_as_killed
from tests.tui.engine_app import Desktop, make_active
from tests.tui.rooms.play_table import Table

pytestmark = pytest.mark.anyio

HANGS = Script(reply=(Entry(match=ScriptMatch(last="Hello?"), first_token=3_600.0, times=1),))


async def killed(session: SessionHandle) -> None:
    """End a window in the middle of a call, as a kill does: nothing is settled."""
    with session.listen() as listener:
        await session.submit_prompt(Slot.RED, "Hello?")
        async for batch in listener.batches():
            if any(isinstance(one, CallStarted) for one in batch):
                break
    await end_as_killed(session)


async def test_a_chapter_that_is_taken_over_in_the_middle_of_a_call_can_be_written_in(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = HANGS
    await desktop.prepare(make_active)
    end_pauses = SessionHandle.end_pauses
    async with desktop.engine("the first window") as engine:
        first = await engine.open((await engine.sessions())[0].id)
        async with desktop.window() as (pilot, app):
            banner = app.chapter.query_one(WriterBanner)

            async def when_hidden(session: SessionHandle) -> None:
                while banner.is_shown:  # noqa: ASYNC110 - the banner tells of nothing
                    await asyncio.sleep(0)
                await end_pauses(session)

            await killed(first)
            monkeypatch.setattr(SessionHandle, "end_pauses", when_hidden)
            await pilot.press("ctrl+t")
            table = Table(pilot, app)
            await table.until(lambda: not table.area(Slot.RED).read_only)
            assert table.text(Slot.RED) == "Hello?"
            await table.until(lambda: "was stopped" in table.banner())
        await first.aclose()
