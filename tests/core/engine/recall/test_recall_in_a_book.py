"""Recall across the chapters of a book: who remembers what of an earlier one, and how it fades."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.context.bank import ChapterBank
from core.domain.audience import Audience
from core.domain.bank.details import Aspect, QuoteDetails, StateDetails
from core.domain.bank.item import Item
from core.domain.bank.recall import Query
from core.domain.ids import BookId, new_uuid
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus, EventStatus
from core.engine.recall.asking import Meaning, RecallRequest
from core.engine.recall.reading import NOT_IN_TIME, BankReader
from core.engine.recall.search import search
from core.library.book import Book
from core.storage.bank_store import FindWords, ItemsForInput, Sheets
from core.storage.changes import Changes
from tests.core.values.bank import NOW, fact
from tests.store import chapters
from tests.store.in_memory.memory_bank import MemoryBank
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
ASKED = RecallRequest(text="Where is the brass key?", recent_from=0)


async def chapter(store: MemoryStore, names: Mapping[Slot, str]) -> Session:
    session, lease = await chapters.locked_session(store, keeps_bank=True, names=names)
    session = await chapters.play(store, session, lease, 3)
    await lease.aclose()
    return session


async def book_of(store: MemoryStore, *sessions: Session) -> None:
    ids = tuple(one.id for one in sessions)
    await store.library.put_book(
        Book(id=BookId(new_uuid()), title="One", chapters=ids, created_at=NOW, updated_at=NOW)
    )


async def recalled(
    store: MemoryStore, session: Session, slot: Slot, asked: RecallRequest = ASKED
) -> ChapterBank:
    return await BankReader(store.bank).read(await store.load(session.id), slot, asked)


def places(bank: ChapterBank) -> list[str]:
    return [one.found.place for one in bank.recalled]


async def test_a_character_remembers_what_it_knew_in_an_earlier_chapter_and_a_newcomer_does_not() -> None:
    store = MemoryStore()
    first = await chapter(store, {RED: "Kara", ORANGE: "Bea"})
    second = await chapter(store, {RED: "Jory", ORANGE: "kara"})
    await book_of(store, first, second)
    await store.bank.put(
        [
            fact(1, session_id=first.id, prompt_index=1),
            fact(2, session_id=first.id, prompt_index=2, label=Audience.of((RED,))),
            fact(3, session_id=first.id, prompt_index=3, label=Audience.of((ORANGE,))),
        ]
    )
    found = await recalled(store, second, ORANGE)
    assert sorted(places(found)) == ["chapter 1, prompt 1", "chapter 1, prompt 2"]
    assert all(ORANGE in one.found.label for one in found.recalled)
    assert not (await recalled(store, second, RED)).recalled, "Jory was not there, also of what all knew"


async def test_a_state_of_an_earlier_chapter_is_not_recalled_once_it_is_replaced_in_this_one() -> None:
    store = MemoryStore()
    first, second = await chapter(store, {RED: "Kara"}), await chapter(store, {RED: "Kara"})
    await book_of(store, first, second)
    has_it = StateDetails(aspect=Aspect.POSSESSION)
    old = replace(fact(1, session_id=first.id, prompt_index=1), details=has_it, about=RED)
    await store.bank.put([old])
    assert [one.found.item.id for one in (await recalled(store, second, RED)).recalled] == [old.id]
    lost = replace(fact(2, session_id=second.id, prompt_index=1), about=RED, text="The brass key is lost.")
    await store.bank.put([replace(lost, details=replace(has_it, is_over=True), take=None, is_by_gm=True)])
    found = await recalled(store, second, RED)
    assert [one.found.item.id for one in found.recalled] == [lost.id]
    assert not found.sheet


@pytest.mark.parametrize("is_earlier", [False, True], ids=["of this chapter", "of an earlier one"])
async def test_a_quote_of_a_line_that_is_never_sent_is_in_no_input(is_earlier: bool) -> None:
    store = MemoryStore()
    said, second = await chapter(store, {RED: "Kara"}), await chapter(store, {RED: "Kara"})
    await book_of(store, said, second)
    playing, asked = second if is_earlier else said, replace(ASKED, recent_from=3)
    told = fact(1, session_id=said.id, prompt_index=1)
    await store.bank.put([told, replace(fact(2, session_id=said.id, prompt_index=1), details=QuoteDetails())])
    assert len((await recalled(store, playing, RED, asked)).recalled) == 2
    for status, numbers in ((ContextStatus.NEVER, [1]), (ContextStatus.DEFAULT, [1, 2])):
        lease = await chapters.taken(store, said.id, "mark it")
        await store.commit(Changes(session_id=said.id, statuses=(EventStatus(1, 1, 1, status),)), lease)
        await lease.aclose()
        found = await recalled(store, playing, RED, asked)
        assert sorted(one.found.item.id.int for one in found.recalled) == numbers


class Counting(MemoryBank):
    """A bank that counts how often an input searches it."""

    searches = 0
    never: int | None = None
    """The search that is never answered."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.waits = asyncio.Event()

    async def items_for_input(
        self, sheets: Sheets, query: Query | None, find_words: FindWords | None = None
    ) -> ItemsForInput:
        self.searches += 1
        if self.searches == self.never:
            self.waits.set()
            await asyncio.Event().wait()
        return await super().items_for_input(sheets, query, find_words)


