"""The details of an item as lines that the GM reads and types."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.bank.checks import NO_SHARE
from core.domain.bank.details import LONGEST_MS, Attribute, Details, PersonDetails, QuoteDetails, Relationship
from core.domain.errors import IllegalCommandError
from core.domain.ids import ItemId
from storyengine_tui.screens.bank.detail_fields import (
    NO_PAIR,
    NO_TIME,
    lines_of,
    read,
    shown,
    typed_fields,
)
from tests.core.values.bank import WHOLE, fact
from tests.store.bank.test_details_in_rows import details

AGE = Attribute(name="age", value="sixty")


@given(details())
def test_what_is_shown_and_not_edited_stays_exactly_as_it_was(made: Details) -> None:
    values = {name: read(name, shown(name, value), value) for name, value in typed_fields(made)}
    assert replace(made, **values) == made  # type: ignore[arg-type]


@given(st.integers(1, LONGEST_MS // 1_000))
def test_a_time_that_is_shown_is_read_as_the_same_seconds(seconds: int) -> None:
    assert read("duration_ms", shown("duration_ms", seconds * 1_000), None) == seconds * 1_000


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("attributes", "年龄：六十；", (Attribute(name="年龄", value="六十"),)),
        ("duration_ms", "1.5 h", 5_400_000),
        ("duration_ms", "1H30MIN", 5_400_000),
        ("duration_ms", " ", None),
        ("exposure_desired", "0,5", 0.5),
        ("exposure_current", "", None),
        ("attributes", "age: sixty; eye: grey", (AGE, Attribute(name="eye", value="grey"))),
        ("relationships", "brother of: Kara;", (Relationship(relation="brother of", target="Kara"),)),
        ("steps", "Bait the hook; wait", ("Bait the hook", "wait")),
    ],
)  # fmt: skip
def test_what_is_typed_is_read(name: str, typed: str, value: object) -> None:
    before = () if isinstance(value, tuple) else None
    assert read(name, typed, before) == value


@pytest.mark.parametrize(
    ("name", "typed", "refusal"),
    [
        ("duration_ms", "long", NO_TIME),
        ("duration_ms", "1 h and a bit", NO_TIME),
        ("duration_ms", "0 s", NO_TIME),
        ("duration_ms", "999999 d", NO_TIME),
        ("exposure_desired", "2", NO_SHARE),
        ("exposure_desired", "nan", NO_SHARE),
        ("attributes", "age", NO_PAIR),
        ("relationships", ": Kara", NO_PAIR),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(name: str, typed: str, refusal: str) -> None:
    before = () if refusal is NO_PAIR else None
    with pytest.raises(IllegalCommandError, match=refusal[:30]):
        read(name, typed, before)


def test_what_a_quote_proves_stays_whatever_became_of_it_and_is_named_once() -> None:
    gone = ItemId(UUID(int=7))
    key = fact(1, name="The brass key")
    quote = replace(key, id=ItemId(UUID(int=2)), details=QuoteDetails())
    typed = f"{shown('data_item_ids', (gone,))}; the brass key; {key.id}"
    assert read("data_item_ids", typed, (gone,), [key, quote]) == (gone, key.id)
    with pytest.raises(IllegalCommandError):
        read("data_item_ids", "00000002", (), [quote])
    assert read("data_item_ids", "", (gone,), [key]) == ()


def test_a_value_with_a_colon_and_a_semicolon_stays_one_while_another_is_added() -> None:
    before = (Attribute(name="motto", value="Row; wait: row"),)
    typed = f"{shown('attributes', before)}; age: sixty"
    assert read("attributes", typed, before) == (*before, AGE)


def test_every_detail_has_its_line_and_a_quote_names_what_it_proves() -> None:
    names = {ItemId(one): "The brass key" for one in WHOLE[-1].data_item_ids[:1]}  # type: ignore[union-attr]
    lines = [line for one in WHOLE for line in lines_of(one, names)]
    assert "Lasted: 1 h 30 min" in lines
    assert "Event number: 1" in lines
    assert "Qualities: metal: brass" in lines
    assert "Relations: brother of: Kara" in lines
    assert "Exposure wanted: 0" in lines
    assert "Steps: Bait the hook.; Wait." in lines
    assert "Used: 3 times, 50% went well, last at prompt 3, 1 min each" in lines
    assert "Proves: “The brass key”" in lines
    assert not list(lines_of(PersonDetails(), {}))
