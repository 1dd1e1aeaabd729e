"""Several names on one line: what was not typed anew stays as it was, and no new group hides a separator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.name_list import problems_of_groups, shown_names, typed_names

NAMES = st.lists(st.text("ab,;；؛ ", min_size=1, max_size=5), max_size=3).map(tuple)


@given(NAMES)
def test_a_line_that_nobody_touched_has_the_names_that_it_showed(names: tuple[str, ...]) -> None:
    assert typed_names(shown_names(names), names) == names


def test_a_name_of_before_with_a_semicolon_stays_one_name_beside_a_new_one() -> None:
    assert typed_names("A;B; C", ("A;B",)) == ("A;B", "C")
    assert typed_names("A；B；C؛ د", ("A；B",)) == ("A；B", "C", "د")


def test_semicolons_alone_stand_between_names() -> None:
    assert typed_names("Crew, old;  The  guests ;;", ("Crew, old",)) == ("Crew, old", "The guests")


@pytest.mark.parametrize("name", ["Crew, old", "Crew; old"])
def test_a_new_group_has_no_separator_in_its_name_and_one_of_before_is_let_be(name: str) -> None:
    assert name in next(problems_of_groups(("Crew", name), ("Crew",)))
    assert not list(problems_of_groups(("Crew", name), (name,)))
