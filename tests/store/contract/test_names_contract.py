"""What a store promises of names: which words no item has, and which names a character may know."""

from dataclasses import replace

import pytest

from core.domain.audience import Audience
from core.domain.bank.details import Details, FactDetails, PersonDetails, PlaceDetails
from core.domain.bank.item import Item, Validation
from core.domain.bank.recall import Scope
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.storage.bank_store import Names
from core.storage.session_store import SessionStore
from tests.core.values.bank import NOW, fact
from tests.store.contract.test_bank_contract import kept

pytestmark = pytest.mark.anyio
RED, BLUE = Slot.RED, Slot.BLUE


def about(number: int, name: str, *, details: Details | None = None, label: Audience | None = None) -> Item:
    """Return an item of the person or place that its name names."""
    item = fact(number, name=name, text=f"{name} is old.", prompt_index=number % 3 + 1)
    item = replace(item, evidence=(replace(item.evidence[0], words=name),))
    return replace(item, details=details or PersonDetails(), label=label or item.label)


def scope(session: Session, slot: Slot = RED) -> Scope:
    return Scope(session_id=session.id, mask=Audience.of((slot,)).mask, now=9)


async def named(store: SessionStore, session: Session, *words: str, slot: Slot = RED) -> Names:
    found = await store.bank.names([scope(session, slot)], words)
    return Names(tuple(sorted(found.unknown)), tuple(sorted(found.names)))


async def test_names_are_read_where_a_word_is_in_no_item_and_not_otherwise(store: SessionStore) -> None:
    other = about(3, "Someone", details=FactDetails())
    items = (about(1, "Old Tobias"), about(2, "Ravenholt", details=PlaceDetails()), other)
    session, lease = await kept(store, *items)
    assert await named(store, session, "tobias", "ravenholt") == Names()
    assert await named(store, session, "tobias", "tobais") == Names(("tobais",), ("Old Tobias", "Ravenholt"))
    assert await named(store, session) == Names()
    assert await store.bank.names([], ["tobais"]) == Names()
    await lease.aclose()


async def test_a_name_that_a_character_may_not_know_is_not_told_and_makes_no_word_known(
    store: SessionStore,
) -> None:
    """Else a misspelled word could be taken for a name that was said behind its back."""
    items = (about(1, "Tobias"), about(2, "Marisol", label=Audience.of((BLUE,))))
    session, lease = await kept(store, *items)
    assert await named(store, session, "marisol") == Names(("marisol",), ("Tobias",))
    assert await named(store, session, "marisol", slot=BLUE) == Names()
    assert await named(store, session, "marizol", slot=BLUE) == Names(("marizol",), ("Marisol", "Tobias"))
    await lease.aclose()


async def test_names_of_items_that_do_not_count_and_of_other_chapters_are_not_told(
    store: SessionStore,
) -> None:
    session, lease = await kept(store, about(1, "Tobias"), about(2, "Marisol"))
    elsewhere, other = await kept(store, about(3, "Ravenholt"))
    [wrong] = [one for one in await store.bank.items(session.id) if one.name == "Marisol"]
    await store.bank.put([replace(wrong.next_version(NOW), validation=Validation.REJECTED)])
    assert await named(store, session, "nobody") == Names(("nobody",), ("Tobias",))
    both = await store.bank.names([scope(session), scope(elsewhere)], ["nobody", "ravenholt"])
    assert (both.unknown, sorted(both.names)) == (("nobody",), ["Ravenholt", "Tobias"])
    for one in (lease, other):
        await one.aclose()


async def test_all_names_are_those_of_people_and_places_that_count_of_the_chapters_asked_about(
    store: SessionStore,
) -> None:
    items = (about(1, "Tobias"), about(2, "Marisol", label=Audience.of((BLUE,))), about(3, "Tobias"))
    session, lease = await kept(store, *items, about(4, "Someone", details=FactDetails()))
    elsewhere, other = await kept(store, about(5, "Ravenholt", details=PlaceDetails()), about(6, "Orlan"))
    [wrong] = [one for one in await store.bank.items(elsewhere.id) if one.name == "Orlan"]
    await store.bank.put([replace(wrong.next_version(NOW), validation=Validation.REJECTED)])
    assert sorted(await store.bank.all_names([session.id])) == ["Marisol", "Tobias"]
    assert sorted(await store.bank.all_names([session.id, elsewhere.id])) == [
        "Marisol",
        "Ravenholt",
        "Tobias",
    ]
    assert not await store.bank.all_names([])
    for one in (lease, other):
        await one.aclose()