async def test_an_input_searches_again_only_where_the_chapters_before_it_have_changed() -> None:
    store = MemoryStore()
    first, second = await chapter(store, {RED: "Kara"}), await chapter(store, {RED: "Kara"})
    store.bank = bank = Counting(store.database.sessions, store.library)
    told = replace(fact(1, session_id=first.id, prompt_index=1), details=QuoteDetails())
    await store.bank.put([told, replace(fact(2, session_id=second.id, prompt_index=1), take=1)])
    reader, snapshot = BankReader(store.bank), await store.load(second.id)
    asked = replace(ASKED, recent_from=3)

    async def read() -> tuple[list[str], int]:
        before = bank.searches
        return sorted(places(await reader.read(snapshot, RED, asked))), bank.searches - before

    assert await read() == (["prompt 1"], 1)
    await book_of(store, first, second)
    assert await read() == (["chapter 1, prompt 1", "prompt 1"], 2)
    assert await read() == (["chapter 1, prompt 1", "prompt 1"], 1)
    lease = await chapters.taken(store, first.id, "mark it")
    never = EventStatus(1, 1, 1, ContextStatus.NEVER)
    await store.commit(Changes(session_id=first.id, statuses=(never,)), lease)
    await lease.aclose()
    assert await read() == (["prompt 1"], 2)
    assert await read() == (["prompt 1"], 1)


async def test_the_input_after_one_whose_second_search_was_not_made_in_time_needs_one_search() -> None:
    store = MemoryStore()
    first, second = await chapter(store, {RED: "Kara"}), await chapter(store, {RED: "Kara"})
    store.bank = bank = Counting(store.database.sessions, store.library)
    await store.bank.put([fact(1, session_id=one.id, prompt_index=1) for one in (first, second)])
    reader, snapshot = BankReader(store.bank), await store.load(second.id)
    asked = replace(ASKED, recent_from=3)
    await reader.read(snapshot, RED, asked)
    await book_of(store, first, second)
    bank.never = 3
    given_up = asyncio.create_task(reader.read(snapshot, RED, asked))
    await asyncio.wait_for(bank.waits.wait(), 60)
    given_up.cancel()
    await asyncio.wait([given_up])
    found = await reader.read(snapshot, RED, asked)
    assert (sorted(places(found)), bank.searches) == (["chapter 1, prompt 1", "prompt 1"], 4)


async def test_what_is_older_by_whole_chapters_is_weaker() -> None:
    store = MemoryStore()
    first, second = await chapter(store, {RED: "Kara"}), await chapter(store, {RED: "Kara"})
    await book_of(store, first, second)
    fading = {"importance": 1.0, "decay_rate": 0.1}
    old = replace(fact(1, session_id=first.id, prompt_index=1), **fading)  # type: ignore[arg-type]  # as its fields
    own = replace(fact(2, session_id=second.id, prompt_index=1, take=1), **fading)  # type: ignore[arg-type]
    await store.bank.put([old, replace(own, is_by_gm=True)])
    strengths = {one.found.item.id: one.strength for one in (await recalled(store, second, RED)).recalled}
    assert strengths[old.id] < strengths[own.id] < 1


