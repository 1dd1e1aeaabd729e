"""What a store promises of the memory bank, on PostgreSQL and in memory."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from core.domain.audience import Audience
from core.domain.bank.details import (
    Aspect,
    EventDetails,
    ItemKind,
    PersonDetails,
    QuoteDetails,
    StateDetails,
    ThreadCategory,
    ThreadDetails,
)
from core.domain.bank.item import Item, ItemAccess, ItemOrigin, Validation
from core.domain.bank.recall import Query
from core.domain.errors import ChangedElsewhereError
from core.domain.ids import BookId, CharacterId, ItemId, RequestId, SessionId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import KIND_SPECS, RequestKind
from core.domain.session.cast import Character
from core.domain.session.profile import Profile
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus, EventStatus
from core.library.book import Book
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore
from tests.core.values.bank import NOW, WHOLE, fact, whole_items
from tests.store import chapters

pytestmark = pytest.mark.anyio


def items_of(session_id: SessionId) -> tuple[Item, ...]:
    """Return an item of several kinds, with everything that one can have."""
    plain = fact(1, session_id=session_id)
    return (
        plain,
        replace(
            fact(2, session_id=session_id, label=Audience.of((Slot.RED, Slot.BLUE))),
            details=EventDetails(participants=("Kara", "Bea “B” 灰"), context="At night.", outcome="Hidden."),
            importance=0.75,
            sentiment=-0.5,
            expires_at=40,
            request_id=RequestId(new_uuid()),
        ),
        replace(fact(3, session_id=session_id), details=PersonDetails(relationship="her brother")),
        replace(
            fact(4, session_id=session_id),
            details=ThreadDetails(category=ThreadCategory.FEAR, stakes="All of it.", is_closed=True),
        ),
        replace(
            fact(5, session_id=session_id),
            details=StateDetails(aspect=Aspect.RELATION, other="Tobias"),
            about=Slot.ORANGE,
            evidence=(),
            origin=ItemOrigin.GM,
            is_by_gm=True,
            is_pinned=True,
            prompt_index=0,
            take=None,
        ),
    )


async def kept(store: SessionStore, *items: Item) -> tuple[Session, Lease]:
    """Store a chapter of three prompts, and these items in it."""
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    moved = tuple(replace(item, session_id=session.id) for item in items)
    await store.commit(Changes(session_id=session.id, items=moved), lease)
    return session, lease


def moved(items: tuple[Item, ...], session: Session) -> list[Item]:
    return sorted(
        (replace(item, session_id=session.id) for item in items),
        key=lambda item: (item.prompt_index, item.id),
    )


async def test_a_chapter_has_items_once_one_is_stored_whatever_counts(store: SessionStore) -> None:
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    other = SessionId(new_uuid())
    assert not await store.bank.has_items([session.id, other])
    await store.bank.put([replace(fact(1, session_id=session.id), validation=Validation.REJECTED)])
    assert await store.bank.has_items([other, session.id])
    assert not await store.bank.has_items([other])
    await lease.aclose()


async def test_items_come_back_as_they_were_made_and_a_commit_sent_twice_adds_nothing(
    store: SessionStore,
) -> None:
    made = items_of(SessionId(new_uuid()))
    session, lease = await kept(store, *made)
    assert (await store.load(session.id)).session.keeps_bank
    expected = moved(made, session)
    assert list(await store.bank.items(session.id)) == expected
    await store.commit(Changes(session_id=session.id, items=tuple(expected)), lease)
    assert list(await store.bank.items(session.id)) == expected
    assert sorted(await store.bank.history(session.id), key=lambda item: item.id) == sorted(
        expected, key=lambda item: item.id
    )
    assert list(await store.bank.history(session.id, [made[0].id])) == [expected[1]]
    assert not await store.bank.items(SessionId(new_uuid()))
    await lease.aclose()


async def test_every_field_of_details_comes_back_as_it_was_stored_and_so_does_each_version(
    store: SessionStore,
) -> None:
    session, lease = await kept(store, *whole_items(SessionId(new_uuid())))
    stored = await store.bank.items(session.id)
    assert [item.details for item in stored] == list(WHOLE)
    await store.bank.put([item.next_version(NOW + timedelta(hours=1)) for item in stored])
    versions = await store.bank.history(session.id)
    assert [item.details for item in versions] == [details for details in WHOLE for _ in range(2)]
    await lease.aclose()


async def test_an_item_counts_while_the_take_that_it_is_from_is_canon(store: SessionStore) -> None:
    session, lease = await kept(store, fact(1, prompt_index=2), fact(2, prompt_index=3))
    earlier, later = await store.bank.items(session.id)
    undone = replace(session, prompt_index=2, canon_version=1)
    await store.commit(Changes(session_id=session.id, session=undone), lease)
    assert list(await store.bank.items(session.id)) == [earlier]
    assert list(await store.bank.items(session.id, with_all=True)) == [earlier, later]
    redone = replace(session, canon_version=2)
    await store.commit(Changes(session_id=session.id, session=redone), lease)
    assert list(await store.bank.items(session.id)) == [earlier, later]
    take = tuple(replace(event, take=2) for event in chapters.turn(undone).events)
    retaken = replace(session, canon_version=3)
    await store.commit(Changes(session_id=session.id, session=retaken, events=take), lease)
    assert list(await store.bank.items(session.id)) == [earlier]
    await lease.aclose()


async def test_a_newer_item_stands_for_the_one_that_it_supersedes_while_it_counts_itself(
    store: SessionStore,
) -> None:
    old = fact(1, prompt_index=1)
    session, lease = await kept(store, old, replace(fact(2, prompt_index=3), supersedes=old.id))
    [newer] = await store.bank.items(session.id)
    assert newer.id == ItemId(fact(2).id)
    rejected = replace(newer.next_version(NOW), validation=Validation.REJECTED)
    await store.bank.put([rejected])
    assert [item.id for item in await store.bank.items(session.id)] == [old.id]
    await store.bank.put([replace(rejected.next_version(NOW), validation=Validation.NONE)])
    undone = replace(session, prompt_index=2, canon_version=1)
    await store.commit(Changes(session_id=session.id, session=undone), lease)
    assert [item.id for item in await store.bank.items(session.id)] == [old.id]
    await lease.aclose()


async def test_what_an_item_replaced_stays_replaced_while_that_goes_on_in_another(
    store: SessionStore,
) -> None:
    old = fact(1, prompt_index=1)
    newer, same = replace(fact(2, prompt_index=3), supersedes=old.id), fact(3, prompt_index=3)
    session, lease = await kept(store, old, newer, same)
    newer, same = await store.bank.items(session.id)
    await store.bank.put([replace(newer.next_version(NOW), merged_into=same.id)])
    assert [item.id for item in await store.bank.items(session.id)] == [same.id]
    await store.bank.put([replace(same.next_version(NOW), validation=Validation.REJECTED)])
    assert [item.id for item in await store.bank.items(session.id)] == [old.id]
    await lease.aclose()


async def test_an_item_that_was_merged_counts_again_while_the_one_it_went_on_in_does_not(
    store: SessionStore,
) -> None:
    private = replace(fact(1, prompt_index=2), label=Audience.of((Slot.RED,)))
    public = fact(2, prompt_index=3)
    session, lease = await kept(store, private, public)
    whispered, told = await store.bank.items(session.id)
    await store.bank.put([replace(whispered.next_version(NOW), merged_into=told.id)])
    assert [item.id for item in await store.bank.items(session.id)] == [told.id]
    undone = replace(session, prompt_index=2, canon_version=1)
    await store.commit(Changes(session_id=session.id, session=undone), lease)
    assert [item.id for item in await store.bank.items(session.id)] == [whispered.id]
    assert set(await store.bank.counting(session.id)) == {whispered.id}
    assert not await store.bank.taken_out(session.id)
    assert [item.id for item in await store.bank.unembedded([session.id], "model", 10)] == [
        told.id,
        whispered.id,
    ]
    redone = replace(session, canon_version=2)
    await store.commit(Changes(session_id=session.id, session=redone), lease)
    assert [item.id for item in await store.bank.items(session.id)] == [told.id]
    assert [item.id for item in await store.bank.taken_out(session.id)] == [whispered.id]
    await lease.aclose()


async def test_a_quote_of_lines_that_are_never_sent_is_given_to_no_model_of_vectors(
    store: SessionStore,
) -> None:
    proof = fact(1).evidence[0]
    told = replace(fact(1, prompt_index=1), evidence=(proof,))
    quotes = [
        replace(told, id=ItemId(UUID(int=number)), details=QuoteDetails(), evidence=evidence)
        for number, evidence in ((2, (proof,)), (3, (proof, replace(proof, ordinal=0))))
    ]
    session, lease = await kept(store, told, *quotes)

    async def unembedded() -> list[int]:
        return [item.id.int for item in await store.bank.unembedded([session.id], "model", 10)]

    assert await unembedded() == [3, 2, 1]
    for status, left in ((ContextStatus.NEVER, [3, 1]), (ContextStatus.DEFAULT, [3, 2, 1])):
        said = (EventStatus(proof.prompt_index, proof.take, proof.ordinal, status),)
        await store.commit(Changes(session_id=session.id, statuses=said), lease)
        assert await unembedded() == left
    await lease.aclose()


async def test_every_change_is_kept_and_an_older_one_is_refused(store: SessionStore) -> None:
    session, lease = await kept(store, fact(1), fact(2))
    first, second = await store.bank.items(session.id)
    changed = replace(first.next_version(NOW), text="Kara hid it well.", is_by_gm=True)
    await store.bank.put([changed])
    with pytest.raises(ChangedElsewhereError):
        await store.bank.put([second.next_version(NOW), first.next_version(NOW)])
    assert list(await store.bank.items(session.id)) == [changed, second]
    assert list(await store.bank.history(session.id, [first.id])) == [first, changed]
    merged = replace(second.next_version(NOW), merged_into=first.id)
    await store.bank.put([merged])
    assert list(await store.bank.items(session.id)) == [changed]
    assert list(await store.bank.items(session.id, with_all=True)) == [changed, merged]
    # What an extraction stores late does not undo what the GM did meanwhile.
    late = replace(first, version=1, text="Kara lost the key.")
    await store.commit(Changes(session_id=session.id, items=(late,)), lease)
    assert list(await store.bank.items(session.id)) == [changed]
    await lease.aclose()


async def test_an_item_of_the_gms_own_is_put_without_a_commit(store: SessionStore) -> None:
    session, lease = await kept(store)
    own = replace(items_of(session.id)[-1])
    await store.bank.put([own])
    assert list(await store.bank.items(session.id)) == [own]
    with pytest.raises(ChangedElsewhereError):
        await store.bank.put([own])
    await lease.aclose()


async def test_recalls_are_counted_by_the_chapter_that_recalls(store: SessionStore) -> None:
    session, lease = await kept(store, fact(1))
    first = ItemAccess(item_id=fact(1).id, access_count=1, last_accessed=3)
    of_another_chapter = ItemAccess(item_id=ItemId(new_uuid()), access_count=4, last_accessed=2)
    await store.commit(Changes(session_id=session.id, accesses=(first, of_another_chapter)), lease)
    again = replace(first, access_count=2, last_accessed=5)
    await store.commit(Changes(session_id=session.id, accesses=(again,)), lease)
    found = await store.bank.accesses(session.id)
    assert found == {again.item_id: again, of_another_chapter.item_id: of_another_chapter}
    await lease.aclose()


async def test_what_a_model_says_never_replaces_the_words_of_the_gm(store: SessionStore) -> None:
    old = fact(1, prompt_index=1)
    session, lease = await kept(store, old, replace(fact(2, prompt_index=3), supersedes=old.id))
    [newer] = await store.bank.items(session.id)
    stored = (await store.bank.history(session.id, [old.id]))[0]
    await store.bank.put([replace(stored.next_version(NOW), text="Kara sold it.", is_by_gm=True)])
    assert [item.id for item in await store.bank.items(session.id)] == [old.id, newer.id]
    await store.bank.put([replace(newer.next_version(NOW), is_by_gm=True)])
    assert [item.id for item in await store.bank.items(session.id)] == [newer.id]
    await lease.aclose()


async def test_items_of_some_kinds_are_read_alone(store: SessionStore) -> None:
    session, lease = await kept(store, *items_of(SessionId(new_uuid())))
    found = await store.bank.items(session.id, kinds={ItemKind.STATE, ItemKind.PERSON})
    assert {item.kind for item in found} == {ItemKind.STATE, ItemKind.PERSON}
    await lease.aclose()


async def shelve(store: SessionStore, *chapter_ids: SessionId) -> Book:
    """Put chapters into a book of their own."""
    title = str(chapter_ids[0])
    book = Book(id=BookId(new_uuid()), title=title, chapters=chapter_ids, created_at=NOW, updated_at=NOW)
    await store.library.put_book(book)
    return book


async def test_a_chapter_sees_the_casts_of_those_before_it_in_its_book(store: SessionStore) -> None:
    first = chapters.new_session(slots=(Slot.RED, Slot.BLUE), names={Slot.BLUE: "Kara"}, prompt_index=0)
    profile = Profile(character_id=CharacterId(new_uuid()), aliases=("The Owl",))
    tab1 = Tab1Inputs(world="Ash", identities={Slot.BLUE: "Tall."}, profiles={Slot.BLUE: profile})
    await store.chapters.create(chapters.creation(first, tab1))
    others = [chapters.new_session(), chapters.new_session()]
    for other in others:
        await store.chapters.create(chapters.creation(other))
    ids = (first.id, *(other.id for other in others))
    assert not await store.bank.earlier_chapters(ids[1])
    await shelve(store, *ids)
    assert not await store.bank.earlier_chapters(ids[0])
    found = await store.bank.earlier_chapters(ids[2])
    assert [(one.session_id, one.number) for one in found] == [(ids[0], 1), (ids[1], 2)]
    assert found[0].cast == (
        Character(slot=Slot.RED),
        Character(slot=Slot.BLUE, given_name="Kara", profile=profile),
    )
    assert found[0].prompt_index == 0
    assert not found[0].statuses
    query = Query(session_id=ids[2], scopes=(), words=(), limit=1, is_for_input=True)
    assert (await store.bank.items_for_input((), query)).earlier == found
    assert not (await store.bank.items_for_input((), replace(query, is_for_input=False))).earlier


async def test_a_copy_of_a_chapter_has_the_chapters_before_that_one_in_its_book(store: SessionStore) -> None:
    first, second, third = [chapters.new_session() for _ in range(3)]
    branch = chapters.new_session(branched_from=second.id, branched_at=1)
    again = chapters.new_session(branched_from=branch.id, branched_at=1)
    for one in (first, second, third, branch, again):
        await store.chapters.create(chapters.creation(one))
    ids = (first.id, second.id, third.id)
    book = await shelve(store, *ids)
    for copy in (branch, again):
        found = await store.bank.earlier_chapters(copy.id)
        assert [(one.session_id, one.number) for one in found] == [(first.id, 1)]
    # In the book itself it has those before it, but for the one that it is another version of.
    await store.library.put_book(replace(book, chapters=(*ids, again.id)))
    found = await store.bank.earlier_chapters(again.id)
    assert [(one.session_id, one.number) for one in found] == [(first.id, 1), (third.id, 3)]


async def test_a_chapter_behind_a_copy_has_that_one_and_the_chapters_before_it(store: SessionStore) -> None:
    first, second, after = [chapters.new_session() for _ in range(3)]
    branch = chapters.new_session(branched_from=second.id, branched_at=1)
    for one in (first, second, branch, after):
        await store.chapters.create(chapters.creation(one))
    await shelve(store, first.id, second.id)
    await shelve(store, branch.id, after.id)
    found = await store.bank.earlier_chapters(after.id)
    assert [(one.session_id, one.number) for one in found] == [(first.id, 1), (branch.id, 2)]
    [only] = await store.bank.earlier_chapters(branch.id)
    assert (only.session_id, only.number) == (first.id, 1)


async def test_two_books_may_begin_with_copies_of_each_other_s_chapters(store: SessionStore) -> None:
    ours, theirs = chapters.new_session(), chapters.new_session()
    our_copy = chapters.new_session(branched_from=ours.id, branched_at=1)
    their_copy = chapters.new_session(branched_from=theirs.id, branched_at=1)
    for one in (ours, theirs, our_copy, their_copy):
        await store.chapters.create(chapters.creation(one))
    await shelve(store, their_copy.id, ours.id)
    await shelve(store, our_copy.id, theirs.id)
    found = await store.bank.earlier_chapters(ours.id)
    assert [(one.session_id, one.number) for one in found] == [(our_copy.id, 1), (their_copy.id, 2)]


async def test_a_chapter_sees_what_is_sent_of_those_before_it_in_its_book(store: SessionStore) -> None:
    first, lease = await kept(store)
    said = (EventStatus(1, 1, 0, ContextStatus.ALWAYS), EventStatus(1, 1, 1, ContextStatus.NEVER))
    await store.commit(Changes(session_id=first.id, statuses=said), lease)
    second = chapters.new_session()
    await store.chapters.create(chapters.creation(second))
    await shelve(store, first.id, second.id)
    [found] = await store.bank.earlier_chapters(second.id)
    assert found.statuses == said
    await lease.aclose()


async def test_what_was_read_for_the_bank_is_known_by_the_requests_that_are_done(store: SessionStore) -> None:
    session, lease = await kept(store)
    asked = BackgroundRequest(
        kind=RequestKind.EXTRACTION,
        id=RequestId(new_uuid()),
        session_id=session.id,
        priority=KIND_SPECS[RequestKind.EXTRACTION].priority,
        prompts=PromptRange(1, 3),
        text="1.1.0 1.1.1",
        audience=Audience.of((Slot.RED,)),
        created_at=NOW,
        updated_at=NOW,
    )
    await store.commit(Changes(session_id=session.id, requests=(asked,)), lease)
    assert not await store.bank.readings(session.id)
    done = replace(asked, state=RequestState.DONE)
    other = replace(done, id=RequestId(new_uuid()), kind=RequestKind.HEARTBEAT)
    await store.commit(Changes(session_id=session.id, requests=(done, other)), lease)
    assert list(await store.bank.readings(session.id)) == [done]
    await lease.aclose()
