"""What the GM decides about proposals: taken one by one or together, dropped, undone; never by itself."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.domain.errors import IllegalCommandError
from core.domain.proposal import Proposal, ProposalState, ProposedPart
from core.engine.services.library.proposals import ProposalLibrary
from core.library.characters.character import LibraryCharacter, Trait, record_of
from core.library.proposals.taking import change_of
from tests.core.library.proposals.proposal_samples import NOW, mira, proposed
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_library import MemoryLibrary
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


def offers(character: LibraryCharacter) -> list[Proposal]:
    text = proposed(
        character,
        ProposedPart.SHORT_DESCRIPTION,
        ({"text": character.short_description},),
        ({"text": "New."},),
    )
    other = replace(text, id=proposed(character, ProposedPart.TRAIT, (), ()).id, after=({"text": "Other."},))
    before, after = change_of(character.traits[0], strength=0.9)
    return [
        text,
        other,
        proposed(character, ProposedPart.TRAIT, (before,), (after,)),
        proposed(character, ProposedPart.TRAIT, (), (record_of(Trait(name="Brave")),)),
    ]


async def at_hand() -> tuple[ProposalLibrary, MemoryLibrary, LibraryCharacter, list[Proposal]]:
    sessions, character = MemoryStore(MemoryDatabase()), mira()
    store = sessions.library
    await store.put_character(character)
    made = offers(character)
    store.add_proposals(made)
    return ProposalLibrary(sessions.library, sessions.chapters, lambda: NOW), store, character, made


async def now(store: MemoryLibrary) -> LibraryCharacter:
    [character] = await store.characters()
    return character


def states(found: Sequence[Proposal]) -> list[ProposalState]:
    return [one.state for one in found]


async def test_one_that_is_taken_changes_the_character_and_makes_its_rival_outdated() -> None:
    library, store, character, [text, other, *rest] = await at_hand()
    assert [one.is_outdated for one in await library.offered()] == [False] * 4
    assert (await library.accept(text)).version == character.version + 1
    assert (await now(store)).short_description == "New."
    offered = await library.offered(character.id)
    assert [(one.proposal, one.is_outdated) for one in offered] == [
        (other, True),
        *((one, False) for one in rest),
    ]
    with pytest.raises(IllegalCommandError):
        await library.accept(other)
    assert (await now(store)).short_description == "New."


async def test_all_that_fit_are_taken_at_once_and_the_outdated_stay_open() -> None:
    library, store, _, made = await at_hand()
    assert await library.accept_all(made) == (3, 1)
    changed = await now(store)
    assert (changed.version, changed.short_description) == (2, "New.")
    assert [(one.name, one.strength) for one in changed.traits] == [("Patient", 0.9), ("Brave", 0.5)]
    assert [one.proposal.id for one in await library.offered()] == [made[1].id]


async def test_what_was_decided_is_undone_one_by_one_the_last_first() -> None:
    library, store, character, made = await at_hand()
    await library.accept_all(made)
    for _ in range(3):
        await library.undo(character.id)
    assert replace(await now(store), version=1) == character
    assert states(await store.proposals()) == [ProposalState.OPEN] * 4
    with pytest.raises(IllegalCommandError, match="Nothing was taken"):
        await library.undo(character.id)


async def test_one_that_is_dropped_changes_nothing_and_can_be_brought_back() -> None:
    library, store, character, made = await at_hand()
    await library.drop(made[:2])
    assert await now(store) == character
    assert len(await library.offered()) == 2
    assert (await library.undo(character.id)).id == made[1].id
    assert await now(store) == character
    assert len(await library.offered()) == 3


async def test_what_the_gm_has_changed_since_is_not_undone_over_it() -> None:
    library, store, character, [text, *_] = await at_hand()
    await library.accept(text)
    await store.put_character(replace(await now(store), short_description="My words."))
    with pytest.raises(IllegalCommandError, match="nothing was undone"):
        await library.undo(character.id)
    assert (await now(store)).short_description == "My words."


async def test_an_archived_character_has_no_proposals_and_takes_none() -> None:
    library, store, character, [text, *_] = await at_hand()
    await store.put_character(replace(character, archived_at=NOW))
    assert await library.offered() == []
    with pytest.raises(IllegalCommandError, match="archived"):
        await library.accept(text)
