"""Names of the library: what is typed finds one thing, and a name that is taken gets a number."""

from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import StoryEngineError
from core.domain.session.limits import LONGEST_NAME
from core.library.names import find, free_name
from core.text.name_list import name_key


@dataclass(frozen=True)
class Record:
    id: UUID
    names: tuple[str, ...]


KEPT = [
    Record(UUID("01900000-0000-7000-8000-000000000001"), ("Mira", "The Keeper")),
    Record(UUID("01900000-0000-7000-8000-000000000002"), ("Straße",)),
    Record(UUID("01900001-0000-7000-8000-000000000003"), ("Amélie",)),
]


def found(wanted: str, *, is_archived: bool = False) -> str:
    return find(wanted, KEPT, what="character", group="cast", is_archived=is_archived).names[0]


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


@pytest.mark.parametrize(("is_archived", "command"), [(False, "list"), (True, "list --archived")])
def test_a_name_that_means_nothing_is_refused_with_the_list_to_look_into(
    is_archived: bool, command: str
) -> None:
    with pytest.raises(StoryEngineError) as refused:
        found("Nothing", is_archived=is_archived)
    assert refused.value.hint == f"List them with `storyengine cast {command}`."


def test_several_of_one_name_are_told_apart_by_their_ids() -> None:
    with pytest.raises(StoryEngineError) as refused:
        found("01900000")
    first, second = (str(one.id) for one in KEPT[:2])
    assert refused.value.hint.endswith(f": {first}, {second}.")
    assert found(second) == "Straße"


@given(st.text(max_size=120), st.integers(0, 12))
def test_a_free_name_is_free_and_fits(wanted: str, times: int) -> None:
    taken: list[str] = []
    for _ in range(times):
        name = free_name(wanted, taken)
        assert name_key(name) not in taken
        assert len(name) <= LONGEST_NAME
        taken.append(name_key(name))
