"""What a store promises of recall, on PostgreSQL and in memory."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest

from core.domain.audience import Audience
from core.domain.bank.details import Aspect, PersonDetails, StateDetails
from core.domain.bank.item import Item, ItemAccess, ItemOrigin, Validation
from core.domain.bank.pieces import PieceVector
from core.domain.bank.recall import (
    COMPARED,
    LEAST_CANDIDATES,
    Found,
    ItemVector,
    Query,
    Scope,
    Vector,
    query_words,
    signs_of,
)
from core.domain.ids import ItemId, SessionId, new_uuid
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from tests.core.values.bank import NOW, fact
from tests.store.contract.test_bank_contract import kept

pytestmark = pytest.mark.anyio
KEY, BOAT, OATH, RAIN = 1, 2, 3, 4
_COMPARED_AT_ONCE = COMPARED * LEAST_CANDIDATES
TEXTS = {
    KEY: ("The brass key", "Kara hid the brass key under the hearth."),
    BOAT: ("The ferry", "The ferryman sold two boats to Tobias."),
    OATH: ("An oath", "Tobias swore to return before winter."),
    RAIN: ("The weather", "It has been raining for nine days."),
}


def told(number: int, *, words: str = "", **changes: Any) -> Item:
    """Return an item of a text of its own; its proof has no words of another."""
    name, text = TEXTS[number]
    item = fact(number, prompt_index=number % 3 + 1, name=name, text=text)
    proof = replace(item.evidence[0], words=words or text)
    return replace(item, evidence=(proof,), **changes)


def asked(
    session: Session, text: str, *, slot: Slot | None = None, vector: Vector | None = None, **changes: Any
) -> Query:
    mask = 0 if slot is None else Audience.of((slot,)).mask
    scope = replace(Scope(session_id=session.id, mask=mask, now=session.prompt_index + 1), **changes)
    return Query(
        session_id=session.id,
        scopes=(scope,),
        words=query_words([(text, 1.0)]),
        vector=vector,
        model="m" if vector else "",
        limit=10,
    )


def numbers(found: Sequence[Found]) -> list[int]:
    return [one.item.id.int for one in found]


async def test_pieces_of_texts_are_found_by_their_meaning_within_the_chapters_that_are_asked(
    store: SessionStore,
) -> None:
    session, lease = await kept(store)
    other, other_lease = await kept(store)
    near, far, own = (letter * 64 for letter in "abc")
    assert set(await store.bank.unembedded_pieces(session.id, "m", [near, far])) == {near, far}
    await store.bank.put_piece_vectors(
        session.id, "m", [PieceVector(near, (1.0, 0.0)), PieceVector(far, (0.0, 1.0))]
    )
    await store.bank.put_piece_vectors(other.id, "m", [PieceVector(own, (0.6, 0.8))])
    assert not set(await store.bank.unembedded_pieces(session.id, "m", [near]))
    assert set(await store.bank.unembedded_pieces(session.id, "other", [near])) == {near}
    found = await store.bank.near_pieces([session.id], "m", (1.0, 0.0), 5)
    assert [one.hash for one in found] == [near, far]
    assert found[0].similarity == pytest.approx(1.0, abs=0.001)
    both = await store.bank.near_pieces([session.id, other.id], "m", (1.0, 0.0), 2)
    assert [(one.session_id, one.hash) for one in both] == [(session.id, near), (other.id, own)]
    assert not await store.bank.near_pieces([session.id], "other", (1.0, 0.0), 5)
    # Another model takes the place of the first.
    await store.bank.put_piece_vectors(session.id, "other", [PieceVector(near, (0.0, 1.0))])
    assert [one.hash for one in await store.bank.near_pieces([session.id], "m", (1.0, 0.0), 5)] == [far]
    for one in (lease, other_lease):
        await one.aclose()


async def test_items_are_found_by_their_words_and_rare_words_count_more(store: SessionStore) -> None:
    session, lease = await kept(store, told(KEY), told(BOAT), told(OATH), told(RAIN))
    found = await store.bank.recall(asked(session, "what did Tobias do in winter"))
    assert numbers(found) == [OATH, BOAT]
    assert found[0].words == ("tobias", "winter")
    assert found[0].similarity is None
    assert not await store.bank.recall(asked(session, "nobody knows this"))
    assert not await store.bank.recall(asked(session, ""))
    await lease.aclose()


async def test_nothing_is_found_that_the_label_or_the_chapter_does_not_allow(store: SessionStore) -> None:
    private = told(KEY, label=Audience.of((Slot.RED, Slot.BLUE)))
    session, lease = await kept(store, private, told(OATH))
    other, other_lease = await kept(store, told(BOAT))
    for slot in Slot:
        found = await store.bank.recall(asked(session, "brass Tobias", slot=slot))
        assert set(numbers(found)) == ({KEY, OATH} if slot in private.label else {OATH})
    query = asked(session, "Tobias")
    both = replace(query, scopes=(*query.scopes, Scope(session_id=other.id, mask=1, now=9)))
    assert set(numbers(await store.bank.recall(both))) == {BOAT, OATH}
    await lease.aclose()
    await other_lease.aclose()


async def test_what_recent_context_has_is_not_found_but_what_the_gm_wrote_is(store: SessionStore) -> None:
    session, lease = await kept(store, told(KEY), told(BOAT))
    assert {one.id.int: one.prompt_index for one in await store.bank.items(session.id)} == {KEY: 2, BOAT: 3}
    assert numbers(await store.bank.recall(asked(session, "brass boats", before=2))) == [KEY]
    [_, boat] = await store.bank.items(session.id)
    await store.bank.put([replace(boat.next_version(NOW), is_by_gm=True)])
    assert set(numbers(await store.bank.recall(asked(session, "brass boats", before=2)))) == {KEY, BOAT}
    own = replace(told(RAIN), session_id=session.id, take=None, origin=ItemOrigin.GM, evidence=())
    await store.bank.put([own])
    assert numbers(await store.bank.recall(asked(session, "raining", before=0))) == [RAIN]
    await lease.aclose()


async def test_only_items_that_count_and_have_not_expired_are_found(store: SessionStore) -> None:
    passing = told(RAIN, expires_at=3)
    session, lease = await kept(store, told(KEY), told(OATH), passing)
    text = "brass winter raining"
    assert set(numbers(await store.bank.recall(asked(session, text)))) == {KEY, OATH}
    key, rain = [one for one in await store.bank.items(session.id) if one.id.int in (KEY, RAIN)]
    if key.id.int != KEY:
        key, rain = rain, key
    await store.bank.put([replace(rain.next_version(NOW), validation=Validation.CONFIRMED)])
    assert RAIN in numbers(await store.bank.recall(asked(session, text)))
    await store.bank.put([replace(key.next_version(NOW), validation=Validation.REJECTED)])
    assert KEY not in numbers(await store.bank.recall(asked(session, text)))
    undone = replace(session, prompt_index=1, canon_version=1)
    await store.commit(Changes(session_id=session.id, session=undone), lease)
    found = await store.bank.recall(asked(undone, text))
    assert numbers(found) == [one for one in (OATH,) if told(one).prompt_index <= 1]
    await lease.aclose()


async def test_a_changed_text_is_found_by_its_new_words_alone(store: SessionStore) -> None:
    session, lease = await kept(store, told(KEY, words="under the hearth"))
    [key] = await store.bank.items(session.id)
    await store.bank.put([replace(key.next_version(NOW), name="The lantern", text="It is a lantern.")])
    assert numbers(await store.bank.recall(asked(session, "lantern"))) == [KEY]
    assert not await store.bank.recall(asked(session, "brass"))
    assert numbers(await store.bank.recall(asked(session, "hearth"))) == [KEY]
    await lease.aclose()


async def test_pinned_items_come_first_and_recalled_ones_stay_strong(store: SessionStore) -> None:
    fading: dict[str, Any] = {"decay_rate": 0.5, "importance": 1.0}
    session, lease = await kept(store, told(BOAT, **fading), told(OATH, **fading))
    [oath, boat] = await store.bank.items(session.id)
    assert (oath.id.int, boat.id.int) == (OATH, BOAT)
    query = asked(session, "Tobias", now=30)
    before = {one.item.id: one.strength for one in await store.bank.recall(query)}
    assert all(strength < 0.001 for strength in before.values())
    access = ItemAccess(item_id=oath.id, access_count=1, last_accessed=29)
    await store.commit(Changes(session_id=session.id, accesses=(access,)), lease)
    after = {one.item.id: one.strength for one in await store.bank.recall(query)}
    assert after[oath.id] == pytest.approx(0.6065, abs=0.001)
    assert after[boat.id] == before[boat.id]
    await store.bank.put([replace(boat.next_version(NOW), is_pinned=True)])
    assert numbers(await store.bank.recall(query)) == [BOAT, OATH]
    await lease.aclose()


async def test_what_is_pinned_is_found_for_an_input_though_nothing_fits_it(store: SessionStore) -> None:
    hidden = told(OATH, is_pinned=True, label=Audience.of((Slot.BLUE,)))
    session, lease = await kept(store, told(KEY), told(BOAT, is_pinned=True), hidden)
    query = replace(asked(session, "brass", slot=Slot.RED), is_for_input=True)
    assert numbers(await store.bank.recall(query)) == [BOAT, KEY]
    assert numbers(await store.bank.recall(replace(query, words=()))) == [BOAT]
    assert numbers(await store.bank.recall(replace(query, is_for_input=False))) == [KEY]
    by_meaning = replace(query, words=(), vector=(1.0, 0.0), model="m")
    assert numbers(await store.bank.recall(by_meaning)) == [BOAT], "also while it has no vector"
    items = await store.bank.items(session.id)
    await store.bank.put_vectors("m", [_vector(one, (0.0, 1.0)) for one in items])
    assert numbers(await store.bank.recall(by_meaning)) == [BOAT], "and where its vector is far"
    await lease.aclose()


async def test_what_is_confirmed_is_found_where_more_than_are_asked_for_are_nearer(
    store: SessionStore,
) -> None:
    session, lease = await kept(store, *(fact(number, prompt_index=1) for number in range(1, 61)))
    items = await store.bank.items(session.id)
    far = items[7]
    await store.bank.put([replace(far.next_version(NOW), validation=Validation.CONFIRMED)])
    vectors = [_vector(one, (0.6, 0.8) if one.id == far.id else (1.0, 0.0)) for one in items]
    await store.bank.put_vectors("m", vectors)
    query = replace(asked(session, "", vector=(1.0, 0.0)), is_for_input=True)
    found = await store.bank.recall(query)
    assert (len(found), far.id in {one.item.id for one in found}) == (10, True)
    assert far.id not in {one.item.id for one in await store.bank.recall(replace(query, is_for_input=False))}
    await lease.aclose()


async def test_states_of_characters_come_with_what_is_recalled(store: SessionStore) -> None:
    wound = StateDetails(aspect=Aspect.WOUND)
    mine, other = told(KEY, details=wound, about=Slot.RED), told(BOAT, details=wound, about=Slot.BLUE)
    session, lease = await kept(store, mine, other, told(OATH))
    sheets = [(session.id, Slot.RED)]
    drawn = await store.bank.items_for_input(sheets, asked(session, "Tobias"))
    assert [one.id.int for one in drawn.states] == [KEY]
    assert set(numbers(drawn.found)) == {BOAT, OATH}
    both = await store.bank.items_for_input(sheets, asked(session, "brass"))
    assert ([one.id.int for one in both.states], numbers(both.found)) == ([KEY], [KEY])
    assert [one.id.int for one in (await store.bank.items_for_input(sheets, None)).states] == [KEY]
    assert not (await store.bank.items_for_input((), None)).states
    await lease.aclose()


async def test_items_are_found_by_meaning_and_both_ranks_are_merged(store: SessionStore) -> None:
    session, lease = await kept(store, told(KEY), told(BOAT), told(OATH), told(RAIN))
    assert await store.bank.can_recall_by_meaning()
    items = await store.bank.unembedded([session.id], "m", 10)
    assert [one.prompt_index for one in items] == sorted((one.prompt_index for one in items), reverse=True)
    meanings = {KEY: (1.0, 0.0, 0.0), BOAT: (0.6, 0.8, 0.0), OATH: (0.0, 1.0, 0.0), RAIN: (0.0, 0.0, 1.0)}
    vectors = [_vector(one, meanings[one.id.int]) for one in items]
    await store.bank.put_vectors("m", vectors)
    assert not await store.bank.unembedded([session.id], "m", 10)
    assert len(await store.bank.unembedded([session.id], "another", 3)) == 3
    found = await store.bank.recall(asked(session, "nothing", vector=(2.0, 0.0, 0.0)))
    assert numbers(found) == [KEY, BOAT]
    assert [one.similarity for one in found] == pytest.approx([1.0, 0.6], abs=0.001)
    # The one that both have comes before the best of each.
    found = await store.bank.recall(asked(session, "Tobias winter", vector=(1.0, 0.0, 0.0)))
    assert numbers(found)[0] == BOAT
    assert set(numbers(found)) == {KEY, BOAT, OATH}
    other_model = replace(asked(session, "nothing", vector=(1.0, 0.0, 0.0)), model="another")
    assert not await store.bank.recall(other_model)
    await lease.aclose()


async def test_of_items_that_are_as_near_the_one_whose_name_fits_parts_of_the_query_comes_first(
    store: SessionStore,
) -> None:
    session, lease = await kept(store, told(KEY), told(BOAT), told(OATH), told(RAIN))
    await lease.aclose()
    smith, mill, else_where = (1.0, 1.0, -1.0), (-1.0, 1.0, 1.0), (-1.0, -1.0, -1.0)
    names = {KEY: (else_where, else_where), BOAT: (smith, mill), OATH: (smith, else_where), RAIN: None}
    far = {RAIN: (-1.0, 0.0, 0.0)}
    await store.bank.put_vectors(
        "m",
        [
            replace(_vector(one, far.get(one.id.int, (0.8, 0.6, 0.0))), name_parts=names[one.id.int])
            for one in await store.bank.items(session.id)
        ],
    )
    query = asked(session, "nothing", vector=(1.0, 0.0, 0.0))
    found = await store.bank.recall(replace(query, spans=(signs_of(mill), signs_of(smith))))
    assert numbers(found) == [BOAT, OATH, KEY]
    assert [one.similarity for one in found] == pytest.approx([0.8] * 3, abs=0.001), "the cosine stays"
    found = await store.bank.recall(replace(query, spans=(signs_of(else_where),)))
    assert numbers(found) == [KEY, OATH, BOAT]
    most = replace(query, spans=(signs_of(mill), signs_of(smith)) * 4, limit=1)
    assert numbers(await store.bank.recall(most)) == [BOAT], "more are looked at than are wanted"


async def test_an_item_without_vectors_of_its_name_is_as_near_by_it_as_by_the_rest(
    store: SessionStore,
) -> None:
    session, lease = await kept(store, told(KEY), told(BOAT))
    await lease.aclose()
    fits = ((1.0, 1.0), (1.0, 1.0))
    names = {KEY: None, BOAT: fits}
    items = await store.bank.items(session.id)
    await store.bank.put_vectors(
        "m", [replace(_vector(one, (1.0, 0.2)), name_parts=names[one.id.int]) for one in items]
    )
    query = replace(asked(session, "nothing", vector=(1.0, 0.0)), spans=("11",))
    assert numbers(await store.bank.recall(query)) == [BOAT, KEY]
    query = replace(query, spans=("01",))
    assert numbers(await store.bank.recall(query)) == [KEY, BOAT]


async def test_items_whose_meanings_are_near_are_paired_within_their_kind_label_and_character(
    store: SessionStore,
) -> None:
    numbered = [replace(told(KEY), id=ItemId(UUID(int=number))) for number in range(1, 9)]
    numbered[3] = replace(numbered[3], label=Audience.of((Slot.RED,)))
    numbered[4] = replace(numbered[4], about=Slot.RED)
    numbered[5] = replace(numbered[5], details=PersonDetails())
    session, lease = await kept(store, *numbered)
    items = {one.id.int: one for one in await store.bank.items(session.id)}
    assert not await store.bank.near_items(session.id)
    near, far = (1.0, 0.1), (0.0, 1.0)
    meanings = {3: far, 7: (1.0, 0.1, 0.0)}
    for number, one in items.items():
        await store.bank.put_vectors(f"m{number // 7}", [_vector(one, meanings.get(number, near))])
    assert await store.bank.near_items(session.id) == [(items[1].id, items[2].id)]
    await store.bank.put([replace(items[2].next_version(NOW), validation=Validation.REJECTED)])
    assert not await store.bank.near_items(session.id)
    await lease.aclose()


async def test_an_item_that_says_what_it_said_keeps_its_vector(store: SessionStore) -> None:
    session, lease = await kept(store, told(KEY), told(BOAT))
    items = {one.id.int: one for one in await store.bank.unembedded([session.id], "m", 10)}
    await store.bank.put_vectors("m", [_vector(one, (1.0, 0.0)) for one in items.values()])
    near = await store.bank.near_items(session.id)
    assert len(near) == 1
    seen = replace(items[KEY].next_version(NOW), validation=Validation.SEEN)
    pinned = replace(seen.next_version(NOW), is_pinned=True)
    for one in (seen, pinned):
        await store.bank.put([one])
        assert not await store.bank.unembedded([session.id], "m", 10)
        assert await store.bank.near_items(session.id) == near
    renamed = replace(pinned.next_version(NOW), name="The other key", is_by_gm=True)
    await store.bank.put([renamed])
    assert list(await store.bank.unembedded([session.id], "m", 10)) == [renamed]
    assert not await store.bank.near_items(session.id)
    await lease.aclose()


async def test_a_changed_item_needs_a_new_vector_and_one_that_is_out_needs_none(store: SessionStore) -> None:
    session, lease = await kept(store, told(KEY), told(BOAT))
    items = {one.id.int: one for one in await store.bank.unembedded([session.id], "m", 10)}
    await store.bank.put_vectors("m", [_vector(one, (1.0, 0.0)) for one in items.values()])
    changed = replace(items[KEY].next_version(NOW), text="Kara threw the key away.", is_by_gm=True)
    rejected = replace(items[BOAT].next_version(NOW), validation=Validation.REJECTED)
    await store.bank.put([changed, rejected])
    assert list(await store.bank.unembedded([session.id], "m", 10)) == [changed]
    await store.bank.put_vectors("m", [_vector(changed, (0.0, 1.0))])
    found = await store.bank.recall(asked(session, "nothing", vector=(0.0, 1.0)))
    assert numbers(found) == [KEY]
    # A vector of an item that is not there, or of another length, harms nothing.
    await store.bank.put_vectors("m", [replace(_vector(changed, (0.5, 0.5)), item_id=ItemId(new_uuid()))])
    await store.bank.put_vectors("m", [])
    await lease.aclose()


async def test_a_purged_chapter_leaves_no_words_and_no_vectors(store: SessionStore) -> None:
    session, lease = await kept(store, told(KEY))
    [key] = await store.bank.items(session.id)
    await store.bank.put_vectors("m", [_vector(key, (1.0, 0.0))])
    await lease.aclose()
    await store.chapters.archive(session.id, NOW)
    await store.chapters.purge(session.id)
    assert not await store.bank.recall(asked(session, "brass", vector=(1.0, 0.0)))


@pytest.mark.parametrize("spans", [(), ("10",)])
async def test_an_item_is_found_by_meaning_behind_however_many_nearer_ones_that_may_not_be(
    store: SessionStore, spans: tuple[str, ...]
) -> None:
    secret = Audience.of((Slot.RED,))
    nearer = [
        replace(fact(number, prompt_index=1), label=secret) for number in range(9, 11 + _COMPARED_AT_ONCE)
    ]
    session, lease = await kept(store, *nearer, told(KEY), told(BOAT))
    await lease.aclose()
    stored = await store.bank.items(session.id)
    meant = {KEY: (0.8, 0.6), BOAT: (0.7, 0.7)}
    await store.bank.put_vectors("m", [_vector(one, meant.get(one.id.int, (1.0, 0.0))) for one in stored])
    query = asked(session, "nothing", slot=Slot.BLUE, vector=(1.0, 0.0))
    assert numbers(await store.bank.recall(replace(query, spans=spans))) == [KEY, BOAT]


@pytest.mark.parametrize("seed", range(4))
async def test_no_item_is_found_for_a_mask_that_its_label_does_not_include(
    store: SessionStore, seed: int
) -> None:
    chance = Random(seed)
    items = [
        replace(fact(number, prompt_index=1), label=Audience.of_mask(chance.randrange(128)))
        for number in range(1, 26)
    ]
    session, lease = await kept(store, *items)
    await lease.aclose()
    stored = await store.bank.items(session.id)
    await store.bank.put_vectors("m", [_vector(one, (1.0, 0.0)) for one in stored])
    for mask in range(128):
        scope = Scope(session_id=session.id, mask=mask, now=4)
        query = replace(asked(session, "brass key", vector=(1.0, 0.0)), scopes=(scope,), limit=100)
        found = await store.bank.recall(query)
        allowed = {one.id for one in items if one.label.includes(Audience.of_mask(mask))}
        assert {one.item.id for one in found} == allowed


def _vector(item: Item, vector: Vector) -> ItemVector:
    return ItemVector(
        session_id=SessionId(item.session_id), item_id=item.id, version=item.version, vector=vector
    )
