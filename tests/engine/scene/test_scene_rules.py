"""Rules of the scene: what is refused, what a line ends, when a reveal is due, and whose deltas are used."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.audience import EVERYONE, Audience
from core.domain.errors import ErrorCode, IllegalCommandError, LimitExceededError, StoryEngineError
from core.domain.requests.request import SummaryRequest
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.secret import LATEST_REVEAL, LONGEST_SECRET, LONGEST_SECRETS, MOST_SECRETS, Secret
from core.engine.session.session_handle import SessionHandle
from db.store import PostgresStore
from tests.engine.scene.test_scene import ALONE, FailsAtSummary, say, text_of
from tests.engine.windows import CHOICES, Recorder, chapter, done, is_summary

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
PAIR = Audience.of([RED, ORANGE])


def secret(number: int, text: str = "The map is wrong.", **more: object) -> Secret:
    return Secret(number=number, text=text, **{"known_by": ALONE[RED], **more})  # type: ignore[arg-type]


def lines(session: SessionHandle) -> list[str]:
    return [event.text for event in session.snapshot.recent if event.role is Role.SYSTEM]


REFUSED: dict[str, Sequence[Secret]] = {
    "a secret without a text": [secret(1, " \n")],
    "a secret that is too long": [secret(1, "x" * (LONGEST_SECRET + 1))],
    "secrets that are too long together": [
        secret(number, "x" * LONGEST_SECRET) for number in range(1, LONGEST_SECRETS // LONGEST_SECRET + 2)
    ],
    "too many secrets": [secret(number, "x") for number in range(1, MOST_SECRETS + 2)],
    "a reveal to nobody in particular": [secret(1, reveal_at=3)],
    "a reveal at no prompt in particular": [secret(1, reveal_to=PAIR)],
    "a reveal before the first prompt": [secret(1, reveal_at=0, reveal_to=PAIR)],
    "a reveal later than any": [secret(1, reveal_at=LATEST_REVEAL + 1, reveal_to=PAIR)],
}


async def test_a_secret_out_of_bounds_is_refused_and_one_within_them_is_stored(store: PostgresStore) -> None:
    async with chapter(store, Recorder()) as session:
        for name, secrets in REFUSED.items():
            with pytest.raises((IllegalCommandError, LimitExceededError)):  # not by the database
                await session.scene.edit_secrets(secrets)
            assert session.snapshot.secrets == (), name
        full = LONGEST_SECRETS // MOST_SECRETS
        most = [secret(number, "x" * full) for number in range(1, MOST_SECRETS + 1)]
        most[0] = secret(1, most[0].text, reveal_at=LATEST_REVEAL, reveal_to=PAIR)
        await session.scene.edit_secrets(most)
        assert list((await store.load(session.id)).secrets) == most


async def test_secrets_that_leave_a_character_no_room_to_play_are_refused(store: PostgresStore) -> None:
    """Only the one who may be told all of them has too little room."""
    role = AgentRole.CHARACTER
    tight = ModelAssignments({**CHOICES, role: replace(CHOICES[role], max_input_tokens=4_600)})
    long = "The lamp is out, and nobody may know of it." * 45
    async with chapter(store, Recorder(), choices=tight) as session:
        told = [secret(number, long) for number in range(1, 5)]
        await session.scene.edit_secrets(told)
        fifth = secret(5, long, known_by=ALONE[ORANGE], reveal_at=3, reveal_to=ALONE[RED])
        with pytest.raises(StoryEngineError) as refused:
            await session.scene.edit_secrets([*told, fifth])
        assert refused.value.code is ErrorCode.LLM_CONTEXT_OVERFLOW
        assert list(session.snapshot.secrets) == list((await store.load(session.id)).secrets) == told
        await session.scene.edit_secrets([*told, secret(5, long, known_by=ALONE[ORANGE])])


async def test_who_is_not_in_the_chapter_hears_nothing_and_the_whole_cast_is_everyone(
    store: PostgresStore,
) -> None:
    async with chapter(store, Recorder()) as session:
        cast = session.snapshot.session.slots
        stranger = next(slot for slot in Slot if slot not in cast)
        await session.scene.edit_secrets([secret(1)])
        with pytest.raises(IllegalCommandError):
            await session.scene.narrate("Fog.", hearers=[RED, stranger])
        with pytest.raises(IllegalCommandError):
            await session.scene.set_present([stranger])
        for number, to in ((1, stranger), (2, RED)):
            with pytest.raises(IllegalCommandError):
                await session.scene.reveal(number, [to])
        assert lines(session) == []
        await session.scene.set_present(cast)
        assert session.snapshot.session.present == EVERYONE
        await session.scene.set_present([RED])
        await session.scene.narrate("Fog.")
        await session.scene.roll("d20")
        await session.scene.narrate("Rain.", hearers=cast)
        heard = [event.audience for event in session.snapshot.recent]
        assert heard == [ALONE[RED], ALONE[RED], EVERYONE], "those present, unless others are named"


async def test_a_line_ends_redo(store: PostgresStore) -> None:
    async with chapter(store, Recorder()) as session:
        for text in ("Who is there?", "And then?"):
            await say(session, RED, text)
        await session.takes.undo()
        await session.scene.narrate("Snow falls.")
        with pytest.raises(IllegalCommandError):
            await session.takes.redo()
        assert (await store.load(session.id)).undone == ()


async def test_a_reveal_that_is_due_waits_for_a_new_prompt_and_is_told_once(store: PostgresStore) -> None:
    async with chapter(store, Recorder()) as session:
        await say(session, RED, "Who is there?")
        plan = secret(1, reveal_at=1, reveal_to=Audience.of(session.snapshot.session.slots))
        await session.scene.edit_secrets([plan])
        await done(session, await session.takes.reroll())
        assert lines(session) == [], "another take of an old prompt reveals nothing"
        for _ in range(2):
            await say(session, ORANGE, "And then?")
        told = [event for event in session.snapshot.recent if event.reveals == 1]
        assert [(event.place, event.take, event.text, event.audience) for event in told] == [
            ((1, 2), 2, plan.text, EVERYONE)
        ]


async def test_deltas_of_a_chunk_that_was_undone_before_it_was_complete_are_not_used(
    store: PostgresStore,
) -> None:
    model = FailsAtSummary(2)
    async with chapter(store, model, chunk_size=2) as session:
        await say(session, RED, "Said to all.")
        await say(session, ORANGE, "Said to one.", ALONE[ORANGE])
        [part] = await session.takes.revisions()
        await session.takes.undo()
        await say(session, RED, "Said to another.", ALONE[RED])
        for failed in session.snapshot.failed(SummaryRequest):
            await session.retry(failed.id)
        await session.wait_idle()
        deltas = [block for block in await session.reads.memory_blocks() if block.last]
        assert [block.audience for block in deltas] == [EVERYONE, ALONE[RED]]
        assert part.id not in {block.id for block in deltas}, "it is of a canon that counts no longer"
        assert [block.id for block in await session.takes.revisions()] == [part.id]


async def test_a_private_delta_is_made_from_the_wider_deltas_of_its_chunk_too(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=3) as session:
        for audience in (None, PAIR, ALONE[RED]):
            await say(session, RED, "Well?", audience)
        deltas = [block for block in await session.reads.memory_blocks() if block.last]
    inputs = [text_of(call) for call in model.calls if is_summary(call)]
    assert [block.audience for block in deltas] == [EVERYONE, PAIR, ALONE[RED]]
    assert [text.count('"memory_type":"turn_delta"') for text in inputs] == [0, 1, 2]


async def test_a_line_follows_an_undone_prompt_whose_memory_was_withdrawn(store: PostgresStore) -> None:
    """With a chunk of one prompt, what is in recent context ends with the withdrawn block."""
    async with chapter(store, chunk_size=1) as session:
        for text in ("First.", "Second.", "Third."):
            await say(session, RED, text)
        await session.takes.undo()
        await session.scene.narrate("Night falls.")
        line = (await store.canon(session.id))[-1]
        assert (line.text, line.prompt_index, line.ordinal) == ("Night falls.", 2, 2)
        assert session.snapshot.recent == (await store.load(session.id)).recent
