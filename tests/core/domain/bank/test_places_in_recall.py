"""The places that what the GM pinned or confirmed has among what an input recalls."""

from dataclasses import replace

import pytest

from core.domain.bank.item import Item, Validation
from core.domain.bank.recall import KEPT_EVERY, PINNED_EVERY, Candidate, Query, Scope, merged
from core.domain.ids import SessionId, new_uuid
from tests.core.values.bank import SESSION, fact

FAR, NEAR = 0.05, 0.9
QUERY = Query(
    session_id=SESSION,
    scopes=(Scope(session_id=SESSION, mask=1, now=10),),
    words=(),
    vector=(1.0,),
    model="m",
    limit=20,
    is_for_input=True,
)


def candidate(item: Item, similarity: float | None) -> Candidate:
    return Candidate(item=item, similarity=similarity)


def many(first: int, similarity: float) -> list[Candidate]:
    return [candidate(fact(first + number), similarity - number / 1_000) for number in range(40)]


def pinned(number: int) -> Item:
    return replace(fact(number), is_pinned=True)


def confirmed(number: int) -> Item:
    return replace(fact(number), validation=Validation.CONFIRMED)


def numbers(candidates: list[Candidate], query: Query = QUERY) -> list[int]:
    return [one.item.id.int for one in merged(candidates, query)]


def test_what_is_pinned_is_in_each_input_whatever_is_asked() -> None:
    assert numbers([*many(100, NEAR), candidate(pinned(1), FAR)])[0] == 1
    assert numbers([*many(100, NEAR), candidate(pinned(1), None)])[0] == 1
    assert numbers([candidate(pinned(1), None)]) == [1]


def test_a_search_finds_what_is_pinned_only_where_it_fits() -> None:
    search = replace(QUERY, is_for_input=False)
    assert 1 not in numbers([*many(100, NEAR), candidate(pinned(1), FAR)], search)


def test_pinned_items_leave_room_for_what_fits_the_prompt() -> None:
    found = numbers([*many(100, NEAR), *(candidate(pinned(number), FAR) for number in range(1, 41))])
    assert sum(number < 100 for number in found) == 20 // PINNED_EVERY + 20 // KEPT_EVERY
    assert found[1] == 100, "what is nearest stands before the second of them"


def test_what_is_confirmed_is_found_though_much_else_is_nearer() -> None:
    others = many(100, NEAR)
    assert 1 in numbers([*others, candidate(confirmed(1), 0.5)])
    assert 1 not in numbers([*others, candidate(fact(1), 0.5)])
    assert 1 not in numbers([*others, candidate(confirmed(1), FAR)]), "what is about something else is not"


@pytest.mark.parametrize("limit", [3, 8, 16, 33])
def test_each_item_is_found_once_and_as_many_as_there_is_room_for(limit: int) -> None:
    kept = [*map(pinned, range(1, 20)), *map(confirmed, range(40, 60))]
    near = [candidate(one, NEAR) for one in kept]
    found = numbers([*many(100, NEAR), *near], replace(QUERY, limit=limit))
    assert len(found) == len(set(found)) == limit


def test_the_items_of_a_chapter_and_of_its_branch_come_in_one_order_whichever_is_read_first() -> None:
    branch = SessionId(new_uuid())
    query = replace(QUERY, scopes=(*QUERY.scopes, replace(QUERY.scopes[0], session_id=branch)))
    both = [fact(1), replace(fact(1), session_id=branch), pinned(2), replace(pinned(2), session_id=branch)]
    near = [candidate(one, NEAR) for one in both]
    found = [one.item.session_id for one in merged(near, query)]
    assert [one.item.session_id for one in merged(reversed(near), query)] == found
    assert len(found) == 4
