"""A card becomes a character and a card again: only what the GM changed is different."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.ids import CharacterId, new_uuid
from core.library.cards.card import Card
from core.library.cards.card_file import read_card
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.library.characters.checks import cleaned_character, problems_of_character
from core.library.characters.from_card import (
    EXTENSION,
    brought_by,
    card_with,
    character_of,
    claims_of,
    identity_of,
    other_names_of,
)
from tests.core.library.cards.card_samples import CARD_TEXTS, V1, V2, V3, text_of

NOW = datetime(2026, 11, 25, tzinfo=UTC)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=30)
NAMES = WORDS.filter(lambda text: text.strip(" \u200b") != "")


def card(value: dict[str, Any]) -> Card:
    return read_card(text_of(value), "card.json").card


def made(one: Card, taken: frozenset[str] = frozenset(), *, is_trusted: bool = True) -> LibraryCharacter:
    name = one.name.strip() or "Nobody"
    return character_of(one, CharacterId(new_uuid()), name, taken, NOW, is_trusted=is_trusted)


SPY = {
    **V2,
    "data": {
        **V2["data"],
        "extensions": {
            EXTENSION: {
                "aliases": ["Kara", "Shade"],
                "group": "Crew",
                "groups_visible": ["Crew", "Guests"],
                "is_static": True,
                "model": "far:dear",
                "traits": [{"name": "Sly", "of a later version": 1}],
                "of another program": [1, 2],
            }
        },
    },
}
"""A card that gives itself groups, a model, and the name of somebody else."""


def test_a_card_gives_itself_no_group_no_model_and_nobody_elses_name() -> None:
    character = made(card(SPY), frozenset({"kara"}), is_trusted=False)
    assert (character.group, character.groups_visible) == ("General", ("General",))
    assert (character.is_static, character.model, character.aliases) == (False, "", ("Shade",))
    assert not character.profile.sees(("Crew",))
    assert card_with(character, card(SPY)).document == card(SPY).document
    trusted = made(card(SPY))
    assert (trusted.group, trusted.groups_visible) == ("Crew", ("Crew", "Guests"))
    assert (trusted.is_static, trusted.model) == (True, "far:dear")


def test_each_other_name_of_a_card_is_told_once_and_never_its_own_name() -> None:
    data = {"name": "Ara", "nickname": "ARA", "extensions": {EXTENSION: {"aliases": ["Al", "AL", " "]}}}
    assert other_names_of(card({"spec": "chara_card_v3", "spec_version": "3.0", "data": data})) == ("Al",)


def test_what_was_not_taken_of_a_card_stays_in_it_when_something_else_is_changed() -> None:
    before = made(card(SPY), is_trusted=False)
    after = card_with(replace(before, short_description="A shade."), card(SPY))
    found = SPY["data"]["extensions"][EXTENSION]
    assert after.extensions[EXTENSION] == {**found, "short_description": "A shade."}
    regrouped = card_with(replace(before, group="Harbour"), card(SPY))
    assert regrouped.extensions[EXTENSION] == {**found, "group": "Harbour"}


@pytest.mark.parametrize("empty", [[], "", None])
def test_what_the_gm_adds_is_exported_with_a_card_whose_extensions_are_empty(empty: object) -> None:
    plain = card({**V2, "data": {**V2["data"], "extensions": empty}})
    after = card_with(replace(made(plain), short_description="A shade."), plain)
    assert made(after).short_description == "A shade."


def test_a_nickname_that_the_gm_removes_is_not_in_the_card_again() -> None:
    nicknamed = card({**V2, "data": {**V2["data"], "nickname": "The  Keeper"}})
    before = made(nicknamed)
    assert before.aliases == ("The Keeper",)
    renamed = card_with(replace(before, aliases=("Kay",)), nicknamed)
    assert made(renamed).aliases == ("Kay",)
    kept = card_with(replace(before, aliases=("Kay", "the keeper")), nicknamed)
    assert kept.text("nickname") == "The  Keeper"


def test_a_card_is_reported_with_what_it_says_of_itself() -> None:
    assert brought_by(card(SPY)) == (
        "It is also called Shade.",
        "It brings 1 trait.",
        "It says of itself: group Crew; sees Crew, Guests; static; model far:dear.",
    )
    assert brought_by(card(SPY), {"shade"})[0] == "It brings 1 trait."
    assert brought_by(card(V2)) == ()
    assert claims_of(card(V3)) == ""


def units() -> st.SearchStrategy[float]:
    return st.floats(0, 1)


def sentiments() -> st.SearchStrategy[float]:
    return st.floats(-1, 1)


def traits() -> st.SearchStrategy[tuple[Trait, ...]]:
    one = st.builds(Trait, name=NAMES, description=WORDS, strength=units(), sentiment=sentiments())
    return st.lists(one, max_size=4, unique_by=lambda trait: trait.name.casefold()).map(tuple)


def topics() -> st.SearchStrategy[tuple[Topic, ...]]:
    one = st.builds(
        Topic,
        name=NAMES,
        perspective=WORDS,
        approach=WORDS,
        personal_stake=WORDS,
        sentiment=sentiments(),
        exposure_now=units(),
        exposure_desired=units(),
    )
    return st.lists(one, max_size=4, unique_by=lambda topic: topic.name.casefold()).map(tuple)


@given(CARD_TEXTS)
def test_a_card_that_nothing_was_changed_of_is_the_same_card(text: bytes) -> None:
    one = read_card(text, "card.json").card
    character = made(one)
    assert card_with(character, one) is one


@given(st.sampled_from([V1, V2, V3]), traits(), topics(), st.booleans(), WORDS)
def test_what_a_card_has_no_field_for_comes_back_from_it(
    value: dict[str, Any],
    some_traits: tuple[Trait, ...],
    some_topics: tuple[Topic, ...],
    is_static: bool,
    short: str,
) -> None:
    character = cleaned_character(
        replace(
            made(card(value)),
            traits=some_traits,
            topics=some_topics,
            is_static=is_static,
            short_description=short,
            group="Sailors",
            groups_visible=(),
        )
    )
    if list(problems_of_character(character)):
        return
    again = made(card_with(character, card(value)))
    shared = ("traits", "topics", "is_static", "short_description", "group", "groups_visible", "identity")
    assert [getattr(again, name) for name in shared] == [getattr(character, name) for name in shared]


@pytest.mark.parametrize("value", [V1, V2, V3], ids=["version 1", "version 2", "version 3"])
def test_another_name_changes_the_name_and_nothing_else(value: dict[str, Any]) -> None:
    before = card(value)
    after = card_with(replace(made(before), name="Mira"), before)
    assert after.name == "Mira"
    assert json.loads(after.document.text.replace("Mira", before.name)) == before.document.value


@pytest.mark.parametrize(
    ("identity", "description", "personality"),
    [
        ("A thief.\n\ndry", "A thief.", "dry"),
        ("A keeper of the lamp.\n\nwet", "A keeper of the lamp.", "wet"),
        ("Quite another.", "Quite another.", ""),
    ],
)
def test_an_identity_that_was_changed_goes_back_into_its_two_fields(
    identity: str, description: str, personality: str
) -> None:
    before = card(V2)
    after = card_with(replace(made(before), identity=identity), before)
    assert (after.text("description"), after.text("personality")) == (description, personality)
    assert identity_of(after) == identity


def test_a_character_that_came_from_no_card_gets_one() -> None:
    character = LibraryCharacter(
        id=CharacterId(new_uuid()), name="Joss", identity="A sailor.", created_at=NOW, updated_at=NOW
    )
    one = card_with(character, None)
    assert (one.name, identity_of(one)) == ("Joss", "A sailor.")
    assert EXTENSION not in one.extensions
    assert EXTENSION in card_with(replace(character, is_static=True), None).extensions


def test_the_nickname_of_a_card_is_another_name_unless_somebody_has_it() -> None:
    assert made(card(V3)).aliases == ("K",)
    assert made(card(V3), frozenset({"k"})).aliases == ()
    without = made(card(V3), frozenset({"k"}))
    assert card_with(without, card(V3)).document == card(V3).document


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["name", "strength", "sentiment", "traits", "topics", "aliases", "group", "exposure_now"]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=15,
    )
)
def test_whatever_stands_in_the_extension_a_character_can_be_stored(found: object) -> None:
    value = {**V2, "data": {**V2["data"], "extensions": {EXTENSION: found}}}
    assert list(problems_of_character(made(card(value)))) == []
