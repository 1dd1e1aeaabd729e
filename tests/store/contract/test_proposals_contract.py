"""What a store promises of proposals for characters of the library, on PostgreSQL and in memory."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.domain.errors import StorageError
from core.domain.ids import CharacterId, ProposalId, RequestId, SessionId, new_uuid
from core.domain.proposal import Occasion, Proposal, ProposalState, ProposedPart
from core.library.characters.character import LibraryCharacter, Trait
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from tests.store import chapters

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 25, 4, tzinfo=UTC)


def mira() -> LibraryCharacter:
    return LibraryCharacter(id=CharacterId(new_uuid()), name="Mira", created_at=NOW, updated_at=NOW)


def proposal(character: LibraryCharacter, session_id: SessionId) -> Proposal:
    return Proposal(
        id=ProposalId(new_uuid()),
        character_id=character.id,
        part=ProposedPart.TRAIT,
        before=({"name": "Brave", "strength": 0.5},),
        after=({"name": "Brave", "strength": 0.75},),
        why="“I go first.” 🗝",
        occasion=Occasion.CHAPTER,
        session_id=session_id,
        request_id=RequestId(new_uuid()),
        prompt_index=3,
        created_at=NOW,
    )


async def proposed(store: SessionStore, count: int = 1) -> tuple[LibraryCharacter, list[Proposal]]:
    """Store a character, and as many proposals for it with a commit of a chapter."""
    character = mira()
    await store.library.put_character(character)
    session = chapters.new_session()
    await store.chapters.create(chapters.creation(session))
    lease = await chapters.taken(store, session.id)
    made = [proposal(character, session.id) for _ in range(count)]
    await store.commit(Changes(session_id=session.id, proposals=tuple(made)), lease)
    await lease.aclose()
    return character, made


async def test_proposals_come_back_as_they_were_made_and_a_commit_sent_twice_adds_nothing(
    store: SessionStore,
) -> None:
    character, made = await proposed(store, 2)
    assert list(await store.library.proposals()) == made
    assert list(await store.library.proposals(character.id)) == made
    session_id = made[0].session_id
    assert session_id is not None
    lease = await chapters.taken(store, session_id)
    await store.commit(Changes(session_id=session_id, proposals=tuple(made)), lease)
    await lease.aclose()
    assert list(await store.library.proposals(character.id, is_open=False)) == made


async def test_a_decision_is_stored_with_the_character_that_it_makes_or_not_at_all(
    store: SessionStore,
) -> None:
    character, [first, second] = await proposed(store, 2)
    taken = replace(first, state=ProposalState.TAKEN, settled_at=NOW)
    braver = replace(character, traits=(Trait(name="Brave"),))
    with pytest.raises(StorageError):
        await store.library.settle_proposals((taken,), character=replace(braver, version=9))
    assert list(await store.library.proposals(character.id)) == [first, second]
    await store.library.settle_proposals((taken,), character=braver)
    assert list(await store.library.characters()) == [replace(braver, version=2)]
    assert list(await store.library.proposals(character.id)) == [second]
    assert list(await store.library.proposals(character.id, is_open=False)) == [taken, second]


async def test_what_was_decided_elsewhere_is_not_decided_again_and_the_character_stays(
    store: SessionStore,
) -> None:
    character, [one] = await proposed(store)
    taken = replace(one, state=ProposalState.TAKEN, settled_at=NOW)
    await store.library.settle_proposals((taken,))
    with pytest.raises(StorageError, match="decided elsewhere"):
        await store.library.settle_proposals((taken,), character=replace(character, identity="Twice."))
    assert list(await store.library.characters()) == [character]
    again = replace(taken, state=ProposalState.OPEN, settled_at=None)
    await store.library.settle_proposals((again,))
    assert list(await store.library.proposals(character.id)) == [one]


@pytest.mark.parametrize("first", [ProposalState.TAKEN, ProposalState.DROPPED])
async def test_what_one_window_took_is_not_dropped_by_another_nor_the_other_way_round(
    store: SessionStore, first: ProposalState
) -> None:
    character, [one] = await proposed(store)
    decided = replace(one, state=first, settled_at=NOW)
    await store.library.settle_proposals((decided,))
    [other] = {ProposalState.TAKEN, ProposalState.DROPPED} - {first}
    with pytest.raises(StorageError, match="decided elsewhere"):
        await store.library.settle_proposals((replace(decided, state=other),))
    assert list(await store.library.proposals(character.id, is_open=False)) == [decided]


async def test_archived_characters_have_none_in_the_list_and_a_purge_deletes_them(
    store: SessionStore,
) -> None:
    character, [one] = await proposed(store)
    await store.library.put_character(replace(character, archived_at=NOW))
    assert not await store.library.proposals()
    assert list(await store.library.proposals(character.id)) == [one]
    await store.library.purge_character(character.id)
    assert not await store.library.proposals(character.id, is_open=False)


async def test_a_proposal_outlives_the_chapter_that_it_is_from(store: SessionStore) -> None:
    character, [one] = await proposed(store)
    assert one.session_id is not None
    await store.chapters.archive(one.session_id, NOW)
    await store.chapters.purge(one.session_id)
    assert list(await store.library.proposals(character.id)) == [one]
