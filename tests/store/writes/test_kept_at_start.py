"""What files keep is stored by the next start of any command, not only where its chapter is opened."""

from pathlib import Path

import psycopg
import pytest

from core.domain.ids import SessionId, new_uuid
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import Lease
from db.kept_at_start import store_kept, store_kept_before_copy
from db.store import PostgresStore
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
            assert list(await store.artifacts(changes.session_id)) == list(changes.artifacts)
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


async def test_what_is_kept_of_a_chapter_of_another_database_waits_and_holds_up_no_other(
    url: str, tmp_path: Path
) -> None:
    async with start(url, tmp_path) as store:
        changes, lease = await kept(store)
        await lease.aclose()
        [file] = files(tmp_path)
        foreign = tmp_path / file.name.replace(str(changes.session_id), str(SessionId(new_uuid())))
        early = tmp_path / file.name.replace(str(changes.session_id), "00000000-0000-7000-8000-000000000001")
        for other in (foreign, early):
            other.write_text(file.read_text())
        await store_kept(store, tmp_path, "a start")
        assert set(files(tmp_path)) == {foreign, early}


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
