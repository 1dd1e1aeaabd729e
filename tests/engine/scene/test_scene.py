"""Who knows what: presence, whispers, lines, rolls, secrets, and a memory for each audience (design 13)."""

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from core.domain.audience import EVERYONE, Audience
from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import SummaryRequest
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.memory import BlockType, compact_json
from core.domain.story.secret import Secret
from core.engine.services.save_points.save_points import SavePoints
from core.engine.services.takes.memory_commands import LockMark
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import from_json, read_body, to_json
from core.providers.base import Completion, ModelRequest, TextDelta
from db.store import PostgresStore
from tests.engine.windows import Recorder, chapter, create, done, engine_on, is_summary, set_up, window

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
ALONE = {slot: Audience.of([slot]) for slot in Slot}


async def say(session: SessionHandle, slot: Slot, text: str, heard_by: Audience | None = None) -> None:
    await done(session, await session.submit_prompt(slot, text, heard_by=heard_by))
    await session.wait_idle()


def heard(session: SessionHandle, slot: Slot) -> str:
    return "\n".join(event.text for event in session.snapshot.known_to(slot).events)


def remembered(session: SessionHandle, slot: Slot) -> list[tuple[int, int]]:
    return [block.place for block in session.snapshot.known_to(slot).blocks]


def text_of(call: ModelRequest) -> str:
    return "\n".join(message.content for message in call.messages)


def inputs_for(model: Recorder, name: str) -> str:
    """Return every input of a character."""
    return "\n".join(text_of(call) for call in model.calls if f"Name: {name}" in text_of(call))


async def known(session: SessionHandle) -> None:
    """Read the memory, which a session opens without."""
    await session._writer.know_memory()


