"""What every store promises of a pause of the queue: each window is told, whenever it begins to listen."""

import pytest

from core.storage.queue_store import QueueMessage, QueueSignal
from core.storage.session_store import SessionStore
from tests.store import chapters
from tests.store.chapters import taken
from tests.store.contract.conftest import OpenWindow

pytestmark = pytest.mark.anyio
PAUSED, RESUMED = (QueueMessage(signal).payload for signal in (QueueSignal.PAUSED, QueueSignal.RESUMED))


@pytest.mark.parametrize("writes", [True, False], ids=["writes", "reads"])
async def test_a_window_is_told_whether_the_queue_is_paused_when_it_opens_a_chapter(
    writes: bool, store: SessionStore, open_window: OpenWindow
) -> None:
    session = chapters.new_session()
    await store.chapters.create(chapters.creation(session))
    told: list[str] = []

    async def opened() -> list[str]:
        """Return what another window is told that opens the chapter and closes it."""
        told.clear()
        other = await open_window()
        other.queue.subscribe(told.append)
        if writes:
            await (await taken(other, session.id)).aclose()
        else:
            async with other.follow(session.id):
                pass
        await other.aclose()
        return told[:1]

    await store.queue.set_paused(is_paused=True)
    assert await opened() == [PAUSED]
    await store.queue.set_paused(is_paused=False)
    assert await opened() == [RESUMED]
