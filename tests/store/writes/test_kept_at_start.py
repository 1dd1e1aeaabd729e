"""What files keep is stored by the next start of any command, not only where its chapter is opened."""

import asyncio
from pathlib import Path
from typing import Any

import psycopg
import pytest

from core.domain.ids import SessionId, new_uuid
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import Lease, WriterInfo
from db.kept_at_start import store_kept, store_kept_before_copy
from db.store import PostgresStore
from db.writes import writer_lock
from tests.store.chapters import locked_session
from tests.store.servers import plain_url
from tests.store.writes.test_unstored_commits import called, fail, files, start

pytestmark = pytest.mark.anyio


async def kept(store: PostgresStore) -> tuple[Changes, Lease]:
    """Keep the reply of a chapter, which its writer has not given back yet."""
    session, lease = await locked_session(store)
    changes = await called(store, session, lease)
    await fail(store, changes, lease)
    return changes, lease


async def test_a_start_stores_what_is_kept_of_every_chapter(url: str, tmp_path: Path) -> None:
    async with start(url, tmp_path) as store:
        both = [await kept(store) for _ in range(2)]
        for _, lease in both:
            await lease.aclose()
    async with start(url, tmp_path) as store:
        await store_kept(store, tmp_path, "a start")
        assert not files(tmp_path)
        for changes, _ in both:
            assert list(await store.log(changes.session_id)) == list(changes.events)
            assert list(await store.calls.artifacts(changes.session_id)) == list(changes.artifacts)
            assert await store.writer_of(changes.session_id) is None, "it is not held"


async def test_a_start_leaves_what_is_kept_to_the_window_that_has_the_chapter_open(
    url: str, tmp_path: Path
) -> None:
    async with start(url, tmp_path) as store, start(url, tmp_path) as beside:
        changes, lease = await kept(store)
        await store_kept(beside, tmp_path, "a start")
        assert len(files(tmp_path)) == 1
        await store.commit(changes, lease)
        assert not files(tmp_path)
        await lease.aclose()


async def test_a_window_that_wants_its_chapter_waits_for_a_start_that_stores_what_is_kept_of_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the window would be locked out after an outage, or show a chapter that it may only read."""
    async with start(url, tmp_path) as window, start(url, tmp_path) as beside:
        changes, lease = await kept(window)
        await lease.aclose()
        is_storing, may_store = asyncio.Event(), asyncio.Event()
        send = beside._unstored._send

        async def wait(write: Any) -> Any:
            is_storing.set()
            await may_store.wait()
            return await send(write)

        monkeypatch.setattr(beside._unstored, "_send", wait)
        storing = asyncio.create_task(store_kept(beside, tmp_path, "a start"))
        await is_storing.wait()

        async def pause() -> None:
            may_store.set()
            await storing

        monkeypatch.setattr(writer_lock, "_pause", pause)
        try:
            acquired = await window.acquire(changes.session_id, "a window")
        finally:
            may_store.set()
            await storing
        assert not isinstance(acquired, WriterInfo)
        await acquired.aclose()
        assert list(await window.log(changes.session_id)) == list(changes.events)


async def test_a_second_start_does_not_wait_for_one_that_stores_what_is_kept(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pause() -> None:
        pytest.fail("it waited")

    monkeypatch.setattr(writer_lock, "_pause", pause)
    async with start(url, tmp_path) as store, start(url, tmp_path) as beside:
        changes, lease = await kept(store)
        await lease.aclose()
        [kept_file] = files(tmp_path)
        kept_file.rename(hidden := tmp_path.with_name("hidden.json"))
        acquired = await store.acquire(changes.session_id, "a start", is_window=False)
        assert not isinstance(acquired, WriterInfo)
        hidden.rename(kept_file)
        await store_kept(beside, tmp_path, "another start")
        assert files(tmp_path) == [kept_file]
        await acquired.aclose()


async def test_what_is_kept_of_a_chapter_of_another_database_waits_and_holds_up_no_other(
    url: str, tmp_path: Path
) -> None:
    async with start(url, tmp_path) as store:
        changes, lease = await kept(store)
        await lease.aclose()
        [file] = files(tmp_path)
        foreign = tmp_path / file.name.replace(str(changes.session_id), str(SessionId(new_uuid())))
        early = tmp_path / file.name.replace(str(changes.session_id), "00000000-0000-7000-8000-000000000001")
        no_id = tmp_path / file.name.replace(str(changes.session_id), "-" * 36)
        for other in (foreign, early, no_id):
            other.write_text(file.read_text())
        await store_kept(store, tmp_path, "a start")
        assert set(files(tmp_path)) == {foreign, early, no_id}


@pytest.mark.parametrize("is_older", [False, True], ids=["of this schema", "of an older one"])
async def test_a_copy_of_the_database_has_what_is_kept_unless_its_schema_is_older(
    url: str, tmp_path: Path, *, is_older: bool
) -> None:
    async with start(url, tmp_path) as store:
        changes, lease = await kept(store)
        await lease.aclose()
        if is_older:
            with psycopg.connect(plain_url(url), autocommit=True) as connection:
                connection.execute("UPDATE alembic_version SET version_num = 'story_0035'")
        await store_kept_before_copy(url, tmp_path, "a backup")
        assert len(files(tmp_path)) == int(is_older)
        assert bool(await store.log(changes.session_id)) is not is_older
        assert (await store.load(changes.session_id)).unsent.get(Slot.RED) is None


async def test_a_start_without_a_kept_file_asks_the_database_nothing(tmp_path: Path) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/nothing"
    await store_kept_before_copy(nowhere, tmp_path / "unstored", "a backup")
