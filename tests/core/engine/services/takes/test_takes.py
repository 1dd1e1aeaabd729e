"""Takes, undo, redo and rebuilt memory of an open session, on a store in memory (design 12)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.audience import Audience
from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.requests.request import SummaryRequest
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from core.domain.story.event import Role
from core.domain.story.memory import BlockType, compact_json, compared
from core.engine.changes.canon import stale_blocks
from core.engine.services.takes.memory_commands import LockMark
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import CallStarted, CanonChanged, EventsAppended
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import CHUNK, Model, done, play, room, story

pytestmark = pytest.mark.anyio
ONLY_ORANGE = Audience.of((Slot.ORANGE,))


@asynccontextmanager
async def played(*texts: str, entries: tuple[Entry, ...] = ()) -> AsyncIterator[tuple[Room, SessionHandle]]:
    scene = room(*entries)
    async with scene.opened() as session:
        await play(session, *texts)
        yield scene, session


async def whisper(session: SessionHandle, text: str) -> None:
    await done(session, await session.submit_prompt(Slot.ORANGE, text, heard_by=ONLY_ORANGE))


def says(text: str, last: str, *, times: int | None = None) -> Entry:
    return Entry(match=ScriptMatch(last=last), text=text, times=times)


async def test_a_reply_is_rolled_again_and_the_newest_take_counts() -> None:
    entries = (says("First.", "Who?", times=1), says("Second.", "Who?"))
    async with played("Who?", entries=entries) as (scene, session):
        await done(session, await session.takes.reroll())
        assert [event.text for event in await session.reads.canon()] == ["Who?", "Second."]
        assert [[event.text for event in take] for take in await session.takes.listed()] == [
            ["Who?", "First."],
            ["Who?", "Second."],
        ]
        assert session.snapshot.session.prompt_index == 1
        await session.takes.choose(1)
        assert [event.text for event in await session.reads.canon()] == ["Who?", "First."]
        assert (await scene.heard(CanonChanged)).first == 1


async def test_another_take_is_given_exactly_what_the_first_one_was_also_at_the_end_of_a_chunk() -> None:
    async with played() as (_, session):
        await session.scene.narrate("It has been raining for a week.")
        for number in range(1, 2 * CHUNK + 1):
            await play(session, f"Prompt {number}")
            await done(session, await session.takes.reroll())
            first, again = [call for call in await session.reads.artifacts() if call.agent_id == Slot.RED][
                -2:
            ]
            assert again.input_hash == first.input_hash, f"prompt {number}"
            await session.scene.narrate(f"A line after prompt {number}.")


async def test_another_take_is_asked_of_another_model_for_once() -> None:
    other = Entry(match=ScriptMatch(model="other"), text="By the other.")
    async with played("Who?", entries=(other,)) as (_, session):
        await done(session, await session.takes.reroll(model="other"))
        await play(session, "And now?")
        replies = [event.text for event in await session.reads.canon() if event.role is Role.AGENT]
        assert [text == "By the other." for text in replies] == [True, False]


async def test_a_prompt_is_edited_and_sent_again() -> None:
    async with played("Who?", "Where?") as (_, session):
        await session.takes.undo()
        await play(session, "When?")
        assert await story(session) == ["Who?", "When?"]
        assert [take[0].text for take in await session.takes.listed()] == ["Where?", "When?"]


async def test_an_undone_prompt_is_back_in_front_of_what_was_typed_and_redo_takes_it_out_again() -> None:
    async with played("Who?", "Where?") as (scene, session):
        await session.edits.save_unsent(Slot.RED, "typed")
        await session.takes.undo()
        assert await story(session) == ["Who?"]
        assert session.snapshot.unsent == {Slot.RED: "Where?\n\ntyped"}
        await session.takes.redo()
        assert await story(session) == ["Who?", "Where?"]
        assert session.snapshot.unsent == {Slot.RED: "typed"}
        appended = [one for one in scene.notifications if isinstance(one, EventsAppended)]
        assert len(appended) == 3, "a prompt that is redone is appended"


async def test_a_new_prompt_ends_redo_and_is_a_take_of_its_own() -> None:
    async with played("One", "Two", "Three") as (scene, session):
        await session.takes.undo()
        await session.takes.undo()
        await play(session, "Other")
        with pytest.raises(IllegalCommandError, match="nothing to redo"):
            await session.takes.redo()
        await play(session, "Third")
        assert await story(session) == ["One", "Other", "Third"]
        log = await scene.store.log(session.id)
        assert [(event.prompt_index, event.take) for event in log if event.ordinal == 0] == [
            (1, 1),
            (2, 1),
            (2, 2),
            (3, 1),
            (3, 2),
        ]


async def test_the_last_prompt_of_a_chunk_is_undone_with_its_block_and_corrections_stay() -> None:
    async with played("One", "Two", "Three") as (scene, session):
        assert session.snapshot.session.boundary == CHUNK
        await session.edits.correct_canon("The gate is open.")
        await session.takes.undo()
        assert (session.snapshot.session.boundary, session.snapshot.session.prompt_index) == (0, 2)
        blocks = await session.reads.memory_blocks()
        assert [(block.type, block.place) for block in blocks] == [
            (BlockType.WORLD_CHAPTER_LOCK, (0, 0)),
            (BlockType.CANON_CORRECTION, (0, 1)),
        ]
        assert [block.type for block in await scene.store.revisions(session.id)] == [
            BlockType.TURN_DELTA,
            BlockType.CANON_CORRECTION,
        ]
        await play(session, "Drei")
        assert session.snapshot.session.boundary == CHUNK, "the summary is made again"
        await session.edits.correct_canon("And the sea is low.")


async def test_withdrawn_memory_has_older_prompts_read_again_for_the_next_input() -> None:
    async with played(*(f"Prompt {number}" for number in range(1, 2 * CHUNK + 1))) as (_, session):
        await session.takes.undo()
        assert session.snapshot.session.boundary == CHUNK
        snapshot = await session._writer.know_memory()
        assert [event.prompt_index for event in snapshot.recent if event.ordinal == 0] == [1, 2, 3, 4, 5]


async def test_a_running_summary_is_cancelled_and_made_again() -> None:
    hang = Entry(match=ScriptMatch.model_validate({"schema": "turn_delta"}), first_token=3_600.0, times=1)
    scene = room(hang)
    async with scene.opened() as session:
        for text in ("One", "Two", "Three"):
            await session.wait(await session.submit_prompt(Slot.RED, text))
        before = session.snapshot.session
        await scene.heard(CallStarted, lambda notice: isinstance(notice.request, SummaryRequest))
        await done(session, await session.takes.reroll())
        after = session.snapshot.session
        assert (before.state, before.boundary) == (SessionState.SUMMARIZING, 0)
        assert (after.state, after.boundary) == (SessionState.ACTIVE, CHUNK)


async def test_a_failed_take_leaves_canon_and_is_retried_as_a_take() -> None:
    fault = Entry(match=ScriptMatch(last="Who?"), fault=Fault.SERVER_ERROR, calls=(2,))
    async with played("Who?", entries=(fault,)) as (_, session):
        request = await session.wait(await session.takes.reroll())
        assert request.has_failed
        assert session.snapshot.unsent == {}, "canon has the text"
        await done(session, await session.retry(request.id))
        assert session.snapshot.session.prompt_index == 1
        assert len(await session.takes.listed()) == 2


async def test_a_failed_take_is_given_up_when_its_prompt_is_undone() -> None:
    fault = Entry(match=ScriptMatch(last="Two"), fault=Fault.SERVER_ERROR, times=1)
    async with played("One", "Two", entries=(says("Good.", "Two", times=1), fault)) as (_, session):
        asked = await session.takes.reroll()
        assert (await session.wait(asked)).has_failed
        await session.takes.undo()
        with pytest.raises(IllegalCommandError):
            await session.retry(asked)
        assert session.snapshot.session.prompt_index == 1


async def test_a_stopped_reply_is_kept_as_far_as_it_came_and_then_continued() -> None:
    entries = (
        Entry(match=ScriptMatch(last="Who?"), text="I am the keeper of the lamp.", fault=Fault.CUT, times=1),
        says("of the lamp.", "Continue your last reply"),
    )
    async with room(*entries).opened() as session:
        request = await session.wait(await session.submit_prompt(Slot.RED, "Who?"))
        assert request.has_failed
        await session.takes.keep_partial(request.id)
        assert session.snapshot.unsent == {}
        [_, partial] = await session.reads.canon()
        assert "I am the keeper of the lamp.".startswith(partial.text)
        assert partial.metadata["origin"] == "partial"
        await done(session, await session.takes.continue_reply())
        [_, whole] = await session.reads.canon()
        assert whole.text == f"{partial.text} of the lamp."
        assert whole.metadata["origin"] == "continued"


async def test_the_gm_corrects_a_reply_by_hand() -> None:
    async with played("Who?") as (_, session):
        await session.takes.correct_reply("I am nobody.")
        [prompt, reply] = await session.reads.canon()
        assert (prompt.text, reply.text, reply.metadata["origin"]) == ("Who?", "I am nobody.", "corrected")


async def test_a_rebuilt_block_makes_later_ones_stale_until_they_are_rebuilt_in_order() -> None:
    async with played(*(f"Prompt {number}" for number in range(2 * CHUNK))) as (_, session):
        assert stale_blocks(await session.reads.memory_blocks()) == frozenset()
        await done(session, await session.takes.rebuild_block(CHUNK))
        blocks = await session.reads.memory_blocks()
        assert stale_blocks(blocks) == {blocks[-1].id}
        assert session.snapshot.session.boundary == 2 * CHUNK
        await done(session, await session.takes.rebuild_block(2 * CHUNK))
        assert stale_blocks(await session.reads.memory_blocks()) == frozenset()


async def test_the_gm_edits_a_block_and_the_text_before_is_in_no_later_input() -> None:
    async with played(*(f"Prompt {number}" for number in range(CHUNK))) as (_, session):
        before = (await session.reads.memory_blocks())[-1]
        text = compact_json({**before.payload, "canon_locks": ["The gate is shut."], "range": None})
        await session.takes.edit_block(CHUNK, text)
        [_, block] = await session.reads.memory_blocks()
        assert (block.is_by_gm, block.payload["canon_locks"]) == (True, ["The gate is shut."])
        assert block.payload["range"] == before.payload["range"], "the engine's truth"
        [past] = await session.takes.revisions()
        assert past.id == before.id
        lines = compared(past, block)
        assert any("The gate is shut." in line for line in lines if line.startswith("+ "))
        with pytest.raises(IllegalCommandError, match="not valid memory"):
            await session.takes.edit_block(CHUNK, "{}")


async def test_a_slip_in_an_edited_block_is_said_with_its_place_and_never_repaired_unasked() -> None:
    async with played(*(f"Prompt {number}" for number in range(CHUNK))) as (_, session):
        before = await session.reads.memory_blocks()
        locks = ["He said no.", "The gate is shut."]
        text = json.dumps({**before[-1].payload, "canon_locks": locks}, indent=2)
        slip = text.replace('"He said no."', '"He said "no"."')
        line = next(number for number, one in enumerate(slip.splitlines(), 1) if "He said" in one)
        with pytest.raises(IllegalCommandError, match=rf"line {line}, column 15 on it is not JSON"):
            await session.takes.edit_block(CHUNK, slip)
        assert await session.reads.memory_blocks() == before


async def test_pinned_and_struck_canon_survives_every_revision() -> None:
    async with played(*(f"Prompt {number}" for number in range(CHUNK))) as (_, session):
        before = (await session.reads.memory_blocks())[-1]
        text = compact_json({**before.payload, "canon_locks": ["The gate is shut.", "Joss is dead."]})
        await session.takes.edit_block(CHUNK, text)
        await session.takes.mark_lock("The gate is shut.", LockMark.PINNED)
        await session.takes.mark_lock("joss is  DEAD.", LockMark.STRUCK)
        await play(session, "One")
        pinned = await last_input(session)
        assert ("The gate is shut." in pinned, "Joss is dead." in pinned) == (True, False)
        await done(session, await session.takes.rebuild_block(CHUNK))
        await play(session, "Two")
        assert "The gate is shut." in await last_input(session), "the new revision does not have it"
        await session.takes.mark_lock("The gate is shut.", LockMark.PLAIN)
        await done(session, await session.takes.reroll())
        assert "The gate is shut." not in await last_input(session)


async def test_a_private_lock_that_no_block_has_any_more_stays_private_when_it_is_pinned_again() -> None:
    async with played() as (_, session):
        await whisper(session, "The key is false.")
        await play(session, "Two", "Three")
        before = (await session.reads.memory_blocks())[-1]
        text = compact_json({**before.payload, "canon_locks": ["The key is false."]})
        await session.takes.edit_block(CHUNK, text, ordinal=before.ordinal)
        await session.takes.mark_lock("The key is false.", LockMark.PINNED)
        await done(session, await session.takes.rebuild_block(CHUNK))
        for mark in (LockMark.PINNED, LockMark.STRUCK, LockMark.PINNED):
            await session.takes.mark_lock("the KEY is false.", mark)
            assert list(session.snapshot.session.private_pins.values()) == [ONLY_ORANGE]
        await play(session, "And you?")
        assert "KEY is false" not in await last_input(session)


async def test_a_block_is_not_paid_for_again_where_corrections_leave_no_place_for_what_some_heard() -> None:
    fault = Entry(match=ScriptMatch(schema="turn_delta"), fault=Fault.SERVER_ERROR, calls=(2,))
    async with played(entries=(fault,)) as (_, session):
        await whisper(session, "Between us.")
        whispered = await session.reads.canon()
        await session.scene.set_status(whispered, ContextStatus.NEVER)
        await play(session, "Two", "Three")
        await session.edits.correct_canon("The gate is open.")
        before = await session.reads.memory_blocks()
        failed = await session.wait(await session.takes.rebuild_block(CHUNK))
        assert failed.error_code is ErrorCode.LLM_SERVER_ERROR
        calls = [one for one in await session.reads.artifacts() if one.model]
        await session.scene.set_status(whispered, ContextStatus.DEFAULT)
        with pytest.raises(IllegalCommandError, match="no place for lines that only some heard"):
            await session.takes.rebuild_block(CHUNK)
        again = await session.wait(await session.retry(failed.id))
        assert again.error_code is ErrorCode.ILLEGAL_COMMAND
        assert [one for one in await session.reads.artifacts() if one.model] == calls
        assert await session.reads.memory_blocks() == before
        await session.scene.set_status(whispered, ContextStatus.NEVER)
        await done(session, await session.retry(failed.id))
        assert [one.place for one in await session.reads.memory_blocks()] == [(0, 0), (CHUNK, 0), (CHUNK, 1)]


async def last_input(session: SessionHandle) -> str:
    """Return the input of the newest call of a character."""
    call = [call for call in await session.reads.artifacts() if call.agent_id == 1][-1]
    manifest = (await session.reads.contents([call.input_ref]))[call.input_ref]
    return "\n".join((await session.reads.contents([part for _, _, part in json.loads(manifest)])).values())


async def test_what_makes_no_sense_is_refused_with_a_sentence() -> None:
    async with room().opened() as session:
        for command in (session.takes.undo, session.takes.reroll, session.takes.continue_reply):
            with pytest.raises(IllegalCommandError, match="No prompt was played yet"):
                await command()
        await play(session, "Who?")
        with pytest.raises(IllegalCommandError, match="counts already"):
            await session.takes.choose(1)
        with pytest.raises(IllegalCommandError, match="no such take"):
            await session.takes.choose(9)
        with pytest.raises(IllegalCommandError, match="No memory ends"):
            await session.takes.rebuild_block(1)
        await session.end_chapter()
        await session.wait_idle()
        with pytest.raises(IllegalCommandError, match="branch it"):
            await session.takes.undo()


STEPS = st.lists(
    st.sampled_from(
        [
            *("submit", "submit", "submit", "submit", "reroll", "undo", "undo", "redo", "choose"),
            *("correct", "canon", "rebuild", "reopen"),
        ]
    ),
    max_size=24,
)


@given(STEPS)
def test_whatever_is_played_and_taken_back_the_log_keeps_it_and_inputs_have_canon_alone(
    steps: list[str],
) -> None:
    async def run() -> None:
        scene = room()
        model, left = Model(scene.store), list(steps)
        while True:
            async with scene.opened() as session:
                await model.check(session)
                while left and (step := left.pop(0)) != "reopen":
                    await model.step(session, step)
                    await model.check(session)
                if not left:
                    return

    asyncio.run(run())
