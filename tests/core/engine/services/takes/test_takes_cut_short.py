"""A change of canon whose caller is cancelled while it is stored ends what it was to end."""

import asyncio

import pytest

from core.domain.requests.request import SummaryRequest
from core.domain.slot import Slot
from core.engine.sync.notifications import CallStarted
from core.providers.scripted.script import Entry, ScriptMatch
from core.storage.changes import Changes
from core.storage.session_store import Lease
from tests.core.rooms.takes_model import done, room, story

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("command", ["undo", "reroll"])
async def test_a_summary_that_a_change_cancels_is_stopped_although_its_caller_is_cancelled(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang = Entry(match=ScriptMatch.model_validate({"schema": "turn_delta"}), first_token=3_600.0, times=1)
    scene = room(hang)
    async with scene.opened() as session:
        for text in ("One", "Two", "Three"):
            await session.wait(await session.submit_prompt(Slot.RED, text))
        await scene.heard(CallStarted, lambda notice: isinstance(notice.request, SummaryRequest))
        has_come, goes_on, commit = asyncio.Event(), asyncio.Event(), scene.store.commit

        async def slow(changes: Changes, lease: Lease) -> None:
            has_come.set()
            await goes_on.wait()
            await commit(changes, lease)

        monkeypatch.setattr(scene.store, "commit", slow)
        changing = asyncio.create_task(getattr(session.takes, command)())
        await has_come.wait()
        changing.cancel()
        await asyncio.wait({changing})
        goes_on.set()
        async with asyncio.timeout(20):
            await session.wait_idle()
            await done(session, await session.submit_prompt(Slot.RED, "Four"))
        assert await story(session) == ["One", "Two", *(["Three"] if command == "reroll" else []), "Four"]