async def test_what_recent_context_has_is_not_recalled() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    await store.bank.put([fact(1, session_id=session.id, prompt_index=2)])
    assert not (await recalled(store, session, RED)).recalled
    later = await recalled(store, session, RED, replace(ASKED, recent_from=2))
    assert places(later) == ["prompt 2"]


async def test_what_is_asked_by_meaning_is_the_prompt_or_the_scene_where_it_says_little() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    texts: list[str] = []

    async def embed(text: str) -> Meaning | None:
        texts.append(text)
        return None

    await recalled(store, session, RED, RecallRequest(text="Go on.", recent_from=0, embed=embed))
    assert not texts, "an empty bank has nothing to compare it with"
    await store.bank.put([fact(1, session_id=session.id, prompt_index=1)])
    await recalled(store, session, RED, RecallRequest(text="Go on.", recent_from=0, embed=embed))
    long = "Where did you put the key that was his?"
    await recalled(store, session, RED, RecallRequest(text=long, recent_from=0, embed=embed))
    short = "Who has the key?"
    await recalled(store, session, RED, RecallRequest(text=short, recent_from=0, embed=embed))
    unspaced = ("属于他的那把钥匙现在在哪里。", "钥匙在哪里？")
    for text in unspaced:
        await recalled(store, session, RED, RecallRequest(text=text, recent_from=0, embed=embed))
    last = [event.text for event in await store.canon(session.id)][-2:]
    assert texts == ["\n".join((*last, "Go on.")), long, short, *unspaced]


async def test_no_text_is_made_a_vector_where_the_database_keeps_none() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    await store.bank.put([fact(1, session_id=session.id)])

    async def embed(text: str) -> Meaning | None:
        raise AssertionError(f"{text!r} was sent to the model")

    store.bank.keeps_vectors = False
    asked = replace(ASKED, recent_from=3, embed=embed)
    assert places(await recalled(store, session, RED, asked)) == ["prompt 3"]
    assert await search(store, [session.id], "brass key", embed)


class Silent(MemoryBank):
    """A bank that never answers what is recalled."""

    async def items_for_input(
        self, sheets: Sheets, query: Query | None, find_words: FindWords | None = None
    ) -> ItemsForInput:
        await asyncio.Event().wait()
        return ItemsForInput()


async def test_an_input_does_not_wait_for_a_recall_that_does_not_come() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    store.bank = Silent(store.database.sessions, store.library)
    await store.bank.put([fact(1, session_id=session.id, prompt_index=1)])
    reader = BankReader(store.bank, longest_wait=0.01)
    found = await reader.read(await store.load(session.id), RED, ASKED)
    assert found == ChapterBank(left_out=(NOT_IN_TIME,))


def items_of(bank: ChapterBank) -> list[Item]:
    return [one.found.item for one in bank.recalled]


async def test_no_more_is_recalled_than_the_setting_says_and_zero_is_nothing() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    await store.bank.put([fact(number, session_id=session.id, prompt_index=1) for number in range(1, 9)])
    snapshot, asked = await store.load(session.id), replace(ASKED, recent_from=3)
    assert len(items_of(await BankReader(store.bank, most_items=lambda _: 3).read(snapshot, RED, asked))) == 3
    assert not items_of(await BankReader(store.bank, most_items=lambda _: 0).read(snapshot, RED, asked))


async def test_by_hours_what_is_recalled_is_weaker_the_longer_ago_it_was_drawn() -> None:
    store = MemoryStore()
    session = await chapter(store, {RED: "Kara"})
    await store.bank.put([fact(1, session_id=session.id, prompt_index=1)])
    snapshot = await store.load(session.id)
    later = fact(1).created_at + timedelta(hours=1_000)
    asked = replace(ASKED, recent_from=9)
    by_prompts = (await BankReader(store.bank).read(snapshot, RED, asked)).recalled
    by_hours = (await BankReader(store.bank, fades_at=lambda: later).read(snapshot, RED, asked)).recalled
    assert by_prompts[0].strength > 0.49
    assert by_hours[0].strength < 0.1
