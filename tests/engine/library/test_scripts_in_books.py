"""A chapter script that is begun anew in a book: its place, and what it takes over."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.config.models.assignments import defaults_for
from core.domain.ids import SessionId
from core.engine.engine import Engine
from core.engine.scripts.sessions import first_session
from core.exchange.scripts.chapter_script import ChapterScript, parse_chapter_script
from core.library.book import Book
from core.providers.scripted.provider import ScriptedProvider
from tests.engine.library.test_books import begun, played
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio
SCRIPT = """
title = "Dusk"
book = "The Lamp"
world = "A sea of glass."
chapter = "The lamp is out."
[[agent]]
name = "Mira"
[[prompt]]
text = "Who is there?"
"""


@pytest.fixture
def engine() -> Engine:
    return Engine(MemoryStore(), ScriptedProvider(), defaults_for("scripted"), label="here")


@pytest.fixture
def script() -> ChapterScript:
    return parse_chapter_script(SCRIPT)


async def attempted(engine: Engine, script: ChapterScript) -> SessionId:
    """Return an attempt at the script that has not ended."""
    return (await engine.find_or_create(script.key))[0]


async def book_of(engine: Engine, title: str, chapters: Sequence[SessionId]) -> Book:
    books = engine.library.books
    return await books.save(replace(await books.find_or_create(title), chapters=tuple(chapters)))


async def test_a_script_begun_anew_takes_over_nothing_of_the_chapters_behind_its_place(
    engine: Engine, script: ChapterScript
) -> None:
    attempt, later = await attempted(engine, script), await begun(engine)
    await played(engine, later, 3)
    await book_of(engine, "The Lamp", (attempt, later))
    made = await first_session(engine, script, "The Lamp", is_new=True)
    [book] = await engine.library.books.listed()
    assert book.chapters == (made, later)
    assert not (await engine.reader(made).load()).tab1.carried.lines


async def test_a_script_begun_anew_leaves_the_book_alone_that_its_attempt_was_put_into_since(
    engine: Engine, script: ChapterScript
) -> None:
    attempt = await attempted(engine, script)
    await book_of(engine, "Another", (attempt,))
    await first_session(engine, script, "The Lamp", is_new=True)
    other = await engine.library.books.find("Another")
    assert other.chapters == (attempt,)


async def test_a_script_begun_anew_takes_its_place_also_while_another_window_changes_the_book(
    engine: Engine, script: ChapterScript, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt, another = await attempted(engine, script), await engine.create()
    book = await book_of(engine, "The Lamp", (attempt,))
    store = engine.library.books._store
    put, others = store.put_book, [replace(book, chapters=(attempt, another))]

    async def late(one: Book, **more: Any) -> None:
        if others:
            await put(others.pop())
        await put(one, **more)

    monkeypatch.setattr(store, "put_book", late)
    made = await first_session(engine, script, "The Lamp", is_new=True)
    [book] = await engine.library.books.listed()
    assert book.chapters == (made, another)
