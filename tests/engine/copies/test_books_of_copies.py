"""A copy of a chapter in a book: which chapters are before it (design 14)."""

import pytest

from core.config.models.assignments import defaults_for
from core.engine.engine import Engine
from core.providers.scripted.provider import ScriptedProvider
from db.store import PostgresStore
from tests.engine.windows import chapter, play

pytestmark = pytest.mark.anyio


async def test_a_restored_chapter_of_a_book_has_the_chapters_before_the_one_that_it_comes_from(
    store: PostgresStore,
) -> None:
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    async with chapter(store) as session:
        await play(session, 1)
        books, slots, copy = engine.library.books, engine.save_points, session.id
        first = await engine.create()
        await books.add(await books.add(await books.create("The Lamp"), first), session.id)
        for _ in range(2):
            copy = await slots.restore(copy, (await slots.keep(copy, "Mine")).number)
            [earlier] = await store.bank.earlier_chapters(copy)
            assert (earlier.session_id, earlier.number) == (first, 1)
            assert await books.of(copy) is None
