"""What the program makes of the details of items: by evidence, by counting, and from item to item."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest

from core.domain.audience import Audience
from core.domain.bank.details import (
    Attribute,
    FactDetails,
    Performance,
    PersonDetails,
    QuoteDetails,
    Relationship,
    ThreadDetails,
    TraitDetails,
)
from core.domain.bank.item import ItemOrigin, SourceOrigin, Validation, exposure_of
from core.domain.bank.joining import filled, followed
from core.domain.slot import Slot
from core.engine.services.bank.item_changes import edited, merged
from core.engine.services.bank.provenance import provenance_of
from core.engine.services.bank.undo import UNDO, VersionKey, Versions, taken_back
from tests.core.rooms.bank_room import SAID, answer, calls, fact, items, read, room, scan
from tests.core.rooms.takes_model import play
from tests.core.values.bank import NOW
from tests.core.values.bank import fact as item

pytestmark = pytest.mark.anyio
ARM = "My left arm bleeds."
AGE, COLOUR = Attribute(name="age", value="sixty"), Attribute(name="colour", value="grey")
SKILL = {
    "who": "Agent Red",
    "words": "the brass key",
    "importance": 2,
    "name": "Hiding things",
    "text": "Kara hides things well.",
    "strength": 3,
    "steps": ["Look for a hole.", "", 7],
    "prerequisites": [],
    "outcomes": ["Nobody finds it."],
    "minutes": 10,
}


def event(words: str = "brass key", **fields: object) -> dict[str, object]:
    return {**fact(words, **fields), "participants": [], "context": "", "outcome": "", "minutes": 90}


async def test_a_quality_or_relation_that_play_does_not_tell_is_dropped_and_the_call_says_so() -> None:
    told = [{"name": "metal", "value": "Brass"}, {"name": "age", "value": "sixty"}, {"name": "x"}, 7]
    to = [{"relation": "key of", "target": "the mill"}, {"relation": "owned by", "target": "Nobody"}]
    made = room(
        scan(facts=[fact(attributes=told, relationships=[*to, {"relation": "of", "target": "Agent Orange"}])])
    )
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await read(session)
        [key] = await items(session)
        assert key.details == FactDetails(
            attributes=(Attribute(name="metal", value="Brass"),),
            relationships=(
                Relationship(relation="key of", target="the mill"),
                Relationship(relation="of", target="Agent Orange"),
            ),
        )
        [call] = await calls(session)
        assert call.left_out == (
            "2 items had no evidence and were dropped: “The brass key (age)”, "
            "“The brass key (owned by Nobody)”",
        )


async def test_a_quality_that_is_new_is_kept_also_where_nothing_else_is() -> None:
    metal, place = {"name": "metal", "value": "brass"}, {"relation": "under", "target": "the mill"}
    made = room(
        scan(last="7)", facts=[fact(prompt=7, attributes=[{"name": "Metal", "value": "Brass"}])]),
        scan(last="4)", facts=[fact(prompt=4, attributes=[metal], relationships=[place])]),
        scan(facts=[fact(attributes=[metal])]),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?", "7?", "8?", "9?")
        await read(session)
        [key] = await items(session)
        assert key.details == FactDetails(
            attributes=(Attribute(name="metal", value="brass"),),
            relationships=(Relationship(relation="under", target="the mill"),),
        )
        assert [one.prompt_index for one in key.evidence] == [4, 1]
        assert (await calls(session))[-1].left_out == ("1 item is in the bank already: “The brass key”",)


async def test_events_are_numbered_in_the_order_of_play_also_after_an_undone_prompt() -> None:
    first = [event(prompt=2, name="Later"), event(ARM, prompt=1, name="Arm", text="An arm bleeds.")]
    second = event("the mill", prompt=4, name="Next", text="The mill is passed.")
    made = room(scan(last="4)", events=[second]), scan(events=first))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        numbers = {one.name: one.details.sequence_number for one in await items(session)}  # type: ignore[union-attr]
        assert numbers == {"Arm": 1, "Later": 2, "Next": 3}
        assert {one.details.duration_ms for one in await items(session)} == {5_400_000}  # type: ignore[union-attr]
        await session.takes.undo()
        assert len(await items(session)) == 2


async def test_a_quote_names_the_items_that_its_words_prove_also_those_that_were_there() -> None:
    quote = {"words": SAID, "speaker": "Agent Red", "importance": 4}
    arm = fact(ARM, name="The arm", text="An arm bleeds.")
    made = room(
        scan(last="4)", facts=[fact(prompt=4)], quotes=[{**quote, "prompt": 4, "words": "under the mill."}]),
        scan(facts=[fact(), arm], quotes=[{**quote, "prompt": 1, "words": SAID}]),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        stored = {one.name: one for one in await items(session)}
        quotes = [one.details for one in stored.values() if isinstance(one.details, QuoteDetails)]
        assert [one.data_item_ids for one in quotes] == [
            (stored["The brass key"].id, stored["The arm"].id),
            (stored["The brass key"].id,),
        ]


async def test_the_gm_s_quote_names_the_items_that_its_words_prove() -> None:
    made = room(scan(facts=[fact()]))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        [key] = await items(session)
        said = next(one for one in await session.reads.canon() if (one.prompt_index, one.ordinal) == (1, 1))
        chapter = session.snapshot.session
        quote = await session.bank.quote(chapter, said, "the brass key")
        assert quote.details == QuoteDetails(speaker="Agent Red", data_item_ids=(key.id,))
        other = await session.bank.quote(chapter, said, ARM)
        assert other.details == QuoteDetails(speaker="Agent Red")


async def test_each_use_of_a_skill_counts_also_where_nothing_else_is_new() -> None:
    uses = [{**SKILL, "prompt": prompt} for prompt in (1, 4)]
    made = room(
        scan(last="4)", traits=[{**uses[1], "worked": "no", "minutes": 20}]),
        scan(traits=[{**uses[0], "worked": "yes"}]),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        [skill] = await items(session)
        assert skill.details == TraitDetails(
            strength=0.75,
            steps=("Look for a hole.",),
            outcomes=("Nobody finds it.",),
            performance=Performance(
                execution_count=2, success_rate=0.5, last_execution=4, average_duration_ms=900_000
            ),
        )
        assert [one.prompt_index for one in skill.evidence] == [4, 1]
        assert skill.source_origin is SourceOrigin.LEARNED
        await session.takes.undo()
        [before] = await items(session)
        assert before.details.performance == Performance(  # type: ignore[union-attr]
            success_rate=1.0, last_execution=1, average_duration_ms=600_000
        )


async def test_a_trait_that_shows_again_without_a_use_stays_as_it_is() -> None:
    shows = [{**SKILL, "prompt": prompt} for prompt in (1, 4)]
    made = room(scan(last="4)", traits=[{**shows[1], "worked": ""}]), scan(traits=[shows[0]]))
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        [trait] = await items(session)
        assert trait.supersedes is None
        assert trait.details.performance is None  # type: ignore[union-attr]


async def test_exposure_is_counted_in_what_was_played_and_adds_up_over_the_parts() -> None:
    thread = {"category": "Plan", "stakes": "", "is_closed": False, "sentiment": 0, "name": "the mill"}
    later = {**fact("under the mill", prompt=4, text="Somebody must go back to the mill tonight."), **thread}
    earlier = {**fact("under the mill", text="What lies under the mill?"), **thread, "exposure_desired": 3}
    made = room(
        scan(last="4)", threads=[later]),
        scan(threads=[earlier]),
        answer("bank_update", {"n1": {"change": "adds", "text": "The mill is to be searched tonight."}}),
        answer("bank_match", {"n1": "a"}),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        [now] = await items(session)
        assert isinstance(now.details, ThreadDetails)
        assert now.supersedes is not None
        assert now.details.exposure_desired == 0.75
        # Three replies of each part name it: 1 - 0.8^3 is 0.49.
        assert now.details.exposure_current == pytest.approx(1 - (1 - 0.49) * (1 - 0.49), abs=0.01)
        assert exposure_of(now, now.prompt_index) == now.details.exposure_current
        later_on = exposure_of(now, now.prompt_index + 300)
        assert later_on is not None
        assert later_on < 0.5
        assert exposure_of(replace(now, is_pinned=True), now.prompt_index + 300) == later_on


def test_what_is_newer_keeps_what_was_known_and_says_nothing_of() -> None:
    old = PersonDetails(relationship="her cousin", attributes=(AGE, COLOUR), exposure_desired=0.5)
    new = PersonDetails(attributes=(Attribute(name="Age", value="sixty-one"),))
    assert filled(new, old) == PersonDetails(
        relationship="her cousin", attributes=(*new.attributes, COLOUR), exposure_desired=0.5
    )
    assert followed(new, old, 0.5).exposure_current is None  # type: ignore[union-attr]
    assert filled(new, ThreadDetails(stakes="x")) == new


def test_a_merge_keeps_the_details_of_those_with_its_own_label_alone() -> None:
    person = replace(item(1), details=PersonDetails(relationship="her cousin"))
    alike = replace(item(2), details=PersonDetails(attributes=(AGE,), exposure_current=0.4))
    private = replace(item(3, label=Audience.of((Slot.RED,))), details=PersonDetails(attributes=(COLOUR,)))
    kept, *_ = merged([person, alike, private])
    assert kept.details == PersonDetails(relationship="her cousin", attributes=(AGE,), exposure_current=0.4)


def test_a_merge_goes_on_in_the_newest_item_so_that_undo_takes_later_details_back() -> None:
    older = replace(item(1, prompt_index=3), details=PersonDetails(attributes=(COLOUR,)))
    later = replace(item(2, prompt_index=6), details=PersonDetails(attributes=(AGE,)))
    own = replace(item(3, prompt_index=8), take=None, is_by_gm=True, name="Old Tam", details=PersonDetails())
    for marked in permutations((older, later, own)):
        kept, *others = merged(marked)
        assert (kept.id, kept.prompt_index, kept.take) == (later.id, 6, 1)
        assert (kept.name, kept.is_by_gm, kept.details) == (
            "Old Tam",
            True,
            PersonDetails(attributes=(AGE, COLOUR)),
        )
        assert [replace(other, merged_into=None) for other in others] == [
            one for one in marked if one != later
        ]


def test_what_the_gm_types_is_clean_and_says_nothing_twice() -> None:
    typed = FactDetails(
        attributes=(Attribute(name=" a\x1b[31mge\n", value="sixty "), Attribute(name="x", value="\n")),
        relationships=(Relationship(relation=" of", target="Kara\x00"),),
    )
    before = replace(item(), details=FactDetails())
    after = edited(before, replace(before, details=typed))
    assert after.details == FactDetails(
        attributes=(AGE,), relationships=(Relationship(relation="of", target="Kara"),)
    )
    assert after.is_by_gm
    assert after.source_origin is SourceOrigin.CONFIGURED


async def test_details_come_back_when_a_change_is_undone() -> None:
    before = replace(item(), details=PersonDetails(attributes=(AGE,), exposure_current=0.3))
    after = edited(before, replace(before, details=PersonDetails())).next_version(NOW + timedelta(hours=1))

    async def read(keys: Sequence[VersionKey]) -> Versions:
        return {key: before for key in keys if key == (before.id, 1)}

    [back] = await taken_back(UNDO, [after], {before.id}, NOW + timedelta(hours=2), read)
    assert back.details == before.details


def test_who_learned_of_an_item_and_who_changed_it_follows_from_what_is_stored() -> None:
    first = item(1, prompt_index=3)
    newer = replace(item(2, prompt_index=6), supersedes=first.id, created_at=NOW + timedelta(hours=1))
    others = {one.id: one for one in (first, newer)}
    provenance = provenance_of([newer], others)
    assert (provenance.learned_by.prompt_index, provenance.learned_by.is_gm) == (3, False)
    assert provenance.last_changed_by is not None
    assert (provenance.last_changed_by.prompt_index, provenance.last_changed_by.is_gm) == (6, False)
    assert provenance_of([first], others).last_changed_by is None
    looked_at = replace(first.next_version(NOW), validation=Validation.SEEN)
    assert provenance_of([first, looked_at], others).last_changed_by is None
    changed = replace(looked_at.next_version(NOW + timedelta(hours=3)), text="The GM says so.")
    by_gm = provenance_of([first, looked_at, changed], others).last_changed_by
    assert by_gm is not None
    assert (by_gm.is_gm, by_gm.at) == (True, NOW + timedelta(hours=3))
    own = replace(first, origin=ItemOrigin.GM, is_by_gm=True)
    assert provenance_of([own], {}).learned_by.is_gm
