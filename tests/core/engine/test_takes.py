"""Takes, undo, redo and rebuilt memory of an open session, on a store in memory (design 12)."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.errors import IllegalCommandError
from core.domain.event import Role
from core.domain.ids import RequestId, SessionId
from core.domain.memory import BlockType, compact_json, compared, without_empty
from core.domain.request import RequestState
from core.domain.session import SessionState
from core.domain.slot import Slot
from core.engine.canon import stale_blocks
from core.engine.session_handle import SessionHandle
from core.engine.sync.notifications import CanonChanged, EventsAppended
from core.engine.takes.commands import LockMark
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from core.store import SessionStore, Snapshot
from tests.core.faulty_store import FaultyStore
from tests.core.room import Room
from tests.core.simulation import active, with_limits

pytestmark = pytest.mark.anyio

CHUNK = 3


class RowStore(FaultyStore):
    """A store that is read from its rows: what the writer makes of its changes is checked against it."""

    async def load(self, session_id: SessionId, *, recent_prompts: int = 0) -> Snapshot:
        return self._one.snapshot(recent_prompts)


def room(*entries: Entry) -> Room:
    snapshot = with_limits(active(), chunk_size=CHUNK).snapshot
    scene = Room(snapshot, *entries)
    scene.store = RowStore(snapshot)
    return scene


async def done(session: SessionHandle, request_id: RequestId) -> None:
    request = await session.wait(request_id)
    assert request.state is RequestState.DONE, request
    await session.wait_idle()


async def play(session: SessionHandle, *texts: str) -> None:
    for text in texts:
        await done(session, await session.submit_prompt(Slot.RED, text))


async def story(session: SessionHandle) -> list[str]:
    return [event.text for event in await session.canon() if event.role is Role.USER]


@asynccontextmanager
async def played(*texts: str, entries: tuple[Entry, ...] = ()) -> AsyncIterator[tuple[Room, SessionHandle]]:
    scene = room(*entries)
    async with scene.opened() as session:
        await play(session, *texts)
        yield scene, session


def says(text: str, last: str, *, times: int | None = None) -> Entry:
    return Entry(match=ScriptMatch(last=last), text=text, times=times)


async def test_a_reply_is_rolled_again_and_the_newest_take_counts() -> None:
    entries = (says("First.", "Who?", times=1), says("Second.", "Who?"))
    async with played("Who?", entries=entries) as (scene, session):
        await done(session, await session.takes.reroll())
        assert [event.text for event in await session.canon()] == ["Who?", "Second."]
        assert [[event.text for event in take] for take in await session.takes.listed()] == [
            ["Who?", "First."],
            ["Who?", "Second."],
        ]
        assert session.snapshot.session.prompt_index == 1
        await session.takes.choose(1)
        assert [event.text for event in await session.canon()] == ["Who?", "First."]
        assert (await scene.heard(CanonChanged)).first == 1


async def test_another_take_is_asked_of_another_model_for_once() -> None:
    other = Entry(match=ScriptMatch(model="other"), text="By the other.")
    async with played("Who?", entries=(other,)) as (_, session):
        await done(session, await session.takes.reroll(model="other"))
        await play(session, "And now?")
        replies = [event.text for event in await session.canon() if event.role is Role.AGENT]
        assert [text == "By the other." for text in replies] == [True, False]


async def test_a_prompt_is_edited_and_sent_again() -> None:
    async with played("Who?", "Where?") as (_, session):
        await done(session, await session.takes.edit_and_resend("When?"))
        assert await story(session) == ["Who?", "When?"]


async def test_an_undone_prompt_is_back_in_front_of_what_was_typed_and_redo_takes_it_out_again() -> None:
    async with played("Who?", "Where?") as (scene, session):
        await session.save_unsent(Slot.RED, "typed")
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
        await session.correct_canon("The gate is open.")
        await session.takes.undo()
        assert (session.snapshot.session.boundary, session.snapshot.session.prompt_index) == (0, 2)
        blocks = await session.memory_blocks()
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
        await session.correct_canon("And the sea is low.")


async def test_a_running_summary_is_cancelled_and_made_again() -> None:
    hang = Entry(match=ScriptMatch.model_validate({"schema": "turn_delta"}), first_token=30.0, times=1)
    scene = room(hang)
    async with scene.opened() as session:
        for text in ("One", "Two", "Three"):
            await session.wait(await session.submit_prompt(Slot.RED, text))
        before = session.snapshot.session
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
        [_, partial] = await session.canon()
        assert "I am the keeper of the lamp.".startswith(partial.text)
        assert partial.metadata["origin"] == "partial"
        await done(session, await session.takes.continue_reply())
        [_, whole] = await session.canon()
        assert whole.text == f"{partial.text} of the lamp."
        assert whole.metadata["origin"] == "continued"


async def test_the_gm_corrects_a_reply_by_hand() -> None:
    async with played("Who?") as (_, session):
        await session.takes.correct_reply("I am nobody.")
        [prompt, reply] = await session.canon()
        assert (prompt.text, reply.text, reply.metadata["origin"]) == ("Who?", "I am nobody.", "corrected")


async def test_a_rebuilt_block_makes_later_ones_stale_until_they_are_rebuilt_in_order() -> None:
    async with played(*(f"Prompt {number}" for number in range(2 * CHUNK))) as (_, session):
        assert stale_blocks(await session.memory_blocks()) == frozenset()
        await done(session, await session.takes.rebuild_block(CHUNK))
        blocks = await session.memory_blocks()
        assert stale_blocks(blocks) == {blocks[-1].id}
        assert session.snapshot.session.boundary == 2 * CHUNK
        await done(session, await session.takes.rebuild_block(2 * CHUNK))
        assert stale_blocks(await session.memory_blocks()) == frozenset()


async def test_the_gm_edits_a_block_and_the_text_before_is_in_no_later_input() -> None:
    async with played(*(f"Prompt {number}" for number in range(CHUNK))) as (_, session):
        before = (await session.memory_blocks())[-1]
        text = compact_json({**before.payload, "canon_locks": ["The gate is shut."], "range": None})
        await session.takes.edit_block(CHUNK, text)
        [_, block] = await session.memory_blocks()
        assert (block.is_by_gm, block.payload["canon_locks"]) == (True, ["The gate is shut."])
        assert block.payload["range"] == before.payload["range"], "the engine's truth"
        [past] = await session.takes.revisions()
        assert past.id == before.id
        lines = compared(past, block)
        assert any("The gate is shut." in line for line in lines if line.startswith("+ "))
        with pytest.raises(IllegalCommandError, match="not valid memory"):
            await session.takes.edit_block(CHUNK, "{}")


async def test_pinned_and_struck_canon_survives_every_revision() -> None:
    async with played(*(f"Prompt {number}" for number in range(CHUNK))) as (_, session):
        before = (await session.memory_blocks())[-1]
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


async def last_input(session: SessionHandle) -> str:
    """Return the input of the newest call of a character."""
    call = [call for call in await session.artifacts() if call.agent_id == 1][-1]
    manifest = (await session.contents([call.input_ref]))[call.input_ref]
    return "\n".join((await session.contents([part for _, _, part in json.loads(manifest)])).values())


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
            *("submit", "submit", "submit", "submit", "reroll", "edit", "undo", "undo", "redo", "choose"),
            *("correct", "canon", "rebuild", "reopen"),
        ]
    ),
    max_size=24,
)


class Model:
    """What canon must be after each step, and the checks of everything that must hold."""

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self.story: list[str] = []
        self.undone: list[str] = []
        self.seen: set[object] = set()
        self.inputs = 0
        self.count = 0

    def text(self) -> str:
        self.count += 1
        return f"P{self.count}x"

    async def step(self, session: SessionHandle, step: str) -> None:
        takes = session.takes
        match step:
            case "submit":
                self.story.append(self.text())
                self.undone.clear()
                await play(session, self.story[-1])
            case "reroll" if self.story:
                self.undone.clear()
                await done(session, await takes.reroll())
            case "edit" if self.story:
                self.undone.clear()
                self.story[-1] = self.text()
                await done(session, await takes.edit_and_resend(self.story[-1]))
            case "undo" if self.story:
                self.undone.append(self.story.pop())
                await takes.undo()
            case "redo" if self.undone:
                self.story.append(self.undone.pop())
                await takes.redo()
            case "choose" if self.story:
                listed = await takes.listed()
                counts = next(event for event in await session.canon(first=len(self.story)))
                others = [take for take in listed if take[0].take != counts.take]
                if others:
                    self.undone.clear()
                    self.story[-1] = others[0][0].text
                    await takes.choose(others[0][0].take)
            case "correct" if self.story:
                self.undone.clear()
                await takes.correct_reply(f"By hand {self.text()}")
            case "canon":
                await session.correct_canon("The gate is open.")
            case "rebuild" if session.snapshot.session.boundary:
                await done(session, await takes.rebuild_block(session.snapshot.session.boundary))
        await session.wait_idle()

    async def check(self, session: SessionHandle) -> None:
        store, session_id = self.store, session.id
        assert await story(session) == self.story
        log = {event.id for event in await store.log(session_id)}
        memory = {block.id for block in (*await store.blocks(session_id), *await store.revisions(session_id))}
        assert self.seen <= log | memory, "what was played stays"
        self.seen = log | memory
        takes = await store.takes(session_id)
        assert len(takes) == len(self.story) + len(self.undone)
        await self._check_snapshot(session)
        await self._check_inputs(session)

    async def _check_snapshot(self, session: SessionHandle) -> None:
        """Check that what the writer knows is what is stored."""
        stored = await self.store.load(session.id)
        known = session.snapshot
        if known.is_recent_known:
            assert (known.recent, known.undone, known.takes) == (stored.recent, stored.undone, stored.takes)
        for field in ("session", "corrections", "requests", "unsent", "draft_count"):
            assert getattr(known, field) == getattr(stored, field), field
        if known.is_memory_known:
            assert known.blocks == tuple(await self.store.memory(session.id))

    async def _check_inputs(self, session: SessionHandle) -> None:
        """Check that the calls since the last check were given nothing but canon."""
        calls = await session.artifacts()
        canon = set(re.findall(r"P\d+x", " ".join(event.text for event in await session.canon())))
        blocks = {compact_json(without_empty(block.payload)) for block in await session.memory_blocks()}
        past = {
            text
            for block in await self.store.revisions(session.id)
            if block.type is BlockType.TURN_DELTA
            and (text := compact_json(without_empty(block.payload))) not in blocks
        }
        for call in calls[self.inputs :]:
            manifest = (await session.contents([call.input_ref]))[call.input_ref]
            parts = await session.contents([part for _, _, part in json.loads(manifest)])
            given_ = "\n".join(parts.values())
            assert set(re.findall(r"P\d+x", given_)) <= canon
            if call.agent_id != 8:
                assert not [text for text in past if text in given_], "memory that was withdrawn"
        self.inputs = len(calls)


@given(STEPS)
@settings(max_examples=40, deadline=None)
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
