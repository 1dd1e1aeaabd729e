"""Actions of the engine room as commands of the program that is killed: prompts to several, afterthoughts,
proposals, the queue. `operation NAME SESSION` finds them beside those of `operations`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from core.agents.assist import AssistRequest, Field, SuggestedText, Task
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import RequestId, new_uuid
from core.domain.requests.request import ReplyRequest, Request, RequestState
from core.domain.slot import Slot
from core.engine.changes.canon import newest_events
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle

CUT_SECOND: Final = "Cut the second reply to this off."
"""A prompt to two whose second reply the replies of a torture break off in the middle."""
HANGS: Final = "This call gets no answer."
"""A text for which the replies of a torture propose nothing until a prompt needs the place of the call."""
FIRST_PROMPTS: Final = 2
"""How many prompts the chapter has between the operations."""
LONGEST_WAIT: Final = 15.0
"""Seconds for what is only seen in the session; over when the database was killed under it."""


def require_done(request: Request) -> None:
    """Raise what a request failed with, as every command does: the database may have been killed under it."""
    if request.state is not RequestState.DONE:
        raise StoryEngineError(request.error_code or ErrorCode.LLM_CANCELLED, request.error_message)


async def send(session: SessionHandle, slot: Slot, text: str, then: tuple[Slot, ...] = ()) -> RequestId:
    """Send a prompt that was not typed: the text in its composer stays there."""
    return await session.submit_prompt(slot, text, then=then, is_typed=False)


async def _ask_both(engine: Engine, session: SessionHandle) -> None:
    text = f"What do you both say to {new_uuid()}?"
    require_done(await session.wait(await send(session, Slot.RED, text, then=(Slot.ORANGE,))))
    await _answer_further(session)


async def _answer_further(session: SessionHandle) -> None:
    """Wait for the replies of those who were called after another; one that failed is retried."""
    while (further := session.snapshot.further_reply) is not None:
        retried = await session.retry(further.id) if further.has_failed else further.id
        require_done(await session.wait(retried))


async def _cut_second(engine: Engine, session: SessionHandle) -> None:
    """Send a prompt to two, of which the second one's reply breaks off."""
    require_done(await session.wait(await send(session, Slot.RED, CUT_SECOND, then=(Slot.ORANGE,))))
    further = session.snapshot.further_reply
    assert further is not None
    assert (await session.wait(further.id)).has_failed


async def _leave_out(engine: Engine, session: SessionHandle) -> None:
    """Leave out the further reply that broke off."""
    [failed] = session.snapshot.failed(ReplyRequest)
    await session.takes.leave_out(failed.id)


async def _speak_up(engine: Engine, session: SessionHandle) -> None:
    """Send a prompt, let the character that answers it add something, and wait for the addition."""
    request = await send(session, Slot.RED, f"Is that all, {new_uuid()}?")
    require_done(await session.wait(request))
    await session.afterthoughts.choose_speakers((Slot.RED, Slot.ORANGE))
    await until(session, lambda: _additions(session) > 0)


async def _strike(engine: Engine, session: SessionHandle) -> None:
    await session.takes.strike_afterthought()


async def _point_out(engine: Engine, session: SessionHandle) -> None:
    """Ask the character that was silent in the last prompt whether it asks for a word."""
    for slot in (Slot.ORANGE, Slot.RED):
        require_done(await session.wait(await send(session, slot, f"Speak, {new_uuid()}.")))
    await session.scene.set_hint(1)
    await session.heartbeats.hints()
    await until(session, lambda: not session.snapshot.background)


def _additions(session: SessionHandle) -> int:
    return sum(event.is_afterthought for event in newest_events(session.snapshot))


async def _propose(engine: Engine, session: SessionHandle) -> None:
    async with proposed(session, "A lamp on a sea of glass.") as proposal:
        await proposal


async def _make_room(engine: Engine, session: SessionHandle) -> None:
    """Ask for a proposal, and send a prompt that needs its place: the proposal is made after the reply."""
    async with proposed(session, HANGS) as proposal:
        await until(session, lambda: _is_called(engine) or proposal.done())
        request = await send(session, Slot.RED, f"Make room for {new_uuid()}.")
        require_done(await session.wait(request))
        await proposal


@asynccontextmanager
async def proposed(session: SessionHandle, text: str) -> AsyncIterator["asyncio.Task[SuggestedText]"]:
    """Ask for a proposal inside the block."""
    asked = AssistRequest(task=Task.CONTINUE, field=Field.WORLD, text=text, limit=5_000)
    task = asyncio.create_task(session.assist.propose(session.assist.new(asked), _Watcher()))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


class _Watcher:
    """Looks at nothing of a proposal but the end."""

    def begin(self, model: str) -> None:
        """A call begins."""

    def wait(self, request: Request) -> None:
        """It waits for its turn."""

    def add(self, text: str) -> None:
        """The next piece."""


