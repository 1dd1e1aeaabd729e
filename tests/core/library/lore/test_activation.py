"""Which entries a text activates, in a table worked out by hand; and what a result says and remembers."""

import pytest

from core.library.lore.activation.scanner import LoreScanner
from tests.core.library.lore.activation_case import Case, activated
from tests.core.library.lore.cases_of_keys import CASES as OF_KEYS
from tests.core.library.lore.cases_of_limits import CASES as OF_LIMITS
from tests.core.library.lore.cases_of_recursion import CASES as OF_RECURSION
from tests.core.library.lore.cases_of_time import CASES as OF_TIME

CASES = (*OF_KEYS, *OF_RECURSION, *OF_LIMITS, *OF_TIME)


def names(case: Case) -> str:
    return f"{case.source}: {case.rule}"


def uids(case: Case, scanner: LoreScanner | None = None) -> list[str]:
    return [one.outcome.uid for one in activated(case, scanner).active]


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_entries_are_active_that_the_rule_says(case: Case) -> None:
    found = uids(case)
    if isinstance(case.active, set):
        assert set(found) == case.active
        assert len(found) == len(case.active)
    else:
        assert found == case.active


def test_the_table_has_a_case_for_every_rule_and_no_two_of_one_name() -> None:
    assert len(CASES) >= 120
    assert len({names(case) for case in CASES}) == len(CASES)


def test_a_scanner_that_has_seen_other_books_says_the_same() -> None:
    scanner = LoreScanner(len)
    for case in (*CASES, *reversed(CASES)):
        assert uids(case, scanner) == uids(case), case.rule


@pytest.mark.parametrize("case", CASES, ids=names)
def test_every_entry_has_an_outcome_that_agrees_and_a_sentence(case: Case) -> None:
    activation = activated(case)
    outcomes = activation.outcomes
    expected = len(case.entries) + sum(len(other.book.entries) for other in case.others)
    assert len(outcomes) == expected
    assert {one.uid for one in outcomes if one.is_active} == {one.outcome.uid for one in activation.active}
    assert all(one.sentence.endswith(".") for one in outcomes)
