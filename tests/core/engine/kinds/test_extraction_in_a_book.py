"""What is found in a chapter of a book is compared with what the chapters before it have."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.embedding import choose_embedding
from core.config.sections import EmbeddingSettings, ProfileSettings
from core.context.bank import ChapterBank
from core.domain.audience import EVERYONE, Audience
from core.domain.bank.details import Aspect, QuoteDetails, StateDetails
from core.domain.bank.item import Item, Validation
from core.domain.bank.recall import Found, Query, Scope
from core.domain.ids import BookId, new_uuid
from core.domain.session.language import Language
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.recall.asking import RecallRequest
from core.engine.recall.reading import BankReader
from core.engine.session.session_handle import SessionHandle
from core.gateway.embedding_service import EmbeddingPlan
from core.library.book import Book
from core.providers.embedding.base import Embedding
from core.providers.embedding.scripted import ScriptedEmbedder
from tests.core.rooms.bank_room import answer, calls, fact, items, read, room, scan
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import play
from tests.core.values import bank as bank_values
from tests.core.values.bank import NOW
from tests.store import chapters
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio
RED, ORANGE = Slot.RED, Slot.ORANGE
KEY = bank_values.fact(1, prompt_index=1, text="The brass key lies under the mill.")
WOUND = StateDetails(aspect=Aspect.WOUND)


@asynccontextmanager
async def second_chapter(
    made: Room, *earlier: Item, **first: Any
) -> AsyncIterator[tuple[SessionHandle, Session]]:
    """Yield a chapter that is the second of its book, and the first, which has these items."""
    values = {"keeps_bank": True, "slots": made.store.snapshot.session.slots, **first}
    store = MemoryStore(made.store.database)
    before, lease = await chapters.locked_session(store, **values)
    before = await chapters.play(store, before, lease, 3)
    await lease.aclose()
    await store.bank.put([replace(item, session_id=before.id) for item in earlier])
    ids = (before.id, made.store.snapshot.session.id)
    book = Book(id=BookId(new_uuid()), title="One", chapters=ids, created_at=NOW, updated_at=NOW)
    await store.library.put_book(book)
    async with made.opened() as session:
        yield session, before


async def recalled(made: Room, session: SessionHandle, slot: Slot = RED) -> ChapterBank:
    asked = RecallRequest(text="Where is the brass key, and how is the left arm?", recent_from=99)
    return await BankReader(made.store.bank).read(session.snapshot, slot, asked)


async def test_what_an_earlier_chapter_has_is_not_drawn_again_and_the_note_says_so() -> None:
    made = room(scan(facts=[fact()]))
    async with second_chapter(made, KEY) as (session, _):
        await play(session, "1?", "2?", "3?")
        await read(session)
        assert not await items(session)
        note = "1 item is in the bank of an earlier chapter: “The brass key”"
        assert [one.left_out for one in await calls(session)] == [(note,)]
        assert [one.found.chapter for one in (await recalled(made, session)).recalled] == [1]


async def test_a_quote_names_no_item_of_an_earlier_chapter_which_is_not_in_its_export() -> None:
    quote = {"words": "the brass key under the mill", "speaker": "Agent Red", "importance": 4, "prompt": 1}
    made = room(scan(facts=[fact()], quotes=[quote]))
    async with second_chapter(made, KEY) as (session, _):
        await play(session, "1?", "2?", "3?")
        await read(session)
        [drawn] = await items(session)
        assert isinstance(drawn.details, QuoteDetails)
        # An import refuses a quote that names an item which is not in the file.
        assert not drawn.details.data_item_ids


async def test_what_was_rejected_in_an_earlier_chapter_is_not_proposed_to_a_cast_that_grew() -> None:
    made = room(scan(facts=[fact()]))
    rejected = replace(KEY, validation=Validation.REJECTED)
    async with second_chapter(made, rejected, slots=(RED,)) as (session, _):
        await play(session, "1?", "2?", "3?")
        await read(session)
        assert not await items(session)
        note = "1 item was rejected in an earlier chapter: “The brass key”"
        assert [one.left_out for one in await calls(session)] == [(note,)]


@pytest.mark.parametrize("validation", [Validation.NONE, Validation.REJECTED])
async def test_what_not_everyone_knew_there_is_drawn_again_for_those_who_learn_it_here(
    validation: Validation,
) -> None:
    made = room(scan(facts=[fact()]))
    alone = replace(KEY, label=Audience.of((RED,)), validation=validation)
    async with second_chapter(made, alone) as (session, before):
        await play(session, "1?", "2?", "3?")
        await read(session)
        [drawn] = await items(session)
        assert (drawn.label, drawn.supersedes) == (EVERYONE, None)
        [stored] = await made.store.bank.items(before.id, with_all=True)
        assert stored.label == alone.label


async def test_what_is_newer_replaces_it_from_here_on_and_undo_brings_the_earlier_one_back() -> None:
    moved = fact(text="The brass key lies in the chapel, Joss says.")
    made = room(
        scan(facts=[moved]),
        answer("bank_match", {"n1": "a"}),
        answer("bank_update", {"n1": {"change": "contradicts", "text": "The brass key is in the chapel."}}),
    )
    async with second_chapter(made, KEY) as (session, before):
        await play(session, "1?", "2?", "3?")
        await read(session)
        [newer] = await items(session)
        assert (newer.supersedes, newer.text) == (KEY.id, "The brass key is in the chapel.")
        assert [one.prompt_index for one in newer.evidence] == [1], "a proof is in its own chapter"
        [older] = await made.store.bank.items(before.id)
        assert older.text == KEY.text, "the first chapter stays as it was"
        assert [one.found.item.id for one in (await recalled(made, session)).recalled] == [newer.id]
        [(_, lines)] = await session.earlier.items(await session.earlier.chapters())
        assert not lines
        await session.takes.undo()
        assert [one.found.item.id for one in (await recalled(made, session)).recalled] == [KEY.id]
        [(_, lines)] = await session.earlier.items(await session.earlier.chapters())
        assert [line.item.id for line in lines] == [KEY.id]


async def test_a_state_of_another_character_that_is_replaced_here_is_not_recalled_as_it_was() -> None:
    later = {**fact("My left arm bleeds", name="Left arm", text="The left arm is bound."), "other": ""}
    later |= {"who": "Agent Orange", "aspect": "wound", "is_over": False}
    made = room(scan(states=[later]))
    was = replace(KEY, name="Left arm", text="The left arm bleeds.", details=WOUND, about=ORANGE)
    async with second_chapter(made, was) as (session, _):
        assert [one.found.item.id for one in (await recalled(made, session)).recalled] == [was.id]
        await play(session, "1?", "2?", "3?")
        await read(session)
        [bound] = await items(session)
        assert (bound.supersedes, bound.about) == (was.id, ORANGE)
        assert [one.found.item.id for one in (await recalled(made, session)).recalled] == [bound.id]


async def test_the_words_of_the_gm_of_an_earlier_chapter_are_not_replaced() -> None:
    made = room(
        scan(facts=[fact(text="The brass key lies in the chapel, Joss says.")]),
        answer("bank_match", {"n1": "a"}),
        answer("bank_update", {"n1": {"change": "contradicts", "text": "It is in the chapel."}}),
    )
    async with second_chapter(made, replace(KEY, is_by_gm=True)) as (session, _):
        await play(session, "1?", "2?", "3?")
        await read(session)
        [beside] = await items(session)
        assert beside.supersedes is None
        found = {one.found.item.id for one in (await recalled(made, session)).recalled}
        assert found == {KEY.id, beside.id}


class Alike(ScriptedEmbedder):
    """Every text means the same."""

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        return await super().embed(["one"] * len(texts), seconds)


async def test_what_means_the_same_as_what_was_rejected_before_is_rejected_too() -> None:
    other_words = fact(name="A cupboard", text="Something opens doors hidden below grinding stones.")
    made = room(scan(facts=[other_words]))
    choice = choose_embedding(EmbeddingSettings(), accounts_of(ProfileSettings(provider="scripted")))
    assert choice is not None
    made.embedding = EmbeddingPlan(choice, Alike)
    async with second_chapter(made, replace(KEY, validation=Validation.REJECTED)) as (session, _):
        await play(session, "1?", "2?", "3?")
        await read(session)
        assert not await items(session)
        notes = [one for call in await calls(session) for one in call.left_out]
        assert notes == ["1 item was rejected in an earlier chapter: “A cupboard”"]


async def test_an_earlier_chapter_is_compared_in_the_language_that_it_is_told_in() -> None:
    made = room(scan(facts=[fact()]))
    asked: list[Scope] = []
    plain = made.store.bank.recall

    async def noted(query: Query) -> Sequence[Found]:
        asked.extend(query.scopes)
        return await plain(query)

    setattr(made.store.bank, "recall", noted)  # noqa: B010 - a method of this one store
    async with second_chapter(made, KEY, language=Language.GERMAN) as (session, before):
        await play(session, "1?", "2?", "3?")
        await read(session)
    assert {one.language for one in asked if one.session_id == before.id} == {Language.GERMAN}


async def test_a_chapter_that_is_in_no_book_asks_for_nothing_of_others() -> None:
    made = room(scan(facts=[fact()]))
    asked: list[object] = []
    bank = made.store.bank
    for name in ("replacements", "recall", "items_for_input"):
        plain = getattr(bank, name)

        async def noted(*values: Any, plain: Any = plain, **others: Any) -> Any:
            asked.append((plain.__name__, values))
            return await plain(*values, **others)

        setattr(bank, name, noted)
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        asked.clear()
        await read(session)
        assert len(await items(session)) == 1
        assert not asked
