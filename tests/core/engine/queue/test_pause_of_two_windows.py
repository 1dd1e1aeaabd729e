"""A pause of the queue, where windows pause and resume it at the same time."""

from collections.abc import Awaitable, Callable

import pytest

from core.domain.ids import SessionId
from core.engine.queue.control import QueueControl, QueueSwitch
from core.engine.sync.session_writer import AppliesChanges
from tests.core.values.sessions import NOW, choices
from tests.store.in_memory.memory_queue import MemoryQueue, SharedQueue

pytestmark = pytest.mark.anyio


class Interrupted(MemoryQueue):
    """A database that answers after it has told that another window resumed the queue meanwhile."""

    def __init__(self) -> None:
        super().__init__(SharedQueue(is_paused=True), {})

    async def is_paused(self) -> bool:
        """Whether it was paused before that."""
        was_paused = await super().is_paused()
        await super().set_paused(is_paused=False)
        return was_paused

    async def set_paused(self, *, is_paused: bool) -> None:
        """Store it, and then what the other window says."""
        await super().set_paused(is_paused=is_paused)
        await super().set_paused(is_paused=False)


def closed(session_id: SessionId, reason: str) -> AppliesChanges:
    raise AssertionError(f"{session_id} is changed: {reason}")


@pytest.mark.parametrize("ask", [QueueControl.entries, QueueControl.pause])
async def test_a_queue_that_another_window_resumes_meanwhile_is_not_taken_to_be_paused(
    ask: Callable[[QueueControl], Awaitable[object]],
) -> None:
    switch = QueueSwitch(is_paused=True)
    queue = QueueControl(Interrupted(), switch, choices(), lambda: NOW, closed, lambda _: None)
    await ask(queue)
    assert not queue.is_paused
