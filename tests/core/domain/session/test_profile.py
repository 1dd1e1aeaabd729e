"""What a slot has of a character of the library, and who sees which groups."""

from uuid import UUID

import pytest

from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.ids import CharacterId
from core.domain.session.profile import (
    GENERAL,
    Profile,
    Profiles,
    audience_of_groups,
    cleaned_profile,
    problems_of_profile,
    profile_text,
)
from core.domain.slot import Slot, first_slots

CAST = first_slots(4)
WALLED_OFF = Profile(group="Harbour", groups_visible=())
GUEST = Profile(group="Lamp", groups_visible=("Harbour", GENERAL))
PROFILES: Profiles = {Slot.RED: WALLED_OFF, Slot.ORANGE: GUEST}
"""Yellow and green were made by hand."""


@pytest.mark.parametrize(
    ("groups", "seen_by"),
    [
        ((), {Slot.ORANGE, Slot.YELLOW, Slot.GREEN}),
        ((GENERAL,), {Slot.ORANGE, Slot.YELLOW, Slot.GREEN}),
        (("Harbour",), {Slot.RED, Slot.ORANGE}),
        (("Lamp",), {Slot.ORANGE}),
        (("Lamp", "Guild"), {Slot.ORANGE}),
        (("harbour ", "GENERAL"), set(CAST)),
        (("Guild",), set()),
    ],
)
def test_who_sees_one_of_the_groups_of_an_item_may_know_it(
    groups: tuple[str, ...], seen_by: set[Slot]
) -> None:
    found = audience_of_groups(groups, CAST, PROFILES)
    assert {slot for slot in CAST if slot in found} == seen_by


def test_what_the_whole_cast_sees_is_for_everyone_and_what_no_one_sees_for_no_one() -> None:
    assert audience_of_groups((), CAST, {}) == EVERYONE
    assert audience_of_groups(("Guild",), CAST, {}) == NOBODY
    assert audience_of_groups(("Harbour",), CAST[:2], PROFILES) == EVERYONE
    assert audience_of_groups((), CAST, {Slot.RED: WALLED_OFF}) == Audience.of(CAST[1:])


def test_a_character_that_may_see_no_group_sees_its_own() -> None:
    assert WALLED_OFF.sees(("Harbour",))
    assert not WALLED_OFF.sees((GENERAL,))
    assert not WALLED_OFF.sees(())


def test_a_profile_is_cleaned_and_an_empty_one_says_nothing() -> None:
    told = cleaned_profile(
        Profile(aliases=("Kay\n ", "kay", " "), group=" ", groups_visible=("Lamp", "LAMP"))
    )
    assert told == Profile(aliases=("Kay",), groups_visible=("Lamp",))
    assert not cleaned_profile(Profile(group="", short_description=" \n"))


@pytest.mark.parametrize(
    "profile",
    [
        Profile(aliases=tuple(map(str, range(21)))),
        Profile(aliases=("x" * 101,)),
        Profile(group="x" * 101),
        Profile(groups_visible=tuple(map(str, range(20)))),
        Profile(short_description="x" * 501),
    ],
)
def test_what_is_too_long_or_too_much_is_a_problem(profile: Profile) -> None:
    assert list(problems_of_profile(profile))
    assert list(problems_of_profile(GUEST)) == []


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        (Profile(), ""),
        (Profile(character_id=CharacterId(UUID(int=1))), "From the library"),
        (WALLED_OFF, "group Harbour · sees no other group"),
        (GUEST, "group Lamp · sees Harbour, General"),
        (Profile(aliases=("Kay", "K"), short_description="The keeper."), "also Kay, K · The keeper."),
    ],
)
def test_a_profile_is_said_on_one_line(profile: Profile, said: str) -> None:
    assert profile_text(profile) == said
