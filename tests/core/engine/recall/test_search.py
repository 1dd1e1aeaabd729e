"""The GM's search: what is found where, and in which order."""

from collections.abc import Collection
from dataclasses import replace
from typing import Literal
from unicodedata import normalize
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.audience import Audience
from core.domain.bank.details import PersonDetails
from core.domain.bank.pieces import PieceVector
from core.domain.bank.recall import MOST_WITH_A_WORD, ItemVector
from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.memory import (
    SECTION_TITLES,
    BlockType,
    TurnDelta,
    WorldChapterLock,
    correction_payload,
)
from core.engine.recall.asking import Meaning
from core.engine.recall.hits import MOST_HITS, excerpt_of
from core.engine.recall.search import search
from core.engine.recall.texts import ChapterTexts, HitPlace, lacking_pieces
from core.engine.recall.words import matcher_of
from core.storage.changes import Changes
from core.storage.session_store import Lease
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean_line
from tests.core.values.bank import fact
from tests.store import chapters
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


async def test_words_are_found_in_story_memory_and_bank_whoever_may_know_them() -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    private = fact(1, session_id=session.id, label=Audience.of((Slot.BLUE,)), text="The brass KEY is his.")
    await store.commit(Changes(session_id=session.id, items=(private,)), lease)
    [prompt, *_] = [event for event in await store.canon(session.id) if event.prompt_index == 2]
    word = prompt.text.split()[-1].strip(".")
    hits = (await search(store, [session.id], f"{word[:3].upper()} ")).hits
    assert {hit.place for hit in hits} >= {HitPlace.TRANSCRIPT}
    said = next(hit for hit in hits if hit.place is HitPlace.TRANSCRIPT)
    assert said.text[said.start : said.end].casefold().startswith(word[:3].casefold())
    assert (said.prompt, int(said.source)) in {event.place for event in await store.canon(session.id)}
    numbers = [hit.prompt for hit in hits if hit.place is HitPlace.TRANSCRIPT]
    assert numbers == sorted(numbers, key=lambda number: -(number or 0)), "the newest come first"
    [found] = (await search(store, [session.id], "brass key")).hits
    assert (found.place, found.prompt, found.text) == (HitPlace.BANK, 3, private.text)
    assert found.source == str(private.id)
    assert not (await search(store, [session.id], "  ")).hits
    assert not (await search(store, [session.id], "zeppelin")).hits
    await lease.aclose()


async def test_items_are_found_by_how_a_word_begins_and_by_one_that_very_many_have() -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    many = [fact(number, session_id=session.id) for number in range(1, MOST_WITH_A_WORD + 2)]
    wanted = replace(many[7], details=PersonDetails(relationship="harbourmaster"), text="She has a lantern.")
    await store.commit(Changes(session_id=session.id, items=(*many[:7], wanted, *many[8:])), lease)
    for words in ("lanter", "brass lantern", "harbourm"):
        found, _ = await search(store, [session.id], words)
        assert [(hit.source, hit.instead) for hit in found] == [(str(wanted.id), "")], words
    assert len((await search(store, [session.id], "brass")).hits) == MOST_HITS
    await lease.aclose()


async def with_item(vector: tuple[float, float]) -> tuple[MemoryStore, Session, Lease]:
    """Store a chapter of three prompts that has one item, with this meaning."""
    store = MemoryStore()
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    item = fact(1, session_id=session.id)
    await store.commit(Changes(session_id=session.id, items=(item,)), lease)
    meaning = ItemVector(session_id=session.id, item_id=item.id, version=1, vector=vector)
    await store.bank.put_vectors("m", [meaning])
    return store, session, lease


async def asked(text: str) -> Meaning:
    """Return the meaning that is asked about, whatever the text."""
    return Meaning((1.0, 0.0), "m")


