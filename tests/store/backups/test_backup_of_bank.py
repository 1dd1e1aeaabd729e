"""A memory bank comes back whole from a backup, in a new database; its vectors are made again."""

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from core.domain.bank.item import Item, ItemAccess
from core.domain.bank.recall import ItemVector, Query, Scope, query_words
from core.domain.clock import utc_now
from core.domain.ids import SessionId
from core.engine.services.save_points.save_points import SavePoints
from core.engine.services.verification import Verification
from core.storage.changes import Changes
from db.backups.dump import backup, restore
from db.store import PostgresStore, open_store
from tests.core.values.bank import walked
from tests.store import chapters
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio
MODEL = "m"


@pytest.fixture
async def kept(store: PostgresStore) -> SessionId:
    """A chapter with an item of two versions that was recalled, and one with a vector."""
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    await chapters.play(store, session, lease, 3)
    items = (walked(1, session.id), walked(2, session.id, "The mill"))
    recalled = ItemAccess(item_id=items[0].id, access_count=2, last_accessed=3)
    await store.commit(Changes(session_id=session.id, items=items, accesses=(recalled,)), lease)
    await store.bank.put([replace(items[0], version=2, is_pinned=True)])
    assert await store.bank.can_recall_by_meaning()
    await store.bank.put_vectors(MODEL, [_vector(items[1])])
    await lease.aclose()
    return session.id


def _vector(item: Item) -> ItemVector:
    return ItemVector(session_id=item.session_id, item_id=item.id, version=item.version, vector=(1.0, 0.0))


def _asked(session_id: SessionId) -> Query:
    scope = Scope(session_id=session_id, mask=1, now=4)
    words = query_words([("the mill", 1.0)])
    return Query(session_id=session_id, scopes=(scope,), words=words, vector=(1.0, 0.0), model=MODEL, limit=5)


async def _bank_of(store: PostgresStore, session_id: SessionId) -> object:
    bank = store.bank
    found = await bank.recall(replace(_asked(session_id), vector=None))
    return [
        await bank.items(session_id, with_all=True),
        await bank.history(session_id),
        await bank.accesses(session_id),
        [(one.item, one.words) for one in found],
    ]


async def _faults(store: PostgresStore) -> list[str]:
    """Return what does not hold: something does not in a chapter that was put together by hand."""
    slots = SavePoints(store, utc_now)
    found = [fault.text async for fault in Verification(store, slots, lambda _: None).faults()]
    assert not [text for text in found if "item" in text]
    return found


@pytest.fixture
async def saved(url: str, kept: SessionId, tmp_path: Path) -> Path:
    """A backup of the chapter."""
    file = tmp_path / "saved.backup"
    await backup(url, file)
    return file


async def test_a_bank_is_restored_into_a_new_database_and_gets_its_vectors_again(
    store: PostgresStore, kept: SessionId, saved: Path, here: str
) -> None:
    await restore(here, saved)
    with psycopg.connect(plain_url(here)) as raw:
        assert raw.execute("SELECT to_regclass('bank_vector')").fetchone() == (None,)
    again = await open_store(here)
    assert await _bank_of(again, kept) == await _bank_of(store, kept)
    assert await again.bank.can_recall_by_meaning()
    missing = await again.bank.unembedded([kept], MODEL, 5)
    assert {item.id for item in missing} == {walked(1, kept).id, walked(2, kept).id}
    await again.bank.put_vectors(MODEL, [_vector(item) for item in missing])
    assert all(one.similarity is not None for one in await again.bank.recall(_asked(kept)))
    assert await _faults(again) == await _faults(store)
    await again.aclose()


async def test_a_backup_over_a_bank_that_has_vectors_leaves_none_of_them(
    url: str, store: PostgresStore, kept: SessionId, saved: Path
) -> None:
    before = await _bank_of(store, kept)
    await store.bank.put([replace(walked(2, kept, "The burnt mill"), version=2)])
    await restore(url, saved, replace=True)
    again = await open_store(url)
    assert await _bank_of(again, kept) == before
    assert {item.version for item in await again.bank.unembedded([kept], MODEL, 5)} == {1, 2}
    await again.aclose()


async def test_a_window_that_was_open_recalls_what_the_restored_bank_has(
    url: str, store: PostgresStore, kept: SessionId, saved: Path
) -> None:
    item = walked(2, kept, "The mill")
    for text in ("The mill burnt down.", "The mill stands by the sea."):
        await store.bank.put([replace(item, version=2, text=text, updated_at=utc_now())])
        found = await store.bank.recall(_asked(kept))
        assert [one.item.text for one in found if one.item.id == item.id] == [text]
        await restore(url, saved, replace=True)
