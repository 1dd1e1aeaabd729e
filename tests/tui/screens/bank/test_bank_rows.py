"""The rows of the bank's lists, and the numbers of an item as the GM types them."""

from dataclasses import replace

import pytest

from core.domain.bank.checks import LAST_PROMPT
from core.domain.bank.details import (
    Details,
    FactDetails,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    ThreadDetails,
    TraitDetails,
)
from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from storyengine_tui.screens.bank.bank_rows import (
    BankList,
    Wanted,
    cells_of,
    columns_of,
    found,
    new_here,
    rows_of,
)
from storyengine_tui.screens.bank.item_numbers import (
    NO_PROMPT,
    read_decay,
    read_prompt,
    shown_decay,
    shown_prompt,
)
from tests.core.values.bank import fact
from tests.store.chapters import new_session


def test_a_merged_item_that_counts_again_is_listed_as_one_that_counts() -> None:
    merged = replace(fact(1), merged_into=fact(2).id)
    for counting, wanted, mark in (((), Wanted.OUT, "merged"), ((merged.id,), Wanted.ALL, "new")):
        rows = rows_of([merged], {}, 3, counting=counting)
        [row] = found(rows, BankList.FACTS, wanted, None, "")
        cells = cells_of(row, new_session(), columns_of(rows, 80, kind=""), sign="")
        assert cells[1] == mark


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ((), ""),
        ((FactDetails(), TraitDetails()), "2 new in list 6"),
        ((PersonDetails(), PlaceDetails()), "2 new in lists 3, 4"),
        ((PersonDetails(), PlaceDetails(), FactDetails()), "3 new in lists 3, 4, 6"),
        ((PlaceDetails(), ThreadDetails(), FactDetails()), "3 new in lists 4 to 6"),
    ],
)
def test_new_items_are_counted_with_the_numbers_of_their_lists(kinds: tuple[Details, ...], said: str) -> None:
    items = [replace(fact(number), details=one) for number, one in enumerate(kinds, start=1)]
    assert new_here(rows_of(items, {}, 3)) == said


def test_a_list_of_quotes_says_who_said_each() -> None:
    first = replace(fact(1), name="The door of", about=Slot.RED, details=QuoteDetails(speaker="Mira"))
    by_gm = replace(fact(2), name="The lamp is", about=None, details=QuoteDetails())
    added = replace(fact(3), name="An oath", evidence=(), details=QuoteDetails())
    rows = rows_of([added, by_gm, first], {}, 3)
    columns = columns_of(rows, 80, kind="")
    at = [column.title for column in columns].index("Said by")
    said_by = [cells_of(row, new_session(), columns, sign="")[at] for row in rows]
    assert sorted(said_by) == ["An oath", "Mira", "The GM"]
    assert "Name" in [column.title for column in columns_of(rows_of([fact(1)], {}, 3), 80, kind="")]


@pytest.mark.parametrize(
    ("typed", "rate"), [("never", 0.0), (" Never ", 0.0), ("0,01", 0.01), ("0.002", 0.002)]
)
def test_a_rate_of_fading_is_a_number_or_never(typed: str, rate: float) -> None:
    assert read_decay(typed, 0.5) == rate
    assert read_decay(shown_decay(rate), rate) == rate


@pytest.mark.parametrize("typed", ["1.5", "-0.1", "always", "", "nan", "٣"])
def test_another_rate_of_fading_is_refused(typed: str) -> None:
    with pytest.raises(IllegalCommandError):
        read_decay(typed, 0.5)


def test_a_last_prompt_is_a_number_or_none() -> None:
    for last in (None, 0, 40, LAST_PROMPT):
        assert read_prompt(shown_prompt(last)) == last
    for typed in ("-1", "4.5", "soon", str(LAST_PROMPT + 1), "9" * 5_000, "٣"):
        with pytest.raises(IllegalCommandError) as refused:
            read_prompt(typed)
        assert refused.value.message == NO_PROMPT
