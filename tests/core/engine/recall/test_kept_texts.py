"""Several searches of one screen: texts are read once, and are never those of a story that has changed."""

import asyncio
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.config.models.assignments import defaults_for
from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.recall.hits import SearchedChapter
from core.engine.recall.search import search
from core.engine.recall.texts import HitPlace, KeptTexts
from core.engine.recall.words import letters_of
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from core.text.graphemes import composed
from tests.store import chapters
from tests.store.in_memory.memory_store import MemoryStore


class CountingStore(MemoryStore):
    """Counts how often all of a story is read, and may hold that up."""

    def __init__(self) -> None:
        super().__init__()
        self.readings = 0
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.is_reading = asyncio.Event()

    async def canon(
        self, session_id: SessionId, *, first: int = 0, last: int | None = None
    ) -> Sequence[Event]:
        if not first and last is None:
            self.readings += 1
            self.is_reading.set()
            await self.may_go_on.wait()
        return await super().canon(session_id, first=first, last=last)


async def texts_found(store: MemoryStore, session_id: SessionId, words: str, texts: KeptTexts) -> list[str]:
    found = await search(store, [session_id], words, texts=texts)
    return [hit.text for hit in found.hits if hit.place is HitPlace.TRANSCRIPT]


@pytest.mark.anyio
async def test_a_story_is_read_once_for_the_searches_of_one_screen_and_again_when_it_goes_on() -> None:
    store = CountingStore()
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 2)
    texts = KeptTexts(store)
    for words in ("wal", "walk", "walk on"):
        assert await texts_found(store, session.id, words, texts) == ["I walk on."] * 2
    assert store.readings == 1
    await chapters.play(store, session, lease, 1)
    assert await texts_found(store, session.id, "walk", texts) == ["I walk on."] * 3
    assert store.readings == 2
    await lease.aclose()


@pytest.mark.anyio
async def test_what_was_taken_back_is_not_found_by_the_next_letter() -> None:
    store = CountingStore()
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    handle = await engine.open(await engine.create())
    await handle.edits.edit_tab1(Tab1Edit(world="A cold sea.", names={Slot.RED: "Kara"}))
    await handle.wait(await handle.lock())
    await handle.wait(await handle.submit_prompt(Slot.RED, "Where is the brass key?"))
    texts = engine.keep_texts()
    assert (await engine.search([handle.id], "brass", texts=texts)).hits
    await handle.takes.undo()
    assert not (await engine.search([handle.id], "brass k", texts=texts)).hits
    await handle.takes.redo()
    hits = (await engine.search([handle.id], "brass key", texts=texts)).hits
    assert "Where is the brass key?" in {hit.text for hit in hits}
    await handle.aclose()
    await store.chapters.archive(handle.id, chapters.NOW)
    await store.chapters.purge(handle.id)
    with pytest.raises(StorageError):
        await engine.search([handle.id], "brass key", texts=texts)
    assert not texts._kept, "nothing of a purged chapter is kept"
    await engine.aclose()


@pytest.mark.anyio
async def test_a_name_that_has_changed_is_not_told_as_it_was() -> None:
    store = CountingStore()
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 1)
    texts = KeptTexts(store)
    [hit] = (await search(store, [session.id], "walk", texts=texts)).hits
    session = replace(session, names={**session.names, Slot.RED: "Nobody"})
    await store.commit(Changes(session_id=session.id, session=session), lease)
    [other] = (await search(store, [session.id], "walk", texts=texts)).hits
    assert (hit.who, other.who) != ("Nobody", hit.who)
    assert other.who == "Nobody"
    await lease.aclose()


@pytest.mark.anyio
async def test_letters_that_are_typed_while_the_story_is_read_wait_for_the_same_reading() -> None:
    store = CountingStore()
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 1)
    texts = KeptTexts(store)
    store.may_go_on.clear()
    first = asyncio.create_task(texts_found(store, session.id, "w", texts))
    await store.is_reading.wait()
    first.cancel()
    await asyncio.wait([first])
    second = asyncio.create_task(texts_found(store, session.id, "walk", texts))
    await asyncio.sleep(0)
    store.may_go_on.set()
    assert await second == ["I walk on."]
    assert store.readings == 1
    texts.close()
    assert not texts._kept
    await lease.aclose()


@pytest.mark.anyio
async def test_a_search_for_which_nobody_waits_any_more_gives_up_its_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 1)
    has_begun, has_given_up = threading.Event(), threading.Event()

    def hits(chapter: SearchedChapter, matches: Any, near: Any, is_given_up: Any) -> list[Any]:
        has_begun.set()
        while not is_given_up():
            pass
        has_given_up.set()
        return []

    monkeypatch.setattr(SearchedChapter, "hits", hits)
    task = asyncio.create_task(search(store, [session.id], "walk"))
    assert await asyncio.to_thread(has_begun.wait, 30)
    task.cancel()
    assert await asyncio.to_thread(has_given_up.wait, 30)
    await asyncio.wait([task])
    await lease.aclose()


def test_no_text_that_has_the_words_is_passed_over_for_its_letters() -> None:
    """Compares with `re` for each letter and those that it takes for the same one."""
    everything = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    cased = {char for char in everything if char.lower() != char or char.upper() != char}
    text = "".join({form for char in cased for form in (char, *char.lower(), *char.upper())})
    for letter in map(composed, cased):
        for same in re.findall(re.escape(letter), text, re.IGNORECASE):
            assert letters_of(letter) in letters_of(f"~{same}"), (letter, same)
