"""What a proposal makes of a character; it never replaces what it was not made for."""

from dataclasses import replace

import pytest

from core.domain.errors import IllegalCommandError
from core.domain.proposal import Proposal, ProposedPart
from core.library.characters.character import LibraryCharacter, Topic, Trait, record_of
from core.library.characters.checks import MOST_TRAITS
from core.library.proposals.taking import change_of, fits, identity_mark, taken, taken_back
from tests.core.library.proposals.proposal_samples import mira, proposed

MIRA = mira()
BRAVE = Trait(name="Brave", description="She goes first.")
WAITING = Trait(name="Waiting", description="She waits.", strength=0.5)


def shorter(text: str = "Keeps a dark lamp.") -> Proposal:
    return proposed(
        MIRA, ProposedPart.SHORT_DESCRIPTION, ({"text": MIRA.short_description},), ({"text": text},)
    )


def addition(text: str) -> Proposal:
    return proposed(MIRA, ProposedPart.IDENTITY, (identity_mark(MIRA.identity),), ({"text": text},))


def stronger() -> Proposal:
    before, after = change_of(MIRA.traits[0], strength=0.9)
    return proposed(MIRA, ProposedPart.TRAIT, (before,), (after,))


def spoken_of() -> Proposal:
    before, after = change_of(MIRA.topics[0], exposure_now=0.4)
    return proposed(MIRA, ProposedPart.TOPIC, (before,), (after,))


CASES = {
    "a short description": (shorter(), replace(MIRA, short_description="Keeps a dark lamp.")),
    "an addition": (
        addition("She fears the dark."),
        replace(MIRA, identity="Mira keeps the lamp.\n\nShe fears the dark."),
    ),
    "a new trait": (
        proposed(MIRA, ProposedPart.TRAIT, (), (record_of(BRAVE),)),
        replace(MIRA, traits=(*MIRA.traits, BRAVE)),
    ),
    "a stronger trait": (stronger(), replace(MIRA, traits=(replace(MIRA.traits[0], strength=0.9),))),
    "an exposure": (
        spoken_of(),
        replace(MIRA, topics=(replace(MIRA.topics[0], exposure_now=0.4), MIRA.topics[1])),
    ),
    "a new topic": (
        proposed(MIRA, ProposedPart.TOPIC, (), (record_of(Topic(name="Keys")),)),
        replace(MIRA, topics=(*MIRA.topics, Topic(name="Keys"))),
    ),
}


@pytest.mark.parametrize(("proposal", "wanted"), CASES.values(), ids=CASES.keys())
def test_taking_makes_the_one_change_and_taking_back_undoes_it(
    proposal: Proposal, wanted: LibraryCharacter
) -> None:
    assert fits(MIRA, proposal)
    assert taken(MIRA, proposal) == wanted
    assert taken_back(wanted, proposal) == MIRA


def test_one_trait_takes_the_place_of_two_and_gives_it_back() -> None:
    two = replace(MIRA, traits=(BRAVE, *MIRA.traits, WAITING))
    both = record_of(MIRA.traits[0]), record_of(WAITING)
    one = replace(MIRA.traits[0], description="She waits, always.")
    proposal = proposed(MIRA, ProposedPart.TRAIT, both, (record_of(one),))
    merged = taken(two, proposal)
    assert merged.traits == (BRAVE, one)
    assert taken_back(merged, proposal).traits == two.traits


OUTDATED = {
    "the GM wrote another description": (shorter(), replace(MIRA, short_description="Mine.")),
    "the identity was rewritten": (addition("More."), replace(MIRA, identity="Mira sleeps.")),
    "the strength is another one": (
        stronger(),
        replace(MIRA, traits=(replace(MIRA.traits[0], strength=0.1),)),
    ),
    "the trait is gone": (stronger(), replace(MIRA, traits=())),
    "there is one with that name": (
        proposed(MIRA, ProposedPart.TRAIT, (), (record_of(replace(BRAVE, name="PATIENT")),)),
        MIRA,
    ),
    "there is no room": (
        proposed(MIRA, ProposedPart.TRAIT, (), (record_of(BRAVE),)),
        replace(MIRA, traits=tuple(Trait(name=f"Trait {number}") for number in range(MOST_TRAITS))),
    ),
}


@pytest.mark.parametrize(("proposal", "character"), OUTDATED.values(), ids=OUTDATED.keys())
def test_a_proposal_for_what_is_no_longer_there_is_outdated_and_changes_nothing(
    proposal: Proposal, character: LibraryCharacter
) -> None:
    assert not fits(character, proposal)
    with pytest.raises(IllegalCommandError, match="changed since"):
        taken(character, proposal)


def test_a_change_of_another_field_of_the_same_topic_leaves_a_proposal_as_it_is() -> None:
    sea = replace(MIRA.topics[0], perspective="It gives.")
    changed = taken(replace(MIRA, topics=(sea, MIRA.topics[1])), spoken_of())
    assert changed.topics[0] == replace(sea, exposure_now=0.4)


def test_each_addition_to_an_identity_fits_behind_the_others_and_goes_alone() -> None:
    both = taken(taken(MIRA, addition("She fears the dark.")), addition("She sings."))
    assert both.identity == "Mira keeps the lamp.\n\nShe fears the dark.\n\nShe sings."
    assert taken_back(both, addition("She fears the dark.")).identity == "Mira keeps the lamp.\n\nShe sings."
    empty = replace(MIRA, identity="")
    first = proposed(empty, ProposedPart.IDENTITY, (identity_mark(""),), ({"text": "She sings."},))
    assert taken(empty, first).identity == "She sings."
    assert taken_back(taken(empty, first), first) == empty


def test_what_was_changed_after_it_was_taken_is_not_taken_back() -> None:
    for proposal in (shorter(), addition("She sings."), stronger(), spoken_of()):
        with pytest.raises(IllegalCommandError, match="nothing was undone"):
            taken_back(MIRA, proposal)


def test_what_was_merged_is_not_taken_apart_where_a_name_has_another_trait_now() -> None:
    two = replace(MIRA, traits=(*MIRA.traits, WAITING))
    both = record_of(MIRA.traits[0]), record_of(WAITING)
    proposal = proposed(MIRA, ProposedPart.TRAIT, both, (record_of(MIRA.traits[0]),))
    merged = taken(two, proposal)
    other = replace(merged, traits=(*merged.traits, replace(BRAVE, name="waiting")))
    with pytest.raises(IllegalCommandError, match="nothing was undone"):
        taken_back(other, proposal)
