"""A worker that an error of the store has ended takes up what waits with the next change that is stored."""

import asyncio

import pytest

from core.domain.errors import ErrorCode, StorageError
from core.domain.requests.request import ReplyRequest, RequestState
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.engine.sync.notifications import StorageTrouble
from core.storage.changes import Changes
from core.storage.session_store import Lease
from tests.core.rooms.room import Room
from tests.core.rooms.simulation import active

pytestmark = pytest.mark.anyio
REFUSED = StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)


async def test_a_prompt_that_the_store_refused_to_begin_is_answered_once_another_one_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room(active().snapshot)
    commit, refusals = room.store.commit, [REFUSED]

    async def refuse_once(changes: Changes, lease: Lease) -> None:
        begun = [one for one in changes.requests if one.state is RequestState.PROCESSING]
        if refusals and any(isinstance(one, ReplyRequest) and one.text == "And now?" for one in begun):
            raise refusals.pop()
        await commit(changes, lease)

    monkeypatch.setattr(room.store, "commit", refuse_once)
    async with room.opened() as session:
        await session.submit_prompt(Slot.RED, "Who is there?")
        await session.submit_prompt(Slot.RED, "And now?")
        await room.heard(StorageTrouble)
        await session.wait(await session.submit_prompt(Slot.RED, "Go on."))
        told = [event.text for event in session.snapshot.recent if event.role is Role.USER]
        assert told == ["Who is there?", "And now?", "Go on."]


async def test_a_prompt_is_answered_that_is_sent_in_the_moment_in_which_the_worker_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room(active().snapshot)

    async def refused() -> None:
        raise REFUSED

    async with room.opened() as session:
        worker = session._worker
        await worker.aclose()
        worker._is_closing = False
        with monkeypatch.context() as patched:
            patched.setattr(worker, "_run", refused)
            worker.start()
            await asyncio.sleep(0)  # the task has ended, and what is called after it is not called yet
        worker.wake()
        await room.heard(StorageTrouble)
        await session.wait(await session.submit_prompt(Slot.RED, "Who is there?"))
