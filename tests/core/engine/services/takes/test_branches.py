"""Branches of a session, and chapter scripts that re-roll and undo, on a store in memory (design 12)."""

from contextlib import aclosing
from dataclasses import replace

import pytest

from core.config.models.assignments import defaults_for
from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.memory import BlockType
from core.engine.engine import Engine
from core.engine.scripts.player import ScriptPlayer
from core.engine.services.takes.branch import branch_at
from core.engine.services.takes.memory_commands import LockMark, mark_lock
from core.engine.session.session_handle import SessionHandle
from core.exchange.scripts.chapter_script import ChapterScriptError, parse_chapter_script
from core.exchange.session_export import read_body, to_json
from core.providers.scripted.provider import ScriptedProvider
from tests.core.rooms.room import Room
from tests.core.rooms.simulation import Simulation, active, with_limits
from tests.core.rooms.takes_model import CHUNK, play, room
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore, Rows

pytestmark = pytest.mark.anyio

SCRIPT = """
world = "A sea of glass."
chapter = "The lamp is out."
[[agent]]
name = "Kara"
[[prompt]]
text = "Who is there?"
takes = 3
[[prompt]]
text = "Jump."
undo = true
[[prompt]]
text = "What now?"
"""


async def test_a_branch_has_canon_and_memory_up_to_its_prompt_and_says_where_it_came_from() -> None:
    snapshot = with_limits(active(), chunk_size=CHUNK).snapshot
    rows = Rows(snapshot.session, snapshot.tab1)
    store = MemoryStore(MemoryDatabase({snapshot.session.id: rows}))
    rows.blocks = {block.id: block for block in snapshot.blocks}
    rows.canon_blocks = {block.place: block.id for block in snapshot.blocks}
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    session = await engine.open(snapshot.session.id)
    await play(session, *(f"Prompt {number}" for number in range(1, CHUNK + 2)))
    await session.takes.correct_reply("By hand.")
    await session.edits.correct_canon("Made after prompt 4.")
    await play(session, "Prompt 5")
    before = to_json(await read_body(store, session.id))
    branched = await engine.branch(session.id, CHUNK + 1)
    early = await engine.branch(session.id, CHUNK - 1)
    assert to_json(await read_body(store, session.id)) == before, "the session stays as it is"
    for at, fresh, kinds in (
        (CHUNK + 1, branched, [BlockType.TURN_DELTA, BlockType.CANON_CORRECTION]),
        (CHUNK - 1, early, []),
    ):
        made = (await store.load(fresh)).session
        assert (made.branched_from, made.branched_at) == (session.id, at)
        assert (made.prompt_index, made.canon_version, made.state) == (at, 0, SessionState.ACTIVE)
        canon = [(event.prompt_index, event.text) for event in await store.canon(fresh)]
        assert canon == [(e.prompt_index, e.text) for e in await store.canon(session.id, last=at)]
        assert {event.take for event in await store.log(fresh)} == {1}
        blocks = await store.blocks(fresh)
        assert [block.type for block in blocks] == [BlockType.WORLD_CHAPTER_LOCK, *kinds]
        opened = await engine.open(fresh)
        await play(opened, "And on")
        await opened.aclose()
    with pytest.raises(IllegalCommandError, match="it has prompts 1 to 5"):
        await engine.branch(session.id, 6)
    await session.aclose()
    await engine.aclose()


async def test_memory_of_a_branch_that_is_undone_and_redone_there_is_not_paid_for_again() -> None:
    snapshot = with_limits(active(), chunk_size=CHUNK).snapshot
    database = MemoryDatabase({snapshot.session.id: Rows(snapshot.session, snapshot.tab1)})
    async with aclosing(
        Engine(MemoryStore(database), ScriptedProvider(), defaults_for("scripted"), label="here")
    ) as engine:
        async with aclosing(await engine.open(snapshot.session.id)) as session:
            await play(session, *map(str, range(CHUNK)))
            fresh = await engine.branch(session.id, CHUNK)
        async with aclosing(await engine.open(fresh)) as branch:
            before = (await branch.reads.memory_blocks())[-1]
            await branch.takes.undo()
            await branch.takes.redo()
            await branch.wait_idle()
            after = (await branch.reads.memory_blocks())[-1]
            assert not await branch.reads.artifacts()
    assert after.id != before.id
    assert after.json_text == before.json_text


