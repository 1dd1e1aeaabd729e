"""Operations that only the screen offers, as a command of the killed program: `operation NAME SESSION`."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final
from uuid import UUID

from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import ReplyRequest, SummaryRequest
from core.domain.session.prompt_block import PromptBlock, PromptBlocks
from core.domain.slot import Slot
from core.domain.story.context_status import status_of
from core.domain.story.memory import BlockType, compact_json
from core.domain.story.secret import Secret
from core.engine.services.takes.memory_commands import LockMark
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.bootstrap import running_engine
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.screens.play.scene.sent_view import NEXT
from tests.torture.operations.operations_beside import OPERATIONS_BESIDE, require_done
from tests.torture.operations.operations_in_outage import OPERATIONS_IN_OUTAGE
from tests.torture.operations.operations_of_bank import OPERATIONS_OF_BANK
from tests.torture.operations.operations_of_library import OPERATIONS_OF_LIBRARY, OPERATIONS_OF_NEXT

CUT_OFF: Final = "Cut the reply to this off."
"""A prompt whose reply the replies of a torture break off in the middle."""


LOCK: Final = "The lamp of the tower stays dark."
"""A canon lock that the GM marks."""


async def operation(name: str, session: str) -> None:
    """Do it in this session, and close the session."""
    async with running_engine(await unlocked()) as engine:
        opened = await engine.open(SessionId(UUID(session)))
        try:
            if name in OPERATIONS:
                await OPERATIONS[name](opened)
            elif name in OPERATIONS_OF_LIBRARY:
                await OPERATIONS_OF_LIBRARY[name](engine.library)
            elif name in OPERATIONS_OF_NEXT:
                await OPERATIONS_OF_NEXT[name](engine)
            else:
                others = OPERATIONS_BESIDE | OPERATIONS_OF_BANK | OPERATIONS_IN_OUTAGE
                await others[name](engine, opened)
        finally:
            await opened.aclose()


async def _settle(session: SessionHandle) -> None:
    """Run the summary that is due, also one that an earlier process left unfinished."""
    await session.wait_idle()
    for failed in session.snapshot.failed(SummaryRequest):
        with suppress(IllegalCommandError):  # its time had come, and it was tried again
            await session.retry(failed.id)
    await session.wait_idle()
    assert session.snapshot.session.due_chunk is None


async def _send_again(session: SessionHandle) -> None:
    """Retry the prompt that a crash interrupted, if its answer was not stored."""
    await session.wait_idle()
    for failed in session.snapshot.failed(ReplyRequest):
        request = await session.wait(await session.retry(failed.id))
        require_done(request)


async def _ask_again(session: SessionHandle) -> None:
    """Ask for another take of the newest prompt, and have the memory made that was withdrawn with it."""
    await session.wait_idle()
    request = await session.wait(await session.takes.reroll())
    require_done(request)
    await session.wait_idle()


async def _rebuild(session: SessionHandle) -> None:
    """Rebuild the newest block of memory, after finishing a summary that a crash interrupted."""
    await session.wait_idle()
    last = session.snapshot.session.boundary
    request = await session.wait(await session.takes.rebuild_block(last))
    require_done(request)


async def _edit(session: SessionHandle) -> None:
    """Edit the newest block of memory by hand, after finishing a summary that a crash interrupted."""
    await session.wait_idle()
    block = [one for one in await session.reads.memory_blocks() if one.type is BlockType.TURN_DELTA][-1]
    where = {"where": f"Revision {block.revision} was not here.", "notable_environment_changes": []}
    await session.takes.edit_block(block.last, compact_json({**block.payload, "location_updates": where}))


async def _correct_reply(session: SessionHandle) -> None:
    """Write the newest reply by hand."""
    await session.takes.correct_reply(f"I was never at {new_uuid()}.")


async def _mark_lock(session: SessionHandle) -> None:
    """Pin a canon lock; strike it where it is pinned, and leave it to its block where it is struck."""
    kept = session.snapshot.session
    mark = (
        LockMark.STRUCK if LOCK in kept.pinned else LockMark.PLAIN if LOCK in kept.struck else LockMark.PINNED
    )
    await session.takes.mark_lock(LOCK, mark)


async def _retitle(session: SessionHandle) -> None:
    await session.edits.retitle(f"On a stage by {new_uuid()}")


async def _break_off(session: SessionHandle) -> None:
    """Send a prompt whose reply breaks off."""
    request = await session.wait(await session.submit_prompt(Slot.RED, CUT_OFF))
    assert request.has_failed, request


async def _keep(session: SessionHandle) -> None:
    """Keep the reply that broke off, as far as it came."""
    [failed] = session.snapshot.failed(ReplyRequest)
    await session.takes.keep_partial(failed.id)


async def _tell(session: SessionHandle) -> None:
    """Play up to the last prompt of a chunk but one: some of it is heard by everyone, some by one alone."""
    for slot, hearers in ((Slot.RED, _KARA), (Slot.ORANGE, _JOSS), (Slot.RED, None), (Slot.ORANGE, None)):
        await _ask(session, slot, hearers)


async def _ask(session: SessionHandle, slot: Slot = Slot.RED, hearers: Audience | None = None) -> None:
    text = f"What do you say to {new_uuid()}?"
    request = await session.wait(await session.submit_prompt(slot, text, heard_by=hearers))
    require_done(request)


async def _complete(session: SessionHandle) -> None:
    """Play the prompt that completes a chunk, until the chunk is in memory."""
    await _ask(session)
    await session.wait_idle()


async def _narrate(session: SessionHandle) -> None:
    await session.scene.narrate(f"It snows on {new_uuid()}.", hearers=_KARA)


async def _mark(session: SessionHandle) -> None:
    """Give the first line of the story the next status."""
    [first, *_] = await session.newest_canon()
    status = NEXT[status_of(first, session.snapshot.statuses)]
    await session.scene.set_status([first], status)


async def _write_block(session: SessionHandle) -> None:
    """Add a prompt block."""

    def with_another(blocks: PromptBlocks) -> PromptBlocks:
        text = f"Nobody names {new_uuid()}."
        return blocks.with_block(PromptBlock(id=blocks.next_id, name=f"Rule {blocks.next_id}", text=text))

    await session.edits.change_prompt_blocks(with_another)


async def _begin_scene(session: SessionHandle) -> None:
    await session.scene.begin_scene(f"At {new_uuid()}.", hearers=_KARA)


async def _roll(session: SessionHandle) -> None:
    await session.scene.roll("2d6+1")


async def _turn(session: SessionHandle) -> None:
    """Change who is present: one character leaves, or returns."""
    is_whole = session.snapshot.session.present.is_everyone
    await session.scene.set_present(_KARA if is_whole else (*_KARA, *_JOSS))


async def _hide(session: SessionHandle) -> None:
    """Add a secret."""
    await _add_secret(session, None)


async def _plan(session: SessionHandle) -> None:
    """Add a secret that is revealed when the next prompt is sent."""
    await _add_secret(session, session.snapshot.session.prompt_index + 1)


async def _add_secret(session: SessionHandle, reveal_at: int | None) -> None:
    secrets = session.snapshot.secrets
    added = Secret(
        number=len(secrets) + 1,
        text=f"The key is in {new_uuid()}.",
        known_by=_KARA,
        reveal_at=reveal_at,
        reveal_to=None if reveal_at is None else _JOSS,
    )
    await session.scene.edit_secrets([*secrets, added])


async def _reveal(session: SessionHandle) -> None:
    """Reveal the newest secret."""
    await session.scene.reveal(len(session.snapshot.secrets), _JOSS)


_KARA, _JOSS = Audience.of([Slot.RED]), Audience.of([Slot.ORANGE])

OPERATIONS: Final[dict[str, Callable[[SessionHandle], Awaitable[None]]]] = {
    "settle": _settle,
    "send again": _send_again,
    "ask again": _ask_again,
    "rebuild": _rebuild,
    "edit": _edit,
    "correct reply": _correct_reply,
    "mark lock": _mark_lock,
    "retitle": _retitle,
    "break off": _break_off,
    "keep": _keep,
    "tell": _tell,
    "ask": _ask,
    "complete": _complete,
    "narrate": _narrate,
    "roll": _roll,
    "mark": _mark,
    "write block": _write_block,
    "begin scene": _begin_scene,
    "turn": _turn,
    "hide": _hide,
    "plan": _plan,
    "reveal": _reveal,
}
