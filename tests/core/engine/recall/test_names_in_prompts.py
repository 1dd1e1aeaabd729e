"""A name that the GM spells otherwise finds what is remembered of it, where the character knows the name."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.domain.audience import Audience
from core.domain.bank.details import PersonDetails
from core.domain.bank.item import Item
from core.domain.bank.recall import Scope
from core.domain.session.profile import Profile
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.engine.recall.asking import RecallRequest
from core.engine.recall.reading import NOT_IN_TIME, BankReader
from core.storage.bank_store import Names
from tests.core.engine.recall.test_recall_in_a_book import Silent, chapter
from tests.core.values.bank import fact
from tests.store import chapters
from tests.store.in_memory.memory_bank import MemoryBank
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio
RED, ORANGE = Slot.RED, Slot.ORANGE
TOLD = {
    "Tobias": "He owes the harbour nine coins.",
    "Marisol": "She sank the second ferry.",
}


def person(session: Session, number: int, name: str, label: Audience | None = None) -> Item:
    """Return an item about someone outside the cast."""
    item = fact(number, session_id=session.id, prompt_index=1, name=name, text=TOLD[name])
    item = replace(item, evidence=(replace(item.evidence[0], words=TOLD[name]),))
    return replace(item, details=PersonDetails(), label=label or item.label)


async def recalled(store: MemoryStore, session: Session, text: str, slot: Slot = RED) -> list[str]:
    """Return the names of the items that a prompt recalls."""
    snapshot = await store.load(session.id)
    found = await BankReader(store.bank).read(snapshot, slot, RecallRequest(text=text, recent_from=9))
    assert NOT_IN_TIME not in found.left_out
    return [one.found.item.name for one in found.recalled]


@pytest.mark.parametrize(
    "text", ["Ask Tobyas.", "Tobbias, come here!", "Is that Tobiass’ coat?", "Tobia knows."]
)
async def test_a_name_that_is_misspelled_or_inflected_finds_what_is_remembered_of_it(text: str) -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    await store.bank.put([person(session, 1, "Tobias"), person(session, 2, "Marisol")])
    assert await recalled(store, session, text) == ["Tobias"]
    assert not await recalled(store, session, text.lower()), "names are written with a capital"


async def test_names_of_the_cast_are_found_too() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara", ORANGE: "Bea"})
    await store.bank.put([fact(1, session_id=session.id, prompt_index=1)])
    for text in ("Where is Kaara?", "Karas Mantel liegt da.", "Karra!"):
        assert await recalled(store, session, text, ORANGE) == ["The brass key"]
    assert not await recalled(store, session, "Where is Mara?", ORANGE)


async def test_a_word_that_items_have_is_not_taken_for_a_name_that_is_like_it() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    other = replace(person(session, 2, "Marisol"), name="The Tobiad", text="A song of nine verses.")
    await store.bank.put([person(session, 1, "Tobias"), other])
    assert await recalled(store, session, "Sing Tobiad.") == ["The Tobiad"]


async def test_a_name_that_the_character_does_not_know_is_never_what_a_word_is_meant_for() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara", ORANGE: "Bea"})
    secret = person(session, 1, "Marisol", Audience.of((ORANGE,)))
    # What she may know has the word, but not as a name that she knows.
    open_one = replace(person(session, 2, "Tobias"), text="The ship Marisol has sunk.")
    await store.bank.put([secret, open_one])
    assert not await recalled(store, session, "Who is Marisoll?", RED)
    assert set(await recalled(store, session, "Who is Marisoll?", ORANGE)) == {"Marisol", "Tobias"}


async def test_another_name_of_a_character_is_known_to_itself_alone() -> None:
    store = MemoryStore()
    session = chapters.new_session(keeps_bank=True, names={RED: "Kara", ORANGE: "Bea"})
    known = Tab1Inputs(world="Ice.", profiles={RED: Profile(aliases=("Nightjar",))})
    await store.chapters.create(chapters.creation(session, known))
    # Without a take it counts before anything is played.
    song = replace(fact(1, session_id=session.id), take=None, text="They sing of the Nightjar.")
    await store.bank.put([song])
    assert await recalled(store, session, "Nightjarr!", RED) == ["The brass key"]
    assert not await recalled(store, session, "Nightjarr!", ORANGE)


class Counting(MemoryBank):
    """A bank that counts how often it is asked for names."""

    asked = 0

    async def names(self, scopes: Sequence[Scope], words: Sequence[str]) -> Names:
        self.asked += 1
        return await super().names(scopes, words)


async def test_nothing_is_asked_where_no_word_could_be_a_name_or_each_is_one_of_the_cast() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    bank = Counting(store.database.sessions, store.library)
    store.bank = bank
    await bank.put([fact(1, session_id=session.id, prompt_index=1)])
    for text in ("go on.", "Kara, who has the key?", "He is in it", "", "12 keys"):
        await recalled(store, session, text)
    assert bank.asked == 0
    await recalled(store, session, "Where is Kaara?")
    assert bank.asked == 1


async def test_an_input_waits_no_longer_for_names_than_for_the_bank() -> None:
    class Dumb(Silent):
        names: Any = Silent.items_for_input

    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    store.bank = Dumb(store.database.sessions, store.library)
    await store.bank.put([fact(1, session_id=session.id, prompt_index=1)])
    reader = BankReader(store.bank, longest_wait=0.01)
    asked = RecallRequest(text="Where is Kaara?", recent_from=9)
    assert (await reader.read(await store.load(session.id), RED, asked)).left_out == (NOT_IN_TIME,)
