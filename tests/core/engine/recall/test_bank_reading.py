"""What the input of a character draws on of the memory bank, as the engine reads it from the store."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from core.context.bank import NO_BANK, ChapterBank
from core.domain.audience import Audience
from core.domain.bank.details import Aspect, StateDetails
from core.domain.bank.item import Item
from core.domain.bank.recall import Query
from core.domain.ids import BookId, new_uuid
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.recall.reading import NOT_IN_TIME, BankReader
from core.library.book import Book
from core.storage.bank_store import FindWords, ItemsForInput, Sheets
from tests.core.values.bank import NOW, fact
from tests.store import chapters
from tests.store.in_memory.memory_bank import MemoryBank
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


def state(number: int, session: Session, text: str, about: Slot = Slot.RED, **values: object) -> Item:
    details = values.pop("details", StateDetails(aspect=Aspect.WOUND))
    item = fact(number, session_id=session.id, prompt_index=1, name=f"Line {number}", text=text)
    return replace(item, details=details, about=about, **values)  # type: ignore[arg-type]  # the caller's


async def chapter(store: MemoryStore, names: Mapping[Slot, str] | None = None) -> Session:
    session, lease = await chapters.locked_session(store, keeps_bank=True, names=names or {})
    session = await chapters.play(store, session, lease, 3)
    await lease.aclose()
    return session


async def put(store: MemoryStore, *items: Item) -> None:
    await store.bank.put(items)


async def read(store: MemoryStore, session: Session, slot: Slot) -> ChapterBank:
    return await BankReader(store.bank).read(await store.load(session.id), slot)


async def test_a_chapter_without_a_bank_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store)
    monkeypatch.setattr(store, "bank", None)
    assert await read(store, session, Slot.RED) is NO_BANK
    await lease.aclose()


async def test_the_sheet_has_the_newest_line_of_each_thing_that_its_character_knows() -> None:
    store = MemoryStore()
    session = await chapter(store)
    key = StateDetails(aspect=Aspect.POSSESSION)
    place = StateDetails(aspect=Aspect.WHEREABOUTS)
    await put(
        store,
        state(1, session, "A cut."),
        state(2, session, "She has the key.", name="The key", details=key),
        state(3, session, "The key is lost.", name="the Key", details=replace(key, is_over=True)),
        state(4, session, "In the mill.", details=place),
        state(5, session, "On the bridge.", details=place),
        state(6, session, "What she does not know of herself.", label=Audience.of((Slot.ORANGE,))),
        state(7, session, "Of another.", about=Slot.ORANGE),
        state(8, session, "Tired.", details=StateDetails(aspect=Aspect.MOOD), expires_at=2),
        fact(9, session_id=session.id, prompt_index=1),
    )
    found = await read(store, session, Slot.RED)
    assert [line.item.text for line in found.sheet] == ["A cut.", "On the bridge."]
    assert [line.item.text for line in (await read(store, session, Slot.ORANGE)).sheet] == ["Of another."]


async def test_a_line_of_the_gms_stays_beside_what_is_newer_until_the_gm_writes_another() -> None:
    store = MemoryStore()
    session = await chapter(store)
    mine = state(1, session, "A deep cut.", name="The arm", is_by_gm=True)
    await put(store, mine, state(2, session, "It heals.", name="The arm"))
    await put(store, state(3, session, "It is well.", name="the arm"))
    found = await read(store, session, Slot.RED)
    assert [line.item.text for line in found.sheet] == ["A deep cut.", "It is well."]
    await put(store, state(4, session, "A scar.", name="The arm", is_pinned=True))
    found = await read(store, session, Slot.RED)
    assert [line.item.text for line in found.sheet] == ["A scar."]


async def test_the_sheet_goes_on_from_chapter_to_chapter_of_a_book() -> None:
    store = MemoryStore()
    first = await chapter(store, names={Slot.RED: "Kara"})
    second = await chapter(store, names={Slot.ORANGE: "kara"})
    book = Book(
        id=BookId(new_uuid()), title="One", chapters=(first.id, second.id), created_at=NOW, updated_at=NOW
    )
    await store.library.put_book(book)
    mood = StateDetails(aspect=Aspect.MOOD)
    await put(
        store,
        state(1, first, "A cut."),
        state(2, first, "Glad.", details=mood, expires_at=5),
        state(3, second, "A burn.", about=Slot.ORANGE),
    )
    found = await read(store, second, Slot.ORANGE)
    assert [(line.item.text, line.place) for line in found.sheet] == [
        ("A cut.", "chapter 1, prompt 1"),
        ("A burn.", "prompt 1"),
    ]


class Silent(MemoryBank):
    """A bank whose answer never comes."""

    async def items_for_input(
        self, sheets: Sheets, query: Query | None, find_words: FindWords | None = None
    ) -> ItemsForInput:
        await asyncio.Event().wait()
        return ItemsForInput()


async def test_an_input_goes_without_a_bank_that_does_not_answer_and_says_so() -> None:
    store = MemoryStore()
    session = await chapter(store)
    store.bank = Silent(store.database.sessions, store.library)
    snapshot = await store.load(session.id)
    reader = BankReader(store.bank, longest_wait=0.01)
    assert await reader.read(snapshot, Slot.RED) == ChapterBank(), "in an empty bank nothing is looked for"
    await put(store, fact(1, session_id=session.id, prompt_index=1))
    assert await reader.read(snapshot, Slot.RED) == ChapterBank(left_out=(NOT_IN_TIME,))