@pytest.mark.parametrize(
    "marker", ["\u00b2)", "9" * 5_000 + ")", "3)"], ids=["no decimal", "too long", "a number"]
)
async def test_a_chapter_is_branched_whatever_a_file_says_of_when_a_correction_was_made(marker: str) -> None:
    async with room().opened() as session:
        await play(session, *map(str, range(CHUNK)))
        await session.edits.correct_canon("The gate is open.")
        *blocks, correction = await session.reads.memory_blocks()
        odd = replace(correction, payload={**correction.payload, "made_after": marker})
        events = await session.reads.canon()
        body = branch_at(session.snapshot, events, (*blocks, odd), CHUNK, session.snapshot.session.updated_at)
        assert body.blocks[-1].payload == odd.payload


@pytest.mark.parametrize("mark", [LockMark.PINNED, LockMark.STRUCK])
async def test_in_a_branch_marked_canon_is_known_to_those_alone_whom_its_memory_tells_it(
    mark: LockMark,
) -> None:
    """One of them hears it in a whisper; later everyone does, and then the GM marks it."""
    async with room().opened() as session:
        await play(session, *map(str, range(2 * CHUNK)))
        lock, whispered, told = await session.reads.memory_blocks()
        only_red = Audience.of([Slot.RED])
        blocks = (
            lock,
            replace(whispered, payload={"canon_locks": ["The abbot lies."]}, audience=only_red),
            replace(told, payload={"canon_locks": ["The abbot lies."]}),
        )
        events, snapshot = await session.reads.canon(), replace(session.snapshot, blocks=blocks)
        now = snapshot.session.updated_at
        snapshot = snapshot.after(mark_lock(snapshot, "The abbot lies.", mark, now))
        early, late = (branch_at(snapshot, events[: 2 * at], blocks, at, now) for at in (CHUNK, 2 * CHUNK))
        assert early.session.private_pins == {"The abbot lies.": only_red}
        assert late.session.private_pins == {}
        assert late.session.pinned == early.session.pinned


async def played(scene: Room) -> SessionHandle:
    async with scene.opened() as session:
        await ScriptPlayer(session, parse_chapter_script(SCRIPT), lambda _: None).play()
        return session


async def test_a_script_rolls_again_and_takes_back_and_a_second_run_does_nothing_twice() -> None:
    scene = room()
    scene.store = type(scene.store)(Simulation().snapshot)
    session = await played(scene)
    canon = [event.text for event in await session.reads.canon() if event.role is Role.USER]
    assert canon == ["Who is there?", "What now?"]
    log = await scene.store.log(session.id)
    takes = [(event.prompt_index, event.take, event.text) for event in log if event.ordinal == 0]
    assert takes == [
        (1, 1, "Who is there?"),
        (1, 2, "Who is there?"),
        (1, 3, "Who is there?"),
        (2, 1, "Jump."),
        (2, 2, "What now?"),
    ]
    await played(scene)
    assert await scene.store.log(session.id) == log


@pytest.mark.parametrize("calls", range(1, 8))
async def test_a_script_that_stopped_anywhere_goes_on_to_the_same_log(calls: int) -> None:
    """A run that stops after some of its commits is run again."""

    class StopsError(Exception):
        pass

    scene = room()
    scene.store = type(scene.store)(Simulation().snapshot)
    steps: list[str] = []

    def count(step: object) -> None:
        steps.append(str(step))
        if len(steps) == calls:
            raise StopsError

    async with scene.opened() as session:
        with pytest.raises(StopsError):
            await ScriptPlayer(session, parse_chapter_script(SCRIPT), count).play()
        await session.wait_idle()
    session = await played(scene)
    log = await scene.store.log(session.id)
    assert [(event.prompt_index, event.take) for event in log if event.ordinal == 0] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 2),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [("takes = 0", "from 1 to 20"), ("takes = true", "from 1"), ('undo = "yes"', "true or")],
)
def test_takes_and_undo_of_a_script_have_bounds(line: str, problem: str) -> None:
    with pytest.raises(ChapterScriptError, match=problem):
        parse_chapter_script(SCRIPT.replace("takes = 3", line))
