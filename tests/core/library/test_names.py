"""Names of the library: what is typed finds one thing, and a name that is taken gets a number."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import StoryEngineError
from core.domain.session.limits import LONGEST_NAME
from core.library.names import find, free_name
from core.text.name_list import name_key

KEPT = [
    (UUID("01900000-0000-7000-8000-000000000001"), ("Mira", "The Keeper")),
    (UUID("01900000-0000-7000-8000-000000000002"), ("Straße",)),
    (UUID("01900001-0000-7000-8000-000000000003"), ("Amélie",)),
]


def found(wanted: str) -> str:
    one = find(
        wanted,
        KEPT,
        names_of=lambda kept: kept[1],
        id_of=lambda kept: kept[0],
        what="character",
        hint="List them.",
    )
    return one[1][0]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("Mira", "Mira"),
        ("  MIRA ", "Mira"),
        ("the   keeper", "Mira"),
        ("STRASSE", "Straße"),
        ("Ame\u0301lie", "Amélie"),
        ("01900001", "Amélie"),
    ],
)
def test_a_name_is_found_however_it_is_written(wanted: str, name: str) -> None:
    assert found(wanted) == name


@pytest.mark.parametrize("wanted", ["", "Mir", "Nobody", "01900000", "0190"])
def test_what_means_nothing_or_several_is_refused_in_a_sentence(wanted: str) -> None:
    with pytest.raises(StoryEngineError, match="Nothing was done"):
        found(wanted)


@given(st.text(max_size=120), st.integers(0, 12))
def test_a_free_name_is_free_and_fits(wanted: str, times: int) -> None:
    taken: list[str] = []
    for _ in range(times):
        name = free_name(wanted, taken)
        assert name_key(name) not in taken
        assert len(name) <= LONGEST_NAME
        taken.append(name_key(name))
