"""What is cut off a model's output is said on its call."""

from dataclasses import replace

import pytest

from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import PromptStyle
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.request import Artifact, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, ScriptMatch
from db.store import PostgresStore
from tests.engine.windows import CHOICES, MATCHES, chapter, done, play, scripted

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]


def in_style(role: AgentRole, style: PromptStyle) -> ModelAssignments:
    return ModelAssignments(
        {one: replace(CHOICES[one], style=style if one is role else CHOICES[one].style) for one in AgentRole}
    )


@pytest.mark.parametrize("style", PromptStyle)
async def test_only_the_reply_of_a_very_small_model_ends_at_our_own_mark_and_its_call_says_so(
    store: PostgresStore, style: PromptStyle
) -> None:
    text = "I look.\n\n=== LEDGER ===\nIt reads thus.\n\n=== USER_PROMPT ===\nGo on."
    said = Entry(match=ScriptMatch.model_validate(MATCHES[RequestKind.REPLY]), text=text)
    async with chapter(store, scripted(said), choices=in_style(AgentRole.CHARACTER, style)) as session:
        request = await done(session, await session.submit_prompt(Slot.RED, "Read it."))
        *_, reply = await store.log(session.id)
        [call] = await store.calls.artifacts(session.id, request_id=request.id)
        assert (await store.calls.contents(session.id, [call.output_ref or ""])) == {call.output_ref: text}
        if style is PromptStyle.FULL:
            assert (reply.text, call.left_out) == (text, ())
        else:
            assert reply.text == "I look.\n\n=== LEDGER ===\nIt reads thus."
            told = "The end of the output from the line “=== USER_PROMPT ===” (26 characters)"
            assert call.left_out == (told,)


async def written(store: PostgresStore, session: SessionHandle) -> tuple[NarrativeDraft, Artifact]:
    """Play a prompt, end the chapter, and return its narrative and the one call for it."""
    await play(session, 1)
    await session.end_chapter()
    await session.wait_idle()
    request = await done(session, await session.build_narrative())
    [draft] = await store.drafts(session.id)
    [call] = await store.calls.artifacts(session.id, request_id=request.id)
    return draft, call


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("She went. And the", "The end of the output after its last whole sentence (7 characters)"),
        (
            "The story of FULL_TRANSCRIPT is a tale of a lamp. She went.",
            "Sentences that speak of the input, not of the story: 1",
        ),
    ],
    ids=["a broken sentence", "talk of the input"],
)
async def test_what_is_cut_off_a_very_small_models_narrative_is_said_on_its_call(
    store: PostgresStore, text: str, told: str
) -> None:
    said = Entry(match=ScriptMatch.model_validate(MATCHES[RequestKind.NARRATIVE]), text=text)
    choices = in_style(AgentRole.NARRATIVE, PromptStyle.SMALL)
    async with chapter(store, scripted(said), choices=choices) as session:
        draft, call = await written(store, session)
        assert draft.text == "She went."
        assert call.left_out == (told,)


async def test_a_narrative_of_which_nothing_is_left_has_failed_and_can_be_asked_for_again(
    store: PostgresStore,
) -> None:
    match = ScriptMatch.model_validate(MATCHES[RequestKind.NARRATIVE])
    talk = Entry(match=match, text="The story of FULL_TRANSCRIPT is a tale of a lamp.", times=1)
    choices = in_style(AgentRole.NARRATIVE, PromptStyle.SMALL)
    script = scripted(talk, Entry(match=match, text="She went."))
    async with chapter(store, script, choices=choices) as session:
        await play(session, 1)
        await session.end_chapter()
        await session.wait_idle()
        request = await session.wait(await session.build_narrative())
        assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.LLM_ERROR)
        assert not await store.drafts(session.id)
        await done(session, await session.retry(request.id))
        assert [draft.text for draft in await store.drafts(session.id)] == ["She went."]


@pytest.mark.parametrize("style", PromptStyle)
@pytest.mark.parametrize("avoids_repeats", [True, False])
async def test_only_a_very_small_models_narrative_leaves_out_what_the_chapter_already_has(
    store: PostgresStore, style: PromptStyle, avoids_repeats: bool
) -> None:
    lamp = "The lamp went out over the black water."
    text = f"{lamp} She waited. {lamp} She left."
    said = Entry(match=ScriptMatch.model_validate(MATCHES[RequestKind.NARRATIVE]), text=text)
    role = AgentRole.NARRATIVE
    own = replace(CHOICES[role], style=style, avoids_repeats=avoids_repeats)
    async with chapter(store, scripted(said), choices=ModelAssignments({**CHOICES, role: own})) as session:
        draft, call = await written(store, session)
        assert (await store.calls.contents(session.id, [call.output_ref or ""])) == {call.output_ref: text}
        if style is PromptStyle.SMALL and avoids_repeats:
            assert draft.text == f"{lamp} She waited. She left."
            assert call.left_out == ("1 sentence that repeats what the chapter has already",)
        else:
            assert (draft.text, call.left_out) == (text, ())