async def test_items_are_found_by_meaning_and_come_first_and_lead_to_the_events_that_prove_them() -> None:
    store, session, lease = await with_item((1.0, 0.0))
    [found, said] = (await search(store, [session.id], "something that opens a door", asked)).hits
    assert found.similarity == pytest.approx(1.0)
    assert (found.by_meaning, said.by_meaning) == ("≈1.00 ", "≈1.00 ")
    [by_both, *_] = (await search(store, [session.id], "the key", asked)).hits
    assert (by_both.similarity, by_both.by_meaning) == (found.similarity, ""), "it has the words"
    # The event that proves it is found with it, where its take is canon.
    [proof] = fact(1, session_id=session.id).evidence
    assert (said.place, said.prompt, int(said.source)) == (
        HitPlace.TRANSCRIPT,
        proof.prompt_index,
        proof.ordinal,
    )
    assert (said.start, said.end, said.similarity) == (proof.start, proof.end, found.similarity)
    await lease.aclose()


async def test_chapters_that_cannot_be_read_are_named_and_the_others_of_the_book_are_searched() -> None:
    store, session, lease = await with_item((1.0, 0.0))
    lost = SessionId(UUID(int=7))
    for chosen, chapter in (([lost, session.id], 2), ([session.id, lost], 1)):
        found = await search(store, chosen, "brass key", asked)
        assert {hit.chapter for hit in found.hits} == {chapter}
        assert found.gap == f"chapter {3 - chapter} cannot be read"
    assert (await search(store, [session.id], "brass key")).gap == ""
    with pytest.raises(StorageError):
        await search(store, [lost, lost], "brass key")
    await lease.aclose()


async def test_a_database_that_is_away_is_no_chapter_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, session, lease = await with_item((1.0, 0.0))
    load = store.load

    async def is_away(session_id: SessionId) -> Snapshot:
        if session_id != session.id:
            raise StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The database is away.", is_transient=True)
        return await load(session_id)

    monkeypatch.setattr(store, "load", is_away)
    with pytest.raises(StorageError, match="is away"):
        await search(store, [session.id, SessionId(UUID(int=7))], "brass key")
    await lease.aclose()


async def test_chapters_of_a_book_are_numbered_and_one_without_a_bank_is_searched_too() -> None:
    store = MemoryStore()
    first, first_lease = await chapters.locked_session(store)
    first = await chapters.play(store, first, first_lease, 1)
    second, second_lease = await chapters.locked_session(store)
    second = await chapters.play(store, second, second_lease, 1)
    [event, *_] = await store.canon(second.id, first=1)
    hits = (await search(store, [first.id, second.id], event.text[:12])).hits
    assert {hit.chapter for hit in hits if hit.place is HitPlace.TRANSCRIPT} == {1, 2}
    await first_lease.aclose()
    await second_lease.aclose()


async def test_story_memory_and_drafts_are_found_by_meaning_at_the_nearest_piece() -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    [(_, gate)] = await lacking_pieces(store, [session.id], "m")
    assert gate.text == "the gate is shut", "shorter lines say too little"
    made = [PieceVector(gate.hash, (1.0, 0.0))]
    await store.bank.put_piece_vectors(session.id, "m", made)
    assert not await lacking_pieces(store, [session.id], "m"), "each has its vector"
    assert await lacking_pieces(store, [session.id], "other"), "another model makes others"

    async def embed(text: str) -> Meaning:
        return Meaning((1.0, 0.0), "m")

    found = (await search(store, [session.id], "zeppelins of another word", embed)).hits
    assert {(hit.place, hit.text, hit.similarity) for hit in found} == {(HitPlace.MEMORY, gate.text, 1.0)}
    hits = (await search(store, [session.id], "gate", embed)).hits
    assert {hit.similarity for hit in hits} == {None}, "what has the words is there once"
    await lease.aclose()


async def test_what_has_the_words_comes_before_what_has_their_meaning_alone() -> None:
    store, session, lease = await with_item((0.4, 0.9))
    hits = (await search(store, [session.id], "gate shut", asked)).hits
    assert hits[0].text == "the gate is shut"
    assert [hit.has_words for hit in hits] == sorted((hit.has_words for hit in hits), reverse=True)
    assert hits[-1].by_meaning.startswith("≈0.4"), "the item has its meaning alone"
    await lease.aclose()


