"""What a character lacks, and what a chapter changed: proposed with its evidence, never done by itself."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.agents.proposals.asking import Question
from core.domain.audience import Audience
from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.ids import CharacterId, ProposalId, SessionId, new_uuid
from core.domain.proposal import Occasion, Proposal, ProposalState, ProposedPart
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.profile import Profile
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.engine.kinds.cast.handler import Work
from core.engine.session.cast_work import Begun, members_of
from core.engine.session.session_handle import SessionHandle
from core.library.characters.character import Topic, Trait
from core.library.proposals.taking import change_of
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from tests.core.rooms.cast_room import (
    AGO,
    SECRET_PLACE,
    answers,
    calls,
    change,
    changes,
    ended,
    inputs,
    library,
    mira,
    proposed,
    settled,
    work_of,
)

pytestmark = pytest.mark.anyio


async def test_what_a_character_lacks_is_proposed_and_its_own_words_stay() -> None:
    payload: dict[str, object] = {
        "short_description": "The keeper of the lamp.",
        "traits": [
            {"name": "PATIENT", "description": "Other words.", "strength": 1, "sentiment": 0},
            {"name": "Watchful", "description": "She counts ships.", "strength": 7, "sentiment": -0.256},
            {"name": "Proud", "description": "Of the lamp.", "strength": 0.5, "sentiment": 1},
            {"name": "One too many", "description": "", "strength": 0, "sentiment": 0},
        ],
        "topics": [{"name": "Oil", "perspective": "It runs out.", "exposure_desired": 0.75}],
    }
    character = mira()
    made, kept = library(character, entries=(answers("gaps", payload),))
    await made.store.library.put_character(*kept)
    async with made.opened() as session:
        request = await session.wait(await work_of(session).fill_gaps(character))
        assert (request.kind, request.state) == (RequestKind.GAPS, RequestState.DONE)
        [call] = await calls(session, RequestKind.GAPS)
        assert (call.agent_id, call.prompt_version) == (8, "gaps/full@1")
    found = await proposed(made, character)
    assert [(one.part, one.before, [dict(record) for record in one.after]) for one in found] == [
        (ProposedPart.SHORT_DESCRIPTION, ({"text": ""},), [{"text": "The keeper of the lamp."}]),
        (
            ProposedPart.TRAIT,
            (),
            [{"name": "Watchful", "description": "She counts ships.", "strength": 1, "sentiment": -0.26}],
        ),
        (
            ProposedPart.TRAIT,
            (),
            [{"name": "Proud", "description": "Of the lamp.", "strength": 0.5, "sentiment": 1}],
        ),
        (
            ProposedPart.TOPIC,
            (),
            [
                {
                    "name": "Oil",
                    "perspective": "It runs out.",
                    "approach": "",
                    "personal_stake": "",
                    "sentiment": 0,
                    "exposure_now": 0,
                    "exposure_desired": 0.75,
                }
            ],
        ),
    ]
    assert {one.request_id for one in found} == {request.id}
    assert list(await made.store.library.characters()) == [character]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"is_static": True}, "static"),
        ({"is_paused": True}, "paused"),
        ({"archived_at": AGO}, "archived"),
        (
            {
                "short_description": "Keeps the lamp.",
                "traits": tuple(Trait(name=name) for name in "abc"),
                "topics": tuple(Topic(name=name) for name in "abc"),
            },
            "nothing is missing",
        ),
    ],
)
async def test_one_that_lacks_nothing_or_must_not_be_changed_is_not_asked_about(
    fields: dict[str, Any], why: str
) -> None:
    made, [character] = library(mira(**fields))
    async with made.opened() as session:
        with pytest.raises(IllegalCommandError, match=why):
            await work_of(session).fill_gaps(character)
        assert not await calls(session, RequestKind.GAPS)


async def test_an_answer_that_cannot_be_read_is_shown_to_its_author_once_and_then_it_is_said() -> None:
    made, [character] = library(mira(), entries=(answers("gaps", fault=Fault.WRONG_SHAPE),))
    await made.store.library.put_character(character)
    async with made.opened() as session:
        request = await session.wait(await work_of(session).fill_gaps(character))
        assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.LLM_INVALID_JSON)
        first, second = await calls(session, RequestKind.GAPS)
        assert {first.error_code, second.error_code} == {ErrorCode.LLM_INVALID_JSON}
    assert not await proposed(made, character)


async def test_a_second_answer_that_can_be_read_is_taken() -> None:
    sound: dict[str, object] = {"traits": [{"name": "Proud"}]}
    entries = answers("gaps", fault=Fault.WRONG_SHAPE, times=1), answers("gaps", sound)
    made, [character] = library(mira(), entries=entries)
    await made.store.library.put_character(character)
    async with made.opened() as session:
        request = await session.wait(await work_of(session).fill_gaps(character))
        assert request.state is RequestState.DONE
        assert len(await calls(session, RequestKind.GAPS)) == 2
    assert [one.names for one in await proposed(made, character)] == [("Proud",)]


async def test_what_a_chapter_changed_is_proposed_with_the_words_that_it_is_from() -> None:
    found = (
        change(),
        change(
            about="trait", name="Stubborn", text="She rows no more.", value=0.8, quote="I never row again"
        ),
        change(about="trait", name="patient", text="She waits no more.", value=0.25),
        change(about="topic", name="The sea", text="It is a thief.", value=-1, quote="fear  the sea"),
    )
    character = mira()
    async with ended(character, entries=(changes(*found),)) as (session, made):
        begun = await work_of(session).propose_changes()
        [request] = await settled(session, begun)
        assert (request.state, begun.left_alone) == (RequestState.DONE, ())
        made_of = [one for one in await proposed(made, character) if one.request_id == request.id]
    assert [(one.part, one.before[:1] and one.names, one.prompt_index) for one in made_of] == [
        (ProposedPart.IDENTITY, (), 1),
        (ProposedPart.TRAIT, (), 1),
        (ProposedPart.TRAIT, ("Patient",), 1),
        (ProposedPart.TOPIC, ("The sea",), 1),
    ]
    assert made_of[0].why == "“took my brother” It is new."
    assert made_of[2].before == ({"name": "Patient", "description": "She waits.", "strength": 0.5},)
    assert made_of[2].after == ({"name": "Patient", "description": "She waits no more.", "strength": 0.25},)
    assert made_of[3].after == ({"name": "The sea", "perspective": "It is a thief.", "sentiment": -1.0},)
    assert list(await made.store.library.characters()) == [character]


@pytest.mark.parametrize(
    "wrong",
    [
        {"quote": "took my sister"},
        {"quote": "my brother"},
        {"quote": ""},
        {"prompt": 9},
        {"prompt": "one"},
        {"prompt": True},
        {"about": "name"},
        {"text": " \n"},
        {"about": "trait", "name": " "},
        {"text": "Mira keeps the lamp."},
    ],
    ids=str,
)
async def test_a_change_without_its_words_or_without_news_is_not_proposed(wrong: dict[str, object]) -> None:
    character = mira()
    async with ended(character, entries=(changes(change(**wrong)),)) as (session, made):
        [request] = await settled(session, await work_of(session).propose_changes())
        assert request.state is RequestState.DONE
        assert not [one for one in await proposed(made, character) if one.request_id]


async def test_how_many_entries_had_no_words_of_the_chapter_is_on_record() -> None:
    async with ended(mira(), entries=(changes(change(quote="never said this"), change()),)) as (session, _):
        await settled(session, await work_of(session).propose_changes())
        [call] = await calls(session)
        assert call.left_out == ("1 entry of the answer, whose words the chapter does not have",)


async def test_a_character_is_asked_about_what_it_knows_alone_and_quotes_nothing_else() -> None:
    whispered = change(prompt=3, quote="under the ninth step", text="She knows where the key is.")
    character = mira()
    async with ended(character, entries=(changes(whispered),), whisper=SECRET_PLACE) as (session, made):
        await settled(session, await work_of(session).propose_changes())
        sent = await inputs(session)
        assert "Who is there?" in sent
        assert SECRET_PLACE not in sent
        assert not [one for one in await proposed(made, character) if one.request_id]


async def test_what_only_some_have_heard_never_becomes_a_short_description() -> None:
    short = change(prompt=3, quote="under the ninth step", about="short_description", text="She has a key.")
    jon = mira(name="Jon")
    entries = (changes(short, change(prompt=3, quote="under the ninth step")),)
    async with ended(jon, entries=entries, whisper=SECRET_PLACE) as (session, made):
        await settled(session, await work_of(session).propose_changes())
        found = [one for one in await proposed(made, jon) if one.request_id]
    assert [one.part for one in found] == [ProposedPart.IDENTITY]


async def test_a_chapter_that_goes_on_or_has_nobody_of_the_library_is_not_asked_about() -> None:
    async with ended(mira(name="Nobody here")) as (session, _):
        with pytest.raises(IllegalCommandError, match="in the library"):
            await work_of(session).propose_changes()
    made, kept = library(mira())
    await made.store.library.put_character(*kept)
    async with made.opened() as session:
        with pytest.raises(IllegalCommandError, match="end it first"):
            await work_of(session).propose_changes()


def test_a_slot_is_of_the_character_that_it_was_taken_from_and_else_of_the_one_with_its_name() -> None:
    one, other = mira(aliases=("The Keeper",)), mira(name="Jon")
    cast = Session(
        id=SessionId(new_uuid()),
        names={Slot.RED: "the  keeper", Slot.ORANGE: "Someone", Slot.YELLOW: "mira"},
        created_at=AGO,
        updated_at=AGO,
    )
    taken = Profile(character_id=other.id)
    gone = Profile(character_id=CharacterId(new_uuid()))
    # A card from outside says its other names itself: by them it would be told what the slot RED knows.
    assert members_of(cast, Tab1Inputs(), (one, other)) == [(Slot.YELLOW, one)]
    assert members_of(cast, Tab1Inputs(profiles={Slot.ORANGE: taken}), (one, other)) == [
        (Slot.ORANGE, other),
        (Slot.YELLOW, one),
    ]
    assert members_of(cast, Tab1Inputs(profiles={Slot.RED: gone}), (one, other)) == [(Slot.YELLOW, one)]


async def test_static_and_paused_characters_are_left_alone_and_named() -> None:
    static, paused = mira(is_static=True), mira(name="Jon", is_paused=True)
    async with ended(static, paused) as (session, made):
        begun = await work_of(session).propose_changes(with_ceremony=True)
        assert begun == Begun((), ("Mira is static: only you change it", "Jon is paused"))
        assert not await made.store.library.proposals()
        assert not await calls(session)


async def test_one_that_becomes_static_while_it_waits_is_not_asked_about() -> None:
    hang = Entry(match=ScriptMatch(schema="changes"), fault=Fault.HANG)
    first, second = mira(), mira(name="Jon")
    async with ended(first, second, entries=(hang,)) as (session, made):
        begun = await work_of(session).propose_changes()
        await made.store.library.put_character(replace(second, is_static=True))
        await session.background.stop(begun.asked[0])
        done = await session.wait(begun.asked[1])
        assert done.state is RequestState.DONE
        assert {one.request_id for one in await calls(session)} == {begun.asked[0]}
        assert not [one for one in await proposed(made, second) if one.request_id]


async def test_the_ceremony_lets_topics_rise_and_fade_merges_and_asks_about_the_neglected() -> None:
    twins = Trait(name="Patient!", description="She waits."), Trait(name="Patient", description="She waits.")
    wanted = Topic(name="Kites", exposure_now=0.0, exposure_desired=0.9)
    character = mira(traits=twins, topics=(*mira().topics, wanted))
    asked: dict[str, object] = {"questions": [{"topic": "kites", "question": "Who still flies a kite?"}]}
    entries = changes(), answers("questions", asked)
    async with ended(character, entries=entries) as (session, made):
        begun = await work_of(session).propose_changes(with_ceremony=True)
        assert [one.state for one in await settled(session, begun)] == [RequestState.DONE] * 2
        found = {one.occasion: one for one in await proposed(made, character)}
    assert found.keys() == {Occasion.EXPOSURE, Occasion.FADE, Occasion.MERGE, Occasion.NEGLECT}
    assert found[Occasion.EXPOSURE].after == ({"name": "The sea", "exposure_now": 0.68},)
    assert found[Occasion.FADE].after == ({"name": "Bread", "exposure_now": 0.15},)
    assert found[Occasion.MERGE].names == ("Patient!", "Patient")
    assert found[Occasion.NEGLECT].after == ({"name": "Kites", "approach": "Who still flies a kite?"},)


async def test_what_a_character_does_not_know_does_not_count_as_mentioned() -> None:
    character = mira()
    async with ended(character) as (session, made):
        rows = made.store._one
        unheard = Audience.of([Slot.ORANGE])
        rows.events = {key: replace(one, audience=unheard) for key, one in rows.events.items()}
        await work_of(session).propose_changes()
        assert Occasion.EXPOSURE not in {one.occasion for one in await proposed(made, character)}


async def test_what_was_done_for_a_chapter_is_not_done_again_and_what_failed_is_tried_again() -> None:
    entries = changes(fault=Fault.REQUEST_ERROR, times=1), changes(change())
    twins = Trait(name="Patient"), Trait(name="Patient!")
    character = mira(traits=twins)
    async with ended(character, entries=entries) as (session, made):
        begun = await work_of(session).propose_changes(with_ceremony=True)
        [failed] = await settled(session, begun)
        assert failed.state is RequestState.FAILED
        again = await work_of(session).propose_changes(with_ceremony=True)
        assert again.asked == begun.asked
        await asyncio.wait_for(_until_done(session), 10)
        before = await proposed(made, character)
        third = await work_of(session).propose_changes(with_ceremony=True)
        assert third == Begun(answered=1)
        assert await proposed(made, character) == before
        assert len(await calls(session)) == 2


async def test_what_was_answered_for_a_chapter_is_asked_again_where_the_gm_wants_that() -> None:
    character = mira()
    async with ended(character, entries=(changes(change()),)) as (session, made):
        await settled(session, await work_of(session).propose_changes())
        before = [one.occasion for one in await proposed(made, character)]
        await settled(session, await work_of(session).propose_changes(again=True))
        assert len(await calls(session)) == 2
        after = [one.occasion for one in await proposed(made, character)]
        assert after == [*before, Occasion.CHAPTER], "what needs no model is proposed once"


async def _until_done(session: SessionHandle) -> None:
    while session.snapshot.background:
        await session.wait(session.snapshot.background[0].id)


async def test_proposals_and_the_end_of_their_call_are_one_transaction() -> None:
    character = mira()
    async with ended(character, entries=(changes(change()),)) as (session, made):
        await settled(session, await work_of(session).propose_changes())
        [commit] = [one for one in made.store.commits if any(p.request_id for p in one.proposals)]
        assert [one.state for one in commit.requests] == [RequestState.DONE]
        assert len(commit.artifacts) == 1


async def test_an_answer_that_repeats_its_prompt_is_not_proposed() -> None:
    copied = "what this one character would do, and not what fits anybody"
    payload: dict[str, object] = {"traits": [{"name": "Apt", "description": copied}, {"name": "Proud"}]}
    made, [character] = library(mira(), entries=(answers("gaps", payload),))
    await made.store.library.put_character(character)
    async with made.opened() as session:
        await session.wait(await work_of(session).fill_gaps(character))
    assert [one.names for one in await proposed(made, character)] == [("Proud",)]


async def test_a_topic_that_was_changed_is_not_neglected_but_one_that_only_faded_is() -> None:
    wanted = Topic(name="Kites", exposure_now=0.3, exposure_desired=0.9)
    for exposure, occasion, asked in ((0.2, Occasion.FADE, 2), (0.4, Occasion.EXPOSURE, 1)):
        character = mira(topics=(wanted,))
        async with ended(character, entries=(changes(),)) as (session, made):
            before, after = change_of(wanted, exposure_now=exposure)
            decided = Proposal(
                id=ProposalId(new_uuid()),
                character_id=character.id,
                part=ProposedPart.TOPIC,
                before=(before,),
                after=(after,),
                occasion=occasion,
                state=ProposalState.TAKEN,
                created_at=AGO,
                settled_at=utc_now() - timedelta(hours=1),
            )
            made.store.library.add_proposals([decided])
            begun = await work_of(session).propose_changes(with_ceremony=True)
            assert len(begun.asked) == asked
            await settled(session, begun)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "3", "null", "{}", "[" * 100_000),
        '{"question": "gaps"}',
        '{"question": "gaps", "character": 3}',
        '{"question": "gaps", "character": "Mira"}',
        '{"question": [], "character": "018f0000-0000-7000-8000-000000000000"}',
        '{"question": "gaps", "character": "018f0000-0000-7000-8000-000000000000", "topics": 3}',
    ],
)
def test_a_request_of_a_file_that_is_about_nothing_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(StoryEngineError, match="cannot be read"):
        Work.from_text(text)


def test_work_is_read_as_it_was_written() -> None:
    work = Work(Question.QUESTIONS, CharacterId(new_uuid()), ("The sea [/x]", "Oil"))
    assert Work.from_text(work.to_text()) == work
