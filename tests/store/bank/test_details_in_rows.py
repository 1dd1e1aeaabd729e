"""Details of items in rows: whatever they say comes back, and what an older row lacks is unset."""

import json
from dataclasses import asdict, fields, replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.bank.checks import problems_of_item
from core.domain.bank.details import (
    ADDED,
    DETAILS_OF,
    LONGEST_MS,
    MOST_LISTED,
    Attribute,
    Details,
    EventDetails,
    ItemKind,
    Performance,
    PersonDetails,
    QuoteDetails,
    Relationship,
    TraitDetails,
    without_unset,
)
from core.domain.bank.item import Item
from core.domain.ids import ItemId
from db.rows.bank_mapping import item_values, to_item, to_items, to_version
from tests.core.values.bank import WHOLE, fact

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=30)
SHARES = st.none() | st.floats(0, 1)
COUNTS = st.integers(1, 2**31 - 1)
TIMES = st.none() | st.integers(1, LONGEST_MS)
USES = st.builds(
    Performance,
    execution_count=COUNTS,
    success_rate=SHARES,
    last_execution=st.none() | COUNTS,
    average_duration_ms=TIMES,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "attributes": st.lists(st.builds(Attribute, name=TEXTS, value=TEXTS), max_size=MOST_LISTED).map(tuple),
    "relationships": st.lists(
        st.builds(Relationship, relation=TEXTS, target=TEXTS), max_size=MOST_LISTED
    ).map(tuple),
    **dict.fromkeys(("exposure_current", "exposure_desired"), SHARES),
    "data_item_ids": st.lists(st.uuids(), max_size=16, unique=True).map(tuple),
    **dict.fromkeys(("steps", "prerequisites", "outcomes"), st.lists(TEXTS, max_size=MOST_LISTED).map(tuple)),
    "performance": st.none() | USES,
    "duration_ms": TIMES,
    "sequence_number": st.none() | COUNTS,
}


@st.composite
def details(draw: st.DrawFn) -> Details:
    """Draw details of any kind, with any of the fields that most items do not have."""
    kind = DETAILS_OF[draw(st.sampled_from(ItemKind))]
    names = {one.name for one in fields(kind)} & FIELDS.keys()
    return replace(kind(), **{name: draw(FIELDS[name]) for name in sorted(names)})


def read_again(item: Item) -> Item:
    """Return an item as it is read from the JSON of its row."""
    row = json.loads(json.dumps(item_values(item), default=str))
    details = json.dumps(row.pop("details"))
    return to_version(json.dumps(row), details)


@given(details())
def test_whatever_details_say_comes_back_from_a_row(made: Details) -> None:
    item = replace(fact(), details=made)
    assert not list(problems_of_item(item))
    assert read_again(item) == item


@given(st.lists(details(), min_size=1, max_size=3))
def test_recall_reads_the_same_items_from_the_texts_of_rows(every: list[Details]) -> None:
    items = [replace(fact(number), details=made) for number, made in enumerate(every, start=1)]
    rows = [item_values(item) for item in items]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    texts = {name: list(map(json.dumps, columns[name])) for name in ("details", "evidence")}
    assert to_items({**columns, **texts}) == items


@given(details())
def test_a_row_has_no_field_that_says_nothing_and_no_id_among_its_texts(made: Details) -> None:
    stored = item_values(replace(fact(), details=made))["details"]
    unset = {name for name in ADDED & asdict(made).keys() if getattr(made, name) in (None, ())}
    assert unset.isdisjoint(stored)
    assert all(isinstance(one, int) for one in stored.get("data_item_ids", ()))


@pytest.mark.parametrize("kind", list(ItemKind))
def test_a_row_of_an_older_version_has_unset_fields(kind: ItemKind) -> None:
    plain = replace(fact(), details=DETAILS_OF[kind]())
    row = item_values(plain)
    row["details"] = {name: value for name, value in row["details"].items() if name not in ADDED}
    assert to_item(row) == plain


def test_every_field_that_may_be_left_out_is_one_of_some_kind() -> None:
    assert {one.name for kind in DETAILS_OF.values() for one in fields(kind)} >= ADDED == FIELDS.keys()
    assert without_unset({"exposure_desired": 0.0, "steps": (), "performance": None, "stakes": ""}) == {
        "exposure_desired": 0.0,
        "stakes": "",
    }


def test_the_samples_have_every_field() -> None:
    said = {name for one in WHOLE for name, value in asdict(one).items() if value not in (None, ())}
    assert said >= ADDED


@pytest.mark.parametrize(
    "made",
    [
        PersonDetails(exposure_current=1.1),
        PersonDetails(exposure_desired=float("nan")),
        PersonDetails(attributes=(Attribute(name="age", value="x" * 501),)),
        PersonDetails(relationships=(Relationship(relation="of", target="Tam"),) * 9),
        EventDetails(duration_ms=LONGEST_MS + 1),
        EventDetails(duration_ms=0),
        EventDetails(sequence_number=0),
        TraitDetails(steps=("x",) * 9),
        TraitDetails(performance=Performance(success_rate=-0.1)),
        TraitDetails(performance=Performance(execution_count=0)),
        TraitDetails(performance=Performance(execution_count=2**31)),
        TraitDetails(performance=Performance(last_execution=0)),
        TraitDetails(performance=Performance(average_duration_ms=-1)),
        QuoteDetails(data_item_ids=(fact().id,)),
        QuoteDetails(data_item_ids=(ItemId(UUID(int=9)),) * 2),
        QuoteDetails(data_item_ids=tuple(ItemId(UUID(int=n)) for n in range(9, 26))),
    ],
)
def test_details_out_of_bounds_are_not_stored(made: Details) -> None:
    assert list(problems_of_item(replace(fact(), details=made)))