async def test_hits_in_memory_say_which_block_and_which_section_of_it_has_them() -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 2)
    said = correction_payload("The gate is open.", 2)
    correction = replace(
        chapters.delta(session, 1, 2),
        type=BlockType.CANON_CORRECTION,
        first=0,
        last=0,
        payload=said,
        ordinal=1,
    )
    session = replace(session, canon_version=session.canon_version + 1)
    await store.commit(Changes(session_id=session.id, session=session, blocks=(correction,)), lease)
    hits = (await search(store, [session.id], "the gate")).hits
    assert [(hit.prompts, hit.who) for hit in hits if hit.place is HitPlace.MEMORY] == [
        ("correction after prompt 2", ""),
        ("world and chapter", "Canon"),
    ]
    delta = replace(chapters.delta(session, 1, 7), payload={"canon_locks": ["a"], "n": {"b": ["c", "d"]}})
    texts = ChapterTexts(session, (), (delta,), ()).texts(HitPlace.MEMORY)
    assert [(text.told, text.who, text.part, text.text) for text in texts] == [
        ("prompts 1–7", "Canon", 0, "a"),
        ("prompts 1–7", "n", 1, "c"),
        ("prompts 1–7", "n", 2, "d"),
    ]
    whispered = replace(delta, payload={"canon_locks": ["e"]}, audience=Audience.of([Slot.RED]))
    [text] = ChapterTexts(session, (), (whispered,), ()).texts(HitPlace.MEMORY)
    assert text.told == f"prompts 1–7 for {session.name_of(Slot.RED)}"
    await lease.aclose()


async def test_a_chapter_without_a_bank_has_no_pieces_to_be_made_into_vectors() -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 1)
    assert not await lacking_pieces(store, [session.id], "m")
    await lease.aclose()


async def test_a_name_that_is_spelled_otherwise_finds_what_has_the_name() -> None:
    store = MemoryStore()
    names = {Slot.RED: "Kara", Slot.ORANGE: "Bea"}
    session, lease = await chapters.locked_session(store, keeps_bank=True, names=names)
    session = await chapters.play(store, session, lease, 3)
    item = fact(1, session_id=session.id)
    person = replace(fact(2, session_id=session.id), name="Old Tobias", details=PersonDetails())
    await store.commit(Changes(session_id=session.id, items=(item, person)), lease)
    found = (await search(store, [session.id], "Karra hid")).hits
    assert {hit.instead for hit in found} == {"Kara hid"}
    assert item.text in {hit.text for hit in found}
    [said] = {hit.instead for hit in (await search(store, [session.id], "tobbias")).hits}
    assert said == "Tobias", "the people of the bank have names too"
    assert not {hit.instead for hit in (await search(store, [session.id], "Kara hid")).hits} - {""}
    assert not (await search(store, [session.id], "zeppelin")).hits
    await lease.aclose()


async def test_each_chapter_is_loaded_once_for_a_search_whatever_it_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store, keeps_bank=True, names={Slot.RED: "Kara"})
    await lease.aclose()
    loads: list[object] = []
    load = store.load

    async def noted(session_id: SessionId) -> Snapshot:
        loads.append(session_id)
        return await load(session_id)

    monkeypatch.setattr(store, "load", noted)
    await search(store, [session.id], "Karra hid")
    assert loads == [session.id]


