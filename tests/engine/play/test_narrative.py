"""The chapter's prose: whole or in parts, versioned, and paid for once; and the provenance of every call."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import pytest

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StorageError
from core.domain.requests.request import Artifact, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import TextArrived
from core.gateway.model_call import input_hash
from core.providers.base import ChatMessage
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from db.store import PostgresStore
from tests.engine.windows import (
    CHOICES,
    MATCHES,
    GatedModel,
    Outage,
    Recorder,
    chapter,
    done,
    failing,
    listening,
    play,
    play_to_the_end,
    scripted,
    set_up,
    window,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]

SMALL_WINDOW = ModelAssignments(
    {**CHOICES, AgentRole.NARRATIVE: replace(CHOICES[AgentRole.NARRATIVE], max_input_tokens=2_400)}
)
"""A narrative model that cannot hold a chapter of four long prompts at once."""


def failing_at_its_third_part() -> Recorder:
    """Return a model that fails once, at the third part of a narrative."""
    third = ScriptMatch.model_validate({**MATCHES[RequestKind.NARRATIVE], "anywhere": "Part 3 of"})
    return Recorder(Script(reply=(Entry(match=third, fault=Fault.SERVER_ERROR, times=1),)))


async def long_chapter(session: SessionHandle) -> None:
    """Play a chapter that has to be told in several parts, and end it."""
    for number in range(4):
        text = f"Prompt {number}. " + "The lamp turns over the black water and nobody speaks. " * 30
        await done(session, await session.submit_prompt(Slot.RED, text))
        await session.wait_idle()
    await session.end_chapter()
    await session.wait_idle()


async def text_of_parts(store: PostgresStore, calls: Sequence[Artifact]) -> str:
    texts = await store.calls.contents(calls[0].session_id, [call.output_ref or "" for call in calls])
    return "\n\n".join(texts[call.output_ref or ""].strip() for call in calls)


async def test_a_chapter_that_does_not_fit_is_written_part_by_part_with_every_part_on_record(
    store: PostgresStore,
) -> None:
    async with chapter(store, chunk_size=1, choices=SMALL_WINDOW) as session:
        await long_chapter(session)
        request = await done(session, await session.build_narrative())
        [draft] = await store.drafts(session.id)
        artifacts = await store.calls.artifacts(session.id, request_id=request.id)
        assert len(artifacts) >= 3
        assert [artifact.call for artifact in artifacts] == list(range(1, len(artifacts) + 1))
        assert draft.text == await text_of_parts(store, artifacts)


async def test_a_build_that_failed_at_its_third_part_does_not_pay_for_the_first_two_again(
    store: PostgresStore,
) -> None:
    model = failing_at_its_third_part()
    async with chapter(store, model, chunk_size=1, choices=SMALL_WINDOW) as session:
        await long_chapter(session)
        model.calls.clear()
        failed = await session.wait(await session.build_narrative())
        assert failed.error_code is ErrorCode.LLM_SERVER_ERROR
        paid = [input_hash(call) for call in model.calls]
        model.calls.clear()
        await done(session, await session.retry(failed.id))
        assert len(paid) == 3
        again = [input_hash(call) for call in model.calls]
        assert again[0] == paid[2], "it goes on with the part that failed"
        assert not {*paid[:2]} & {*again}
        [draft] = await store.drafts(session.id)
        artifacts = await store.calls.artifacts(session.id, request_id=failed.id)
        good = [artifact for artifact in artifacts if artifact.error_code is None]
        assert {a.attempt for a in good} == {1, 2}
        assert draft.model == good[-1].model
        assert draft.text == await text_of_parts(store, good)


async def test_parts_that_are_on_record_are_used_again_where_the_store_refuses_the_failure_of_a_later_one(
    store: PostgresStore,
) -> None:
    """No answer is to blame: none was made anything of."""
    model, outage = failing_at_its_third_part(), Outage(store)
    async with chapter(outage, model, chunk_size=1, choices=SMALL_WINDOW) as session:
        await long_chapter(session)
        model.calls.clear()
        refusal = StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
        outage.fail(1, refusal, lambda changes: [one for one in changes.requests if one.has_failed])
        failed = await session.wait(await session.build_narrative())
        assert (failed.error_code, outage.failures) == (ErrorCode.STORAGE_SAVE_FAILED, 1)
        first = [input_hash(call) for call in model.calls]
        artifacts = await store.calls.artifacts(session.id, request_id=failed.id)
        assert [one.error_code for one in artifacts] == [None, None, ErrorCode.LLM_SERVER_ERROR]
        model.calls.clear()
        await done(session, await session.retry(failed.id))
        again = [input_hash(call) for call in model.calls]
        assert again[0] == first[2], "it goes on with the part that failed"
        assert not {*first[:2]} & {*again}


async def test_a_definition_that_was_changed_between_two_tries_is_the_one_that_is_told(
    store: PostgresStore,
) -> None:
    model = failing_at_its_third_part()
    async with chapter(store, model, chunk_size=1, choices=SMALL_WINDOW) as session:
        await long_chapter(session)
        failed = await session.wait(await session.build_narrative())
        await session.edits.define_narrative("In the style of a log.", 900)
        model.calls.clear()
        await done(session, await session.retry(failed.id))
        assert any("Part 1 of" in message.content for message in model.calls[0].messages)
        assert all("a log" in str(call.messages) for call in model.calls)
        [draft] = await store.drafts(session.id)
        assert (draft.definition, draft.target_words) == ("In the style of a log.", 900)


async def test_a_definition_that_changes_while_it_is_written_does_not_change_what_the_draft_says_of_itself(
    store: PostgresStore,
) -> None:
    model = GatedModel(when=lambda request: request.model == CHOICES[AgentRole.NARRATIVE].model)
    async with chapter(store, model) as session, listening(session) as ears:
        await play_to_the_end(session, 1)
        await session.edits.define_narrative("Plain.", 300)
        request = await session.build_narrative()
        await ears.hear(TextArrived, lambda notification: notification.request_id == request)
        await session.edits.define_narrative("Ornate.", 600)
        model.gate.set()
        await done(session, request)
        [draft] = await store.drafts(session.id)
        assert (draft.definition, draft.target_words) == ("Plain.", 300)
        assert session.snapshot.session.definition == "Ornate."


@pytest.mark.parametrize("fault", [Fault.TRUNCATED, Fault.WHITE_SPACE, Fault.EMPTY])
async def test_a_text_that_was_cut_or_is_blank_leaves_every_draft_as_it_was(
    store: PostgresStore, fault: Fault
) -> None:
    provider = ScriptedProvider(
        Script(
            reply=(
                Entry(match=ScriptMatch.model_validate(MATCHES[RequestKind.NARRATIVE]), calls=(1, 3)),
                failing(RequestKind.NARRATIVE, fault),
            )
        )
    )
    async with chapter(store, provider) as session:
        await play_to_the_end(session, 1)
        await done(session, await session.build_narrative())
        before = await store.drafts(session.id)
        failed = await session.wait(await session.build_narrative())
        assert failed.state is RequestState.FAILED
        assert await store.drafts(session.id) == before
        await done(session, await session.retry(failed.id))
        assert [draft.version for draft in await store.drafts(session.id)] == [1, 2]


async def test_a_draft_has_no_code_fence_around_it(store: PostgresStore) -> None:
    match = ScriptMatch.model_validate(MATCHES[RequestKind.NARRATIVE])
    provider = ScriptedProvider(Script(reply=(Entry(match=match, text="```markdown\nThe ferry sank.\n```"),)))
    async with chapter(store, provider) as session:
        await play_to_the_end(session, 1)
        await done(session, await session.build_narrative())
        [draft] = await store.drafts(session.id)
        assert draft.text == "The ferry sank."


async def test_a_chapter_in_which_nothing_was_played_has_nothing_to_tell(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await session.end_chapter()
        failed = await session.wait(await session.build_narrative())
        assert "No prompt was played" in failed.error_message


async def test_every_input_can_be_put_together_again_from_what_is_stored(store: PostgresStore) -> None:
    model = Recorder()
    async with window(store, model) as session:
        await set_up(session)
        await done(session, await session.lock())
        await play(session, 8)
        await session.end_chapter()
        await session.wait_idle()
        await done(session, await session.build_narrative())
        sent = {input_hash(call): call for call in model.calls}
        artifacts = await store.calls.artifacts(session.id)
        assert [artifact.input_hash for artifact in artifacts] == [input_hash(call) for call in model.calls]
        for artifact in artifacts:
            assert await reassembled(store, session, artifact.input_ref) == list(
                sent[artifact.input_hash].messages
            )


async def reassembled(store: PostgresStore, session: SessionHandle, manifest: str) -> list[ChatMessage]:
    """Return the messages that a manifest stands for: its segments, joined as the program joins them."""
    listed = json.loads((await store.calls.contents(session.id, [manifest]))[manifest])
    stored = await store.calls.contents(session.id, {part for _, _, part in listed})
    return [
        ChatMessage(role, "\n\n".join(stored[part] for _, _, part in group))
        for role, group in groupby(listed, key=lambda segment: segment[0])
    ]


async def test_what_is_sent_again_and_again_is_stored_once(store: PostgresStore) -> None:
    async with chapter(store, scripted()) as session:
        await play(session, 3)
        artifacts = [a for a in await store.calls.artifacts(session.id) if a.agent_id == 1]
        manifests = await store.calls.contents(session.id, {artifact.input_ref for artifact in artifacts})
        systems = {
            part for text in manifests.values() for role, _, part in json.loads(text) if role == "system"
        }
        assert len(manifests) == 3
        assert len(systems) < 3


async def test_every_part_but_the_first_is_given_the_end_of_the_one_before(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=1, choices=SMALL_WINDOW) as session:
        await long_chapter(session)
        before = len(model.calls)
        await done(session, await session.build_narrative())
        [draft] = await store.drafts(session.id)
        first, *others = [str(call.messages[-1].content) for call in model.calls[before:]]
        assert others
        assert "=== STORY_SO_FAR ===" not in first
        for part in others:
            ending = part.partition("=== STORY_SO_FAR ===\n")[2].partition("\n=== END")[0]
            assert ending
            assert ending in draft.text