async def test_a_prompt_is_heard_by_those_present_and_always_by_the_one_addressed(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        await say(session, RED, "All hear this.")
        await session.scene.set_present([RED, ORANGE])
        await say(session, RED, "Yellow has left.")
        await say(session, YELLOW, "You alone are called from outside.")
        assert [event.audience for event in session.snapshot.recent if event.ordinal == 0] == [
            EVERYONE,
            Audience.of([RED, ORANGE]),
            EVERYONE,
        ]
        await known(session)
        assert "Yellow has left." in heard(session, ORANGE)
        assert "Yellow has left." not in heard(session, YELLOW)
    assert "Yellow has left." not in inputs_for(model, "Agent Yellow")


async def test_a_whisper_and_its_reply_are_known_to_the_one_addressed_alone(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        await say(session, ORANGE, "Take the brass key.", ALONE[ORANGE])
        for slot in (RED, ORANGE, YELLOW):
            await say(session, slot, "What now?")
        reply = session.snapshot.recent[1].text
    assert "brass key" in inputs_for(model, "Agent Orange")
    for name in ("Agent Red", "Agent Yellow"):
        assert "brass key" not in inputs_for(model, name)
        assert reply not in inputs_for(model, name)


async def test_a_chunk_makes_a_delta_for_everyone_and_one_for_each_narrower_audience(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=4) as session:
        await say(session, RED, "The hall is empty.")
        await say(session, RED, "Count the candles.", Audience.of([RED, ORANGE]))
        await say(session, ORANGE, "Hide the knife.", ALONE[ORANGE])
        await say(session, YELLOW, "The door opens.")
        assert [(block.place, block.audience) for block in session.snapshot.blocks] == [
            ((0, 0), EVERYONE),
            ((4, 0), EVERYONE),
            ((4, 1), Audience.of([RED, ORANGE])),
            ((4, 2), ALONE[ORANGE]),
        ]
        assert remembered(session, RED) == [(0, 0), (4, 0), (4, 1)]
        assert remembered(session, ORANGE) == [(0, 0), (4, 0), (4, 1), (4, 2)]
        assert remembered(session, YELLOW) == [(0, 0), (4, 0)]
        assert session.snapshot.session.boundary == 4
    public, pair, alone = (text_of(call) for call in model.calls if is_summary(call))
    told = [
        [word in text for word in ("The door opens.", "candles", "knife")] for text in (public, pair, alone)
    ]
    assert told == [[True, False, False], [True, True, False], [True, True, True]]


async def test_a_chunk_of_one_audience_makes_one_delta_also_where_that_is_not_everyone(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=2) as session:
        await session.scene.set_present([RED, ORANGE])
        await say(session, RED, "We are two.")
        await say(session, ORANGE, "Still two.")
        assert [(block.place, block.audience) for block in session.snapshot.blocks[1:]] == [
            ((2, 0), Audience.of([RED, ORANGE]))
        ]
        await session.scene.set_present([RED, ORANGE, YELLOW])
        await say(session, YELLOW, "Three again.")
        await say(session, RED, "So we are.")
        assert remembered(session, YELLOW) == [(0, 0), (4, 0)]
    assert sum(is_summary(call) for call in model.calls) == 2


class FailsAtSummary(Recorder):
    """A model that is away at the summary with this number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        async for item in super().stream(request):
            if is_summary(request) and sum(map(is_summary, self.calls)) == self.number:
                raise StoryEngineError(ErrorCode.LLM_TIMEOUT)
            yield item


async def test_private_deltas_that_were_stored_are_not_paid_for_again_after_a_failure(
    store: PostgresStore,
) -> None:
    model = FailsAtSummary(2)
    async with chapter(store, model, chunk_size=2) as session:
        await say(session, RED, "Said to all.")
        await say(session, ORANGE, "Said to one.", ALONE[ORANGE])
        assert session.snapshot.session.boundary == 0
        [part] = await session.takes.revisions()
        assert (part.place, part.audience) == ((2, 0), EVERYONE)
    async with window(store, model, session.id) as session:
        await session.retry(session.snapshot.failed(SummaryRequest)[0].id)
        await session.wait_idle()
        assert [block.id for block in await session.reads.memory_blocks()][1] == part.id
        assert [block.place for block in session.snapshot.blocks] == [(0, 0), (2, 0), (2, 1)]
        assert await session.takes.revisions() == []
    assert sum(map(is_summary, model.calls)) == 3


async def test_a_line_of_the_gm_opens_the_chapter_or_follows_a_prompt_and_counts_as_none(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=2) as session:
        await session.scene.narrate("It rains on the harbour.")
        await say(session, RED, "You wake up.")
        await session.scene.narrate("A bell rings, and only Red hears it.", hearers=[RED])
        await say(session, ORANGE, "And you?")
        await session.scene.narrate("The tide turns.")
        assert session.snapshot.session.prompt_index == 2
        lines = [event for event in await session.reads.canon() if event.role is Role.SYSTEM]
        assert [event.place for event in lines] == [(0, 0), (1, 2), (2, 2)]
        await say(session, RED, "Go on.")
        assert "The tide turns." in heard(session, RED)
        assert "A bell rings" in heard(session, RED)
        assert "A bell rings" not in heard(session, ORANGE)
        again = await session.reads.canon()
    async with window(store, model, session.id) as session:
        assert await session.reads.canon() == again
        await say(session, RED, "And on.")
        assert session.snapshot.session.boundary == 4
    summaries = [text_of(call) for call in model.calls if is_summary(call)]
    assert [("It rains" in one, "The tide turns." in one) for one in summaries[:2]] == [(True, False)] * 2
    assert any("The tide turns." in one for one in summaries[2:])
    assert "It rains on the harbour." in inputs_for(model, "Agent Red")


async def test_dice_are_rolled_by_the_program_and_every_die_is_kept(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        session.scene.draw = lambda sides: sides - 1
        rolled = await session.scene.roll("2d6 + 1")
        assert (rolled.values, rolled.total) == ((6, 6), 13)
        await say(session, RED, "You try the lock.")
        [line] = [event for event in await session.reads.canon() if event.role is Role.SYSTEM]
        assert line.text == "[Roll 2d6+1: 6, 6; total 13]"
        assert line.metadata == {"roll": {"notation": "2d6+1", "dice": [6, 6], "total": 13}}
        with pytest.raises(IllegalCommandError, match="d20"):
            await session.scene.roll("two dice")
    assert "[Roll 2d6+1: 6, 6; total 13]" in inputs_for(model, "Agent Red")


SECRET = "The captain is his own brother."


async def with_secret(store: PostgresStore, model: Recorder, **more: object) -> SessionId:
    async with window(store, session_id=await create(store)) as session:
        await set_up(session)
        plan = Secret(number=1, text=SECRET, known_by=ALONE[RED], **more)  # type: ignore[arg-type]
        await session.scene.edit_secrets([plan])
        await done(session, await session.lock())
        return session.id


async def test_a_secret_is_in_the_inputs_of_those_who_know_it_until_its_reveal(store: PostgresStore) -> None:
    model = Recorder()
    session_id = await with_secret(store, model, reveal_at=3, reveal_to=Audience.of([ORANGE]))
    async with window(store, model, session_id) as session:
        for slot in (RED, ORANGE):
            await say(session, slot, "Who is the captain?")
        assert SECRET in inputs_for(model, "Agent Red")
        assert SECRET not in inputs_for(model, "Agent Orange")
        model.calls.clear()
        for slot in (ORANGE, YELLOW):
            await say(session, slot, "And now?")
        assert SECRET in inputs_for(model, "Agent Orange")
        assert SECRET not in inputs_for(model, "Agent Yellow")
        lines = [event for event in await session.reads.canon() if event.role is Role.SYSTEM]
        assert [(line.place, line.audience, line.reveals) for line in lines] == [((2, 2), ALONE[ORANGE], 1)]
        # Undone down to before the line, it is a secret again, and is revealed once more when it is due.
        for _ in range(3):
            await session.takes.undo()
        model.calls.clear()
        await say(session, ORANGE, "Once more?")
        assert SECRET not in inputs_for(model, "Agent Orange")
        await say(session, ORANGE, "And a last time?")
        assert SECRET in inputs_for(model, "Agent Orange")


async def test_a_secret_that_is_played_stays_and_can_be_revealed_by_hand(store: PostgresStore) -> None:
    model = Recorder()
    async with window(store, model, await with_secret(store, model)) as session:
        secrets = session.snapshot.secrets
        for changed in ([], [replace(secrets[0], text="He is his sister.")]):
            with pytest.raises(IllegalCommandError, match="stays as it is"):
                await session.scene.edit_secrets(changed)
        more = Secret(number=2, text="The map is wrong.", known_by=ALONE[YELLOW])
        await session.scene.edit_secrets([*secrets, more])
        await session.scene.reveal(1, [YELLOW])
        with pytest.raises(IllegalCommandError, match="know that secret already"):
            await session.scene.reveal(1, [YELLOW])
        await say(session, YELLOW, "Well?")
        assert session.snapshot.known_to(YELLOW).secrets == (SECRET, more.text)
        assert session.snapshot.known_to(ORANGE).secrets == ()
    async with window(store, model, session.id) as session:
        await known(session)
        assert session.snapshot.known_to(YELLOW).secrets == (SECRET, more.text)


async def test_a_take_keeps_who_heard_it_and_the_lines_after_it(store: PostgresStore) -> None:
    async with chapter(store, Recorder()) as session:
        await say(session, ORANGE, "Only you hear me.", ALONE[ORANGE])
        await session.scene.narrate("Snow falls.")
        await done(session, await session.takes.reroll())
        newest = [event for event in session.snapshot.recent if event.prompt_index == 1]
        assert [(event.take, event.ordinal, event.audience) for event in newest] == [
            (2, 0, ALONE[ORANGE]),
            (2, 1, ALONE[ORANGE]),
            (2, 2, EVERYONE),
        ]
        await session.takes.correct_reply("I hear you.")
        assert [event.text for event in session.snapshot.recent][1:] == ["I hear you.", "Snow falls."]


async def test_a_withdrawn_chunk_takes_its_private_deltas_with_it(store: PostgresStore) -> None:
    async with chapter(store, Recorder(), chunk_size=2) as session:
        await say(session, RED, "To all.")
        await say(session, ORANGE, "To you.", ALONE[ORANGE])
        assert [block.place for block in session.snapshot.blocks] == [(0, 0), (2, 0), (2, 1)]
        await session.edits.correct_canon("It was Tuesday.")
        await session.takes.undo()
        assert [(block.type, block.place) for block in session.snapshot.blocks] == [
            (BlockType.WORLD_CHAPTER_LOCK, (0, 0)),
            (BlockType.CANON_CORRECTION, (0, 1)),
        ]
        await say(session, ORANGE, "To all again.")
        assert [block.place for block in session.snapshot.blocks] == [(0, 0), (0, 1), (2, 0)]
        stored = await session.reads.memory_blocks()
        assert [block.place for block in stored] == [(0, 0), (0, 1), (2, 0)]


async def test_every_delta_of_a_chunk_is_rebuilt_and_a_private_one_is_edited_alone(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=2) as session:
        await say(session, RED, "To all.")
        await say(session, ORANGE, "To you.", ALONE[ORANGE])
        before = session.snapshot.blocks
        await done(session, await session.takes.rebuild_block(2))
        rebuilt = session.snapshot.blocks
        assert [block.place for block in rebuilt] == [block.place for block in before]
        assert not {block.id for block in rebuilt[1:]} & {block.id for block in before}
        assert [block.audience for block in rebuilt[1:]] == [EVERYONE, ALONE[ORANGE]]
    async with window(store, model, session.id) as session:
        await known(session)
        assert [block.place for block in session.snapshot.blocks] == [(0, 0), (2, 0), (2, 1)]


async def test_a_lock_that_is_pinned_from_private_memory_stays_private(store: PostgresStore) -> None:
    async with chapter(store, Recorder(), chunk_size=2) as session:
        await say(session, RED, "To all.")
        await say(session, ORANGE, "To you.", ALONE[ORANGE])
        private = session.snapshot.blocks[2]
        payload = {**private.payload, "canon_locks": ["The key is false."]}
        await session.takes.edit_block(2, compact_json(payload), ordinal=1)
        await session.takes.mark_lock("The key is false.", LockMark.PINNED)
        assert session.snapshot.session.private_pins == {"The key is false.": ALONE[ORANGE]}
    async with window(store, Recorder(), session.id) as session:
        await known(session)
        assert "The key is false." in str(session.snapshot.known_to(ORANGE).blocks)
        assert "The key is false." not in str(session.snapshot.known_to(RED).blocks)


async def test_a_branch_has_the_audiences_and_secrets_and_who_was_present_then(store: PostgresStore) -> None:
    model = Recorder()
    session_id = await with_secret(store, model)
    async with window(store, model, session_id) as session:
        await session.scene.narrate("Fog.")
        await session.scene.set_present([RED, ORANGE])
        await say(session, RED, "We are two.")
        await session.scene.set_present([RED, ORANGE, YELLOW])
        await say(session, RED, "We are three.")
    engine = engine_on(store)
    branched = await store.load(await engine.branch(session_id, 1))
    assert branched.session.present == Audience.of([RED, ORANGE])
    assert branched.secrets == (await store.load(session_id)).secrets
    assert [event.place for event in branched.recent] == [(0, 0), (1, 0), (1, 1)]


async def test_an_export_and_a_save_slot_bring_everything_back(store: PostgresStore) -> None:
    model = Recorder()
    session_id = await with_secret(store, model, reveal_at=2, reveal_to=Audience.of([ORANGE]))
    slots = SavePoints(store, utc_now)
    async with window(store, model, session_id) as session:
        await session.scene.narrate("Fog.")
        await say(session, RED, "One.")
        await session.scene.narrate("More fog.", hearers=[RED])
        kept = await slots.keep(session_id, "Before the reveal")
        await session.scene.narrate("A line that came later.")
        await say(session, ORANGE, "Two.", ALONE[ORANGE])
        later = await slots.keep(session_id, "After it")
        canon = await session.reads.canon()
    body = from_json(to_json(await read_body(store, session_id)))
    moved = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, moved))
    told = [(event.place, event.text, event.audience) for event in canon]
    assert [(event.place, event.text, event.audience) for event in await store.canon(moved)] == told
    assert (await store.load(moved)).secrets == (await store.load(session_id)).secrets
    whole = await store.canon(await slots.restore(session_id, later.number))
    assert [(event.place, event.text, event.audience) for event in whole] == told
    early = await store.canon(await slots.restore(session_id, kept.number))
    assert [event.text for event in early][-1] == "More fog."
    assert len(early) == 4


async def test_the_chapter_can_be_written_from_what_one_character_knows(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        await say(session, RED, "All hear the bell.")
        await say(session, ORANGE, "Only you see the knife.", ALONE[ORANGE])
        await session.end_chapter()
        await session.wait_idle()
        model.calls.clear()
        await done(session, await session.build_narrative(viewpoint=RED))
        assert [word in text_of(model.calls[-1]) for word in ("bell", "knife")] == [True, False]
        await done(session, await session.build_narrative())
        assert "knife" in text_of(model.calls[-1])


async def test_a_reader_sees_what_one_character_witnessed(store: PostgresStore) -> None:
    async with chapter(store, Recorder()) as session:
        for number in range(1, 6):
            await say(session, RED, f"Public {number}.")
            await say(session, ORANGE, f"Private {number}.", ALONE[ORANGE])
        seen = await store.newest_canon(session.id, 60_000, known_to=RED)
        assert not any(event.text.startswith("Private") for event in seen)
        assert sum(event.text.startswith("Public") for event in seen) == 5
        short = await store.newest_canon(session.id, 10, known_to=RED)
        assert short[-1].prompt_index == 9
