"""Memory of memory on a real store: condensed when an input would leave details out, and only then."""

import json
from dataclasses import replace
from typing import Any

import pytest

from core.config.models.assignments import ModelAssignments
from core.context.segments import CompressionMethod
from core.domain.agent_role import AgentRole
from core.domain.audience import EVERYONE
from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import Artifact, BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory, Condensing, Strategy
from core.engine.engine import Engine
from core.engine.kinds.outcome import Failed
from core.engine.services.save_points.save_points import SavePoints
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import CallStarted, RequestFailed, RequestSettled
from core.exchange.session_export import from_json, read_body, to_json
from core.gateway.call_records import CallRecords
from core.providers.base import ModelRequest
from core.providers.scripted.script import Entry, Script, ScriptMatch
from core.text.delimiters import SegmentName
from db.store import PostgresStore
from storyengine_tui.screens.calls.inputs.call_rows import segments_of
from storyengine_tui.screens.calls.inputs.passages import window_parts
from tests.engine.scene.test_scene import ALONE, say
from tests.engine.windows import (
    CHOICES,
    Ears,
    GatedModel,
    Recorder,
    chapter,
    done,
    listening,
    play,
    scripted,
    window,
)

pytestmark = pytest.mark.anyio
IN_SHORT = "the lamp was lit and lost"
LOCK = "Iron burns the fae."
DELTA: dict[str, Any] = {
    "memory_type": "turn_delta",
    "range": {"from_marker": "1)", "to_marker": "2)", "prompt_count_in_chunk": 2},
    "location_updates": {"where": "the lamp room", "notable_environment_changes": []},
    "major_events": [
        {"event": f"{IN_SHORT} again {' and again' * 30}", "cause": "", "effect": "", "participants": []}
    ],
    "character_actions": [],
    "state_changes": [],
    "relationship_shifts": [],
    "items_clues_discovered": [],
    "unresolved_threads": [],
    "canon_locks": [LOCK],
    "contradictions_or_questions": [],
}
ANSWER = {
    **DELTA,
    "major_events": [{"event": IN_SHORT, "cause": "", "effect": "", "participants": []}],
    "location_updates": {"where": "", "notable_environment_changes": []},
    "canon_locks": ["Kara is the queen."],
}
FOREIGN = {"event": "Bob comes back", "cause": "", "effect": "", "participants": []}
SUMMARY = Entry(match=ScriptMatch.model_validate({"schema": "turn_delta"}), payload=DELTA)
CONDENSE = ScriptMatch.model_validate({"schema": "condense"})


def is_condensing(request: ModelRequest) -> bool:
    return request.schema is not None and request.schema.name == "condense"


def choices(strategy: Strategy = Strategy.ADAPTIVE, room: int | None = 600) -> ModelAssignments:
    """Return characters with so many tokens for memory: two of the deltas above have room, three have not."""
    own = replace(CHOICES[AgentRole.CHARACTER], max_memory_tokens=room)
    return replace(
        CHOICES,
        roles={**CHOICES.roles, AgentRole.CHARACTER: own},
        condensing=Condensing(strategy, 0.4),
    )


def model(*more: Entry) -> Recorder:
    return Recorder(Script(reply=(*more, Entry(match=CONDENSE, payload=ANSWER), SUMMARY)))


async def asked(session: SessionHandle) -> list[BackgroundRequest]:
    return [
        one
        for one in await session.reads.requests()
        if isinstance(one, BackgroundRequest) and one.kind is RequestKind.CONDENSE
    ]


async def heard_of(ears: Ears, count: int = 1) -> None:
    """Wait until that many requests for condensed memory are settled."""
    seen: set[object] = set()

    def is_enough(one: RequestSettled) -> bool:
        if one.request.kind is RequestKind.CONDENSE:
            seen.add(one.request.id)
        return len(seen) >= count

    await ears.hear(RequestSettled, is_enough)


def sent_to_characters(calls: list[ModelRequest]) -> list[str]:
    return ["\n".join(m.content for m in call.messages) for call in calls if call.schema is None]


async def memory_made_shorter_by(session: SessionHandle, call: Artifact) -> CompressionMethod | None:
    """Return the method that F7 names for the memory of an input."""
    parts = segments_of((await session.reads.contents([call.input_ref]))[call.input_ref])
    texts = await session.reads.contents([part.hash for part in parts])
    shown = window_parts(call.prompt_version, [(one.role, one.name, texts[one.hash]) for one in parts])
    [memory] = [part for part in shown if part.name == SegmentName.STRUCTURED_MEMORY]
    return None if memory.compression is None else memory.compression.method


