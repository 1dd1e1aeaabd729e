"""What a GM does on the screen alone, as a command of the program that is to die: `deed NAME SESSION`."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final
from uuid import UUID

from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.requests.request import ReplyRequest, RequestState, SummaryRequest
from core.domain.slot import Slot
from core.domain.story.memory import BlockType, compact_json
from core.engine.session_handle import SessionHandle
from storyengine_tui.bootstrap import running_engine
from storyengine_tui.cli.gate import unlocked

CUT_OFF: Final = "Cut the reply to this off."
"""A prompt whose reply the replies of a torture break off in the middle."""


async def deed(name: str, session: str) -> None:
    """Do it in this session, and close the session."""
    async with running_engine(await unlocked()) as engine:
        opened = await engine.open(SessionId(UUID(session)))
        try:
            await DEEDS[name](opened)
        finally:
            await opened.aclose()


async def _settle(session: SessionHandle) -> None:
    """Have the summary made that is due, also where a program that was closed had stopped it."""
    await session.wait_idle()
    for failed in session.snapshot.failed(SummaryRequest):
        with suppress(IllegalCommandError):  # its time had come, and it was tried again
            await session.retry(failed.id)
    await session.wait_idle()
    assert session.snapshot.session.due_chunk is None


async def _rebuild(session: SessionHandle) -> None:
    """Have the newest block of memory made again; one that a crash stopped is made first."""
    await session.wait_idle()
    last = session.snapshot.session.boundary
    request = await session.wait(await session.takes.rebuild_block(last))
    assert request.state is RequestState.DONE, request


async def _edit(session: SessionHandle) -> None:
    """Edit the newest block of memory by hand."""
    block = [one for one in await session.memory_blocks() if one.type is BlockType.TURN_DELTA][-1]
    where = {"where": f"Revision {block.revision} was not here.", "notable_environment_changes": []}
    await session.takes.edit_block(block.last, compact_json({**block.payload, "location_updates": where}))


async def _break_off(session: SessionHandle) -> None:
    """Send a prompt whose reply breaks off."""
    request = await session.wait(await session.submit_prompt(Slot.RED, CUT_OFF))
    assert request.has_failed, request


async def _keep(session: SessionHandle) -> None:
    """Keep the reply that broke off, as far as it came."""
    [failed] = session.snapshot.failed(ReplyRequest)
    await session.takes.keep_partial(failed.id)


DEEDS: Final[dict[str, Callable[[SessionHandle], Awaitable[None]]]] = {
    "settle": _settle,
    "rebuild": _rebuild,
    "edit": _edit,
    "break off": _break_off,
    "keep": _keep,
}