async def test_the_names_of_the_banks_of_a_book_are_asked_for_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A book may have tens of thousands of people and places, whose items take seconds to read."""
    store = MemoryStore()
    made = [await chapters.locked_session(store, keeps_bank=keeps_bank) for keeps_bank in (True, False, True)]
    ids, asked = [session.id for session, _ in made], list[object]()

    async def noted(session_ids: Collection[SessionId]) -> Collection[str]:
        asked.append(session_ids)
        return ("Old Tobias",)

    monkeypatch.setattr(store.bank, "all_names", noted)
    await search(store, ids, "tobbias")
    assert asked == [[ids[0], ids[2]]]
    for _, lease in made:
        await lease.aclose()


@given(text=st.text(max_size=80), words=st.text(max_size=20))
def test_a_search_never_fails_and_finds_what_it_says(text: str, words: str) -> None:
    matches = matcher_of(clean_line(words))
    place = matches(text) if matches else None
    if place is not None:
        assert 0 <= place[0] < place[1] <= len(text)
        assert excerpt_of(text, place[0]) is not None
    assert matcher_of("   ") is None


def test_an_excerpt_begins_with_a_whole_word() -> None:
    text = "Nobody is to leave the stage until the pearls are found."
    at = text.index("pearls")
    for room in range(at):
        excerpt = excerpt_of(text, at, room)
        before = excerpt.removeprefix("…").partition("pearls")[0]
        assert excerpt.startswith("…")
        assert before == "" or f" {before}" in text
    assert excerpt_of(text, at, at) == text
    assert excerpt_of("洪" * 9 + "水", 9, 3) == "…洪洪洪水"
    # A blank somewhere in such a text takes nothing away.
    told = "洪" * 90 + " 洪"
    assert excerpt_of(told + "水", len(told), 60) == f"…{'洪' * 58} 洪水"


def test_every_section_of_memory_has_the_title_that_tab_3_gives_it() -> None:
    sections = {*WorldChapterLock.model_fields, *TurnDelta.model_fields} - {"memory_type", "range"}
    assert set(SECTION_TITLES) == sections


@pytest.mark.parametrize("typed", ['"brass key"', "“brass key”", "brass key.", "(Brass, keys?)", "「key」"])
def test_marks_around_words_do_not_count(typed: str) -> None:
    matches = matcher_of(typed)
    assert matches is not None
    assert matches("The brass keys")


def test_a_search_of_marks_alone_looks_for_these() -> None:
    matches = matcher_of("…")
    assert matches is not None
    assert matches.words == ["…"]


def test_all_words_must_begin_a_word() -> None:
    matches = matcher_of("bra key")
    assert matches is not None
    assert matches("The Brass keys") == (4, 9), "the whole word is found"
    assert matches("umbra key") is None
    assert matches("brass") is None


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_search_finds_a_letter_and_its_accent_written_as_one_character_or_as_two(
    form: Literal["NFC", "NFD"], typed: Literal["NFC", "NFD"]
) -> None:
    text = normalize(form, "Zwölf Cafés öffnen früh.")
    matches = matcher_of(normalize(typed, "café frü"))
    assert matches is not None
    place = matches(text)
    assert place is not None
    assert normalize("NFC", text[slice(*place)]) == "Cafés"
    other = matcher_of(normalize(typed, "lf"))
    assert other is not None
    assert other(text) is None, "a word does not begin after an accent"


@pytest.mark.parametrize(
    ("words", "text", "found"),
    [
        ("老师", "我们的老师来了", "老师"),
        ("鍵", "銅の鍵と灯", "鍵"),
        ("ตลาด", "ฉันไปตลาดกับเพื่อน", "ตลาด"),
        ("Kara", "彼はKaraを見た", "Kara"),
        ("राज", "वह राजा है", "राजा"),
        ("ज", "राजा", None),
    ],
)
def test_a_word_begins_as_its_script_has_it(words: str, text: str, found: str | None) -> None:
    matches = matcher_of(words)
    assert matches is not None
    place = matches(text)
    assert (place and text[slice(*place)]) == found


async def test_items_are_found_by_a_word_within_a_text_without_spaces() -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    item = fact(1, session_id=session.id, text="銅の鍵は水車の下にあります。")
    await store.commit(Changes(session_id=session.id, items=(item,)), lease)
    [found] = (await search(store, [session.id], "水車")).hits
    assert (found.place, found.source, found.has_words) == (HitPlace.BANK, str(item.id), True)
    assert not (await search(store, [session.id], "風車")).hits
    await lease.aclose()