async def test_details_that_have_no_room_are_condensed_once_and_told_beside_their_locks(
    store: PostgresStore,
) -> None:
    asked_model = model()
    async with chapter(store, asked_model, chunk_size=2, choices=choices()) as session:
        async with listening(session) as ears:
            await play(session, 8)
            await heard_of(ears)
        [request] = await asked(session)
        assert request.state is RequestState.DONE
        assert request.prompts is not None
        [made] = session.snapshot.condensed
        assert (made.first, made.last) == (request.prompts.first, request.prompts.last)
        assert made.payload["canon_locks"] == []
        await play(session, 1)
        told = sent_to_characters(asked_model.calls)[-1]
        assert IN_SHORT in told
        assert LOCK in told
        assert "queen" not in told
        [*_, call] = [one for one in await session.reads.artifacts() if one.agent_id == Slot.RED]
        assert any(note.startswith(f"Prompts {request.prompts} are told condensed") for note in call.left_out)
        assert await memory_made_shorter_by(session, call) is CompressionMethod.SUMMARY
        deltas = [block for block in await session.reads.memory_blocks() if block.first]
        assert len(deltas) == 4
        kept, session_id = session.snapshot.condensed, session.id
        engine = Engine(store, asked_model, choices(), label="preview")
        before = [
            (one.name, one.text) for one in (await engine.preview(session_id, Slot.RED, "So?")).segments
        ]
    async with window(store, asked_model, session_id, choices=choices()) as session:
        assert session.snapshot.condensed == kept
        again = await Engine(store, asked_model, choices(), label="preview").preview(
            session_id, Slot.RED, "So?"
        )
        assert [(one.name, one.text) for one in again.segments] == before
    body = await read_body(store, session_id)
    assert from_json(to_json(body)) == body
    assert body.condensed == kept
    points = SavePoints(store, utc_now)
    slot = await points.keep(session_id, "with condensed memory")
    restored = (await store.load(await points.restore(session_id, slot.number))).condensed
    assert [one.payload for one in restored] == [one.payload for one in kept]


@pytest.mark.parametrize(
    "chosen", [choices(Strategy.OFF), choices(Strategy.ADAPTIVE, None)], ids=["switched off", "has room"]
)
async def test_no_call_is_made_and_no_byte_changes_where_it_is_off_or_all_has_room(
    store: PostgresStore, chosen: ModelAssignments
) -> None:
    calls = []
    for assignments in (chosen, replace(chosen, condensing=CHOICES.condensing)):
        asked_model = model()
        async with chapter(store, asked_model, chunk_size=2, choices=assignments) as session:
            await play(session, 9)
            assert await asked(session) == []
            assert session.snapshot.condensed == ()
            assert b'"condensed"' not in to_json(await read_body(store, session.id))
        calls.append([call.messages for call in asked_model.calls])
    assert calls[0] == calls[1]


async def test_the_strategy_fixed_condenses_all_but_the_newest_whatever_the_room(
    store: PostgresStore,
) -> None:
    asked_model = model()
    async with chapter(store, asked_model, chunk_size=2, choices=choices(Strategy.FIXED, None)) as session:
        async with listening(session) as ears:
            await play(session, 14)
            assert await asked(session) == []
            await play(session, 2)
            await heard_of(ears)
        [made] = session.snapshot.condensed
        assert (made.first, made.last) == (1, 8)
        await play(session, 1)
        told = sent_to_characters(asked_model.calls)[-1]
        assert told.count(f"{IN_SHORT} again") == 4
        assert told.count(IN_SHORT) == 5


async def test_what_an_answer_invents_is_shown_to_the_model_once_and_never_stored(
    store: PostgresStore,
) -> None:
    invents = Entry(match=CONDENSE, payload={**ANSWER, "major_events": [*ANSWER["major_events"], FOREIGN]})
    asked_model = model(invents)
    async with chapter(store, asked_model, chunk_size=2, choices=choices()) as session:
        async with listening(session) as ears:
            await play(session, 8)
            await heard_of(ears)
        [made] = session.snapshot.condensed
        assert "Bob" not in json.dumps(made.payload)
        assert IN_SHORT in json.dumps(made.payload)
    condensing = [call for call in asked_model.calls if is_condensing(call)]
    assert len(condensing) == 2
    assert "“Bob” is not in the memory" in condensing[1].messages[-1].content


async def test_an_answer_of_no_use_waits_for_the_gm_and_inputs_are_as_without_it(
    store: PostgresStore,
) -> None:
    useless = Entry(match=CONDENSE, payload={**ANSWER, "major_events": [FOREIGN]}, times=None)
    asked_model = model(useless)
    async with chapter(store, asked_model, chunk_size=2, choices=choices()) as session:
        async with listening(session) as ears:
            await play(session, 8)
            await ears.hear(RequestFailed, lambda one: one.request.kind is RequestKind.CONDENSE)
        [request] = await asked(session)
        assert request.has_failed
        assert request.error_code is ErrorCode.LLM_INVALID_JSON
        await play(session, 2)
        assert len(await asked(session)) == 1
        assert session.snapshot.condensed == ()