def _is_called(engine: Engine) -> bool:
    """Whether the script was asked for something in this process."""
    return any(getattr(engine._gateway._lanes[""].provider, "_seen", ()))


async def _pause(engine: Engine, session: SessionHandle) -> None:
    await engine.queue.pause()


async def _resume(engine: Engine, session: SessionHandle) -> None:
    await engine.queue.resume()


async def _ask_paused(engine: Engine, session: SessionHandle) -> None:
    await _waiting(engine, session)


async def _waiting(engine: Engine, session: SessionHandle) -> RequestId:
    """Send a prompt while the queue is paused: it waits."""
    await engine.queue.entries()  # asks the database whether it is paused
    request_id = await send(session, Slot.RED, f"Wait for {new_uuid()}.")
    [waits] = [one for one in session.snapshot.open_prompts if one.id == request_id]
    assert waits.state is RequestState.PENDING
    return request_id


async def _move_up(engine: Engine, session: SessionHandle) -> None:
    """Send two prompts while the queue is paused, and let the second one go first."""
    first, second = [await _waiting(engine, session) for _ in range(2)]
    assert await engine.queue.move_up(second)
    assert [one.id for one in sorted(session.snapshot.open_prompts, key=lambda one: one.order)] == [
        second,
        first,
    ]


async def _edit_waiting(engine: Engine, session: SessionHandle) -> None:
    """Send a prompt while the queue is paused, and add to its text."""
    waits = await _waiting(engine, session)
    [prompt] = [one for one in session.snapshot.open_prompts if one.id == waits]
    await engine.queue.edit(waits, f"{prompt.text} And be quick, {new_uuid()}.")


async def _recall(engine: Engine, session: SessionHandle) -> None:
    """Send two prompts while the queue is paused, and take both back into their composer."""
    texts = [await _waiting(engine, session) for _ in range(2)]
    assert len(await engine.queue.recall(session.id)) == len(texts)


async def _drop_waiting(engine: Engine, session: SessionHandle) -> None:
    """Send a prompt while the queue is paused, and take it out of the queue."""
    assert await engine.queue.drop(await _waiting(engine, session))


async def _stop_call(engine: Engine, session: SessionHandle) -> None:
    """Send a prompt that gets no answer, and stop its call by the queue."""
    request_id = await send(session, Slot.RED, f"{HANGS} {new_uuid()}")
    await until(session, lambda: _is_called(engine))
    assert await engine.queue.stop(request_id)
    assert (await session.wait(request_id)).has_failed


async def _drop_failed(engine: Engine, session: SessionHandle) -> None:
    """Take the prompts that have failed, as after a crash, out of the queue."""
    for failed in session.snapshot.failed(ReplyRequest):
        assert await engine.queue.drop(failed.id)


async def _tidy(engine: Engine, session: SessionHandle) -> None:
    """Finish the open requests, and restore the chapter to its state before the operations."""
    await engine.queue.resume()
    await session.afterthoughts.choose_speakers((), is_on=False)
    await session.scene.set_hint(0)
    await session.wait_idle()
    while failed := session.snapshot.failed(ReplyRequest):  # one that is sent again may replace the others
        require_done(await session.wait(await session.retry(failed[0].id)))
    await _answer_further(session)
    await until(session, lambda: not session.snapshot.background)
    while _additions(session):
        await session.takes.strike_afterthought()
    while session.snapshot.session.prompt_index > FIRST_PROMPTS:
        await session.takes.undo()


async def until(session: SessionHandle, holds: Callable[[], bool]) -> None:
    """Wait until something holds in a session; raise StoryEngineError when it takes too long.

    Some of it is told by no notification, and is looked for again and again.
    """
    gives_up = asyncio.get_running_loop().time() + LONGEST_WAIT
    while not holds():
        if asyncio.get_running_loop().time() > gives_up:
            raise StoryEngineError(ErrorCode.LLM_TIMEOUT)
        await asyncio.sleep(0.02)


OPERATIONS_BESIDE: Final[dict[str, Callable[[Engine, SessionHandle], Awaitable[None]]]] = {
    "ask both": _ask_both,
    "cut second": _cut_second,
    "leave out": _leave_out,
    "speak up": _speak_up,
    "strike": _strike,
    "point out": _point_out,
    "propose": _propose,
    "make room": _make_room,
    "pause": _pause,
    "resume": _resume,
    "ask paused": _ask_paused,
    "move up": _move_up,
    "edit waiting": _edit_waiting,
    "recall": _recall,
    "drop waiting": _drop_waiting,
    "stop call": _stop_call,
    "drop failed": _drop_failed,
    "tidy": _tidy,
}
