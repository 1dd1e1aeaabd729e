"""Chapters of a program without a library, in every state: they are as before, and can go into a book."""

import pytest

from core.config.models.assignments import defaults_for
from core.domain.clock import utc_now
from core.domain.session.session_state import SessionState
from core.engine.catalog import SessionCatalog
from core.exchange.session_export import from_json, read_body, to_json
from core.storage.library_store import LibraryCounts
from db.store import open_store
from tests.store.schema.older_schema import add_every_state, add_long_chapters, make_old

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("revision", ["story_0014", "story_0020", "story_0021", "story_0022", "story_0024"])
async def test_an_older_chapter_is_in_no_book_takes_over_nothing_and_hands_on_what_it_has(
    here: str, revision: str
) -> None:
    await make_old(here, revision)
    await add_every_state(here)
    await add_long_chapters(here, with_takes=True)
    store = await open_store(here)
    catalog = SessionCatalog(store, defaults_for("scripted"), label="here", clock=utc_now)
    books = catalog.library.books
    assert await catalog.library.counts() == LibraryCounts()
    sessions = {line.title: line.id for line in await store.chapters.listed()}
    assert sessions.keys() >= {*SessionState}
    for title, session_id in sessions.items():
        assert await books.of(session_id) is None
        snapshot = await store.load(session_id)
        tab1 = snapshot.tab1
        assert not tab1.carried
        assert not tab1.profiles
        assert not snapshot.lore
        if title.startswith("Long") and not title.endswith(SessionState.RESETTING):
            exported = to_json(await read_body(store, session_id))
            assert b'"carried"' not in exported
            assert b'"book"' not in exported
            assert b'"profiles"' not in exported
            assert b'"lore"' not in exported
            assert not from_json(exported).tab1.carried
    ended = sessions[f"Long {SessionState.ENDED}"]
    book = await books.add(await books.create("The Lamp"), ended)
    following = await books.next_chapter(ended)
    assert (await books.find("the lamp")).chapters == (ended, following)
    assert book.number_of(ended) == 1
    assert (await store.load(following)).tab1.carried
    await store.aclose()