async def test_a_source_that_leaves_canon_during_the_call_takes_the_answer_with_it(
    store: PostgresStore,
) -> None:
    inner = scripted(Entry(match=CONDENSE, payload=ANSWER), SUMMARY)
    gated = GatedModel(inner, when=is_condensing)
    async with chapter(store, gated, chunk_size=2, choices=choices()) as session:
        async with listening(session) as ears:
            await play(session, 8)
            first = next(block for block in session.snapshot.blocks if block.first == 1)
            text = json.dumps({**first.payload, "canon_locks": ["By the GM."]})
            await session.takes.edit_block(first.last, text)
            gated.gate.set()
            await heard_of(ears)
        assert all(first.id not in one.sources for one in session.snapshot.condensed)


async def test_what_only_some_heard_is_condensed_apart_and_told_to_them_alone(store: PostgresStore) -> None:
    """The orange character is told in private what the red one must not know."""
    asked_model = model()
    async with chapter(store, asked_model, chunk_size=2, choices=choices(room=300)) as session:
        async with listening(session) as ears:
            for number in range(10):
                await say(session, Slot.ORANGE, f"To all {number}.")
                await say(session, Slot.ORANGE, f"To you {number}.", ALONE[Slot.ORANGE])
            await heard_of(ears, 2)
        made: tuple[CondensedMemory, ...] = session.snapshot.condensed
        assert {one.audience for one in made} == {EVERYONE, ALONE[Slot.ORANGE]}
        blocks = {block.id: block for block in await session.reads.memory_blocks()}
        assert all(blocks[source].audience == one.audience for one in made for source in one.sources)
        private = {one.id for one in made if one.audience != EVERYONE}
        known = {slot: {b.id for b in session.snapshot.known_without_lore(slot).blocks} for slot in Slot}
        assert private <= known[Slot.ORANGE]
        assert not private & known[Slot.RED]
        for request in await asked(session):
            assert isinstance(request.prompts, PromptRange)


async def test_an_undone_prompt_takes_memory_back_with_what_was_condensed_of_it(store: PostgresStore) -> None:
    async with chapter(store, model(), chunk_size=2, choices=choices()) as session:
        async with listening(session) as ears:
            await play(session, 8)
            await heard_of(ears)
        [made] = session.snapshot.condensed
        for _ in range(8 - made.last + 1):
            await session.takes.undo()
        assert session.snapshot.session.boundary < made.last
        assert session.snapshot.condensed == ()
        assert (await store.load(session.id)).condensed == ()
        await done(session, await session.submit_prompt(Slot.RED, "Once more?"))


async def test_a_call_that_needs_the_gm_is_left_and_asked_for_again_only_with_new_memory(
    store: PostgresStore,
) -> None:
    """Without consent no call is sent; neither is the GM asked, nor the queue filled."""
    asked_model = model()
    async with chapter(store, asked_model, chunk_size=2, choices=choices()) as session:
        refused = StoryEngineError(ErrorCode.CONSENT_REQUIRED)

        async def make(*_: object, **__: object) -> tuple[Failed, CallRecords]:
            return Failed(refused), CallRecords()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("core.engine.kinds.memory.condense.make_memory", make)
            async with listening(session) as ears:
                await play(session, 6)
                await heard_of(ears)
                await play(session, 1)
            assert [one.state for one in await asked(session)] == [RequestState.DONE]
            assert session.snapshot.condensed == ()
        async with listening(session) as ears:
            await play(session, 1)
            await heard_of(ears)
        assert session.snapshot.condensed


async def test_a_call_that_is_cut_off_by_the_end_of_the_program_is_made_at_the_next_start(
    store: PostgresStore,
) -> None:
    gated = GatedModel(scripted(Entry(match=CONDENSE, payload=ANSWER), SUMMARY), when=is_condensing)
    async with chapter(store, gated, chunk_size=2, choices=choices()) as session:
        async with listening(session) as ears:
            await play(session, 6)
            await ears.hear(CallStarted, lambda one: one.request.kind is RequestKind.CONDENSE)
        session_id = session.id
    [waiting] = (await store.load(session_id)).background
    assert waiting.state is RequestState.PENDING
    async with window(store, model(), session_id, choices=choices()) as session:
        request = await session.wait(waiting.id)
        assert request.state is RequestState.DONE
        assert len(session.snapshot.condensed) == 1
