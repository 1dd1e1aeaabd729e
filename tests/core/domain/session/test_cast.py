"""How a typed name finds a character of a chapter."""

import unicodedata

import pytest

from core.domain.session.cast import Cast
from core.domain.session.profile import Profile
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from tests.core.values.sessions import session

PROFILES = {
    Slot.RED: Profile(aliases=("Kay", "The Keeper", "Joss")),
    Slot.ORANGE: Profile(aliases=("The Keeper", "Sailor")),
    Slot.GREEN: Profile(aliases=("Ghost",)),
}
CAST = Cast(session(names={Slot.RED: "Kara", Slot.ORANGE: "Joss"}), Tab1Inputs(profiles=PROFILES))


@pytest.mark.parametrize(
    ("typed", "slot"),
    [
        ("Kara", Slot.RED),
        (" KAY\n", Slot.RED),
        ("Joss", Slot.ORANGE),
        ("sailor", Slot.ORANGE),
        ("agent yellow", Slot.YELLOW),
        ("The Keeper", None),
        ("Ghost", None),
        ("", None),
    ],
)
def test_a_name_goes_before_another_name_and_one_that_means_two_means_none(
    typed: str, slot: Slot | None
) -> None:
    assert CAST.called(typed) is slot


@pytest.mark.parametrize("name", ["Zoe\u0308", "Κ\u0390ρα", "J\u030can"])
def test_a_name_is_found_in_each_case_and_however_its_accents_are_written(name: str) -> None:
    cast = Cast(session(names={Slot.RED: name}), Tab1Inputs())
    for form in ("NFC", "NFD"):
        for typed in (name, name.lower(), name.upper()):
            assert cast.called(unicodedata.normalize(form, typed)) is Slot.RED


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("ka", [Slot.RED]),
        ("keeper", [Slot.RED, Slot.ORANGE]),
        ("Yellow", [Slot.YELLOW]),
        ("ost", []),
        (" ", []),
    ],
)
def test_a_beginning_of_a_name_or_a_word_of_it_finds_those_who_have_it(typed: str, slots: list[Slot]) -> None:
    assert CAST.called_in_part(typed) == slots


def test_the_other_names_are_those_that_mean_one_of_the_chapter() -> None:
    assert CAST.other_names == {"Kay": Slot.RED, "Joss": Slot.ORANGE, "Sailor": Slot.ORANGE}
