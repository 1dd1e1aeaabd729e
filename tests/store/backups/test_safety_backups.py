"""What is there before a restore is backed up, and no restore costs the GM a backup that still counts."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import URL

from core.config.files.paths import Paths
from core.config.settings import load_settings
from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import BookId, new_uuid
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.library.book import Book
from core.storage.changes import Changes
from core.storage.session_store import Lease
from db.backups import client_programs
from db.backups.dump import backup, restore
from db.store import PostgresStore, open_store
from storyengine_tui.bootstrap import KEPT_BEFORE_RESTORES, Configuration, restore_backup
from tests.store import chapters
from tests.store.backups.test_backup import before_it_replaces
from tests.store.servers import cloned

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def file(template: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a database with a chapter of two prompts."""
    target = tmp_path_factory.mktemp("backups") / "chapters.dump"

    async def make(url: str) -> None:
        async with aclosing(await open_store(url)) as store:
            await chapters.play(store, *await chapters.locked_session(store), 2)
            await backup(url, target)

    for url in cloned(template):
        asyncio.run(make(url))
    return target


@pytest.fixture
def configuration(url: str, tmp_path: Path) -> Configuration:
    """The configuration of a program whose database has no rows."""
    settings = load_settings(tmp_path / "none.toml").model_copy(update={"database_url": SecretStr(url)})
    return Configuration(Paths(*[tmp_path / "program"] * 4), settings)


def cut(file: Path, directory: Path) -> Path:
    """Return a copy of the file that ends early."""
    damaged = directory / "damaged"
    damaged.write_bytes(file.read_bytes()[:1_000])
    return damaged


async def begin_chapter(url: str) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.chapters.create(chapters.creation(chapters.new_session()))


def kept_before(configuration: Configuration, file: Path) -> list[Path]:
    """Fill the directory with as many copies of a backup as it keeps, oldest first."""
    directory = configuration.paths.backups
    directory.mkdir(parents=True)
    names = [f"storyengine-2026010{day}T000000.000000Z.dump" for day in range(1, 1 + KEPT_BEFORE_RESTORES)]
    return [Path(shutil.copy(file, directory / name)) for name in names]


async def test_the_oldest_backup_that_is_kept_before_restores_can_be_restored_and_stays(
    file: Path, configuration: Configuration, url: str
) -> None:
    await begin_chapter(url)
    kept = oldest, *_ = kept_before(configuration, file)
    before = await restore_backup(configuration, oldest, replace=True)
    assert before is not None
    there = sorted(configuration.paths.backups.iterdir())
    assert there == [*kept, before], "what was restored is not removed by its own restore"
    async with aclosing(await open_store(url)) as store:
        [line] = await store.chapters.listed()
        assert line.prompt_index == 2


async def test_a_restore_whose_upgrade_fails_names_the_backup_of_what_was_there(
    file: Path, configuration: Configuration, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object) -> None:
        raise StorageError(ErrorCode.STORAGE_LOAD_FAILED, hint="The disk is full.")

    await begin_chapter(url)
    monkeypatch.setattr("db.backups.dump.upgrade", fail)
    with pytest.raises(StorageError, match="The backup is restored, but") as failed:
        await restore_backup(configuration, file, replace=True)
    [before] = configuration.paths.backups.iterdir()
    assert failed.value.hint == f"The disk is full. What was there before the restore is in {before}."


async def test_a_restore_that_is_refused_removes_no_backup_that_was_kept(
    file: Path, configuration: Configuration, url: str, tmp_path: Path
) -> None:
    await begin_chapter(url)
    kept = kept_before(configuration, file)
    with pytest.raises(StorageError, match="nothing was changed"):
        await restore_backup(configuration, cut(file, tmp_path), replace=True)
    assert sorted(configuration.paths.backups.iterdir()) == kept


async def say_more(url: str) -> None:
    """Open the chapter and store what is typed there."""
    async with aclosing(await open_store(url)) as store:
        [line] = await store.chapters.listed()
        lease = await chapters.taken(store, line.id)
        await store.commit(Changes(session_id=line.id, unsent={Slot.RED: "later"}), lease)


async def make_book(url: str) -> None:
    async with aclosing(await open_store(url)) as store:
        now = utc_now()
        await store.library.put_book(Book(id=BookId(new_uuid()), title="Ash", created_at=now, updated_at=now))


@pytest.mark.parametrize("write", [say_more, make_book, begin_chapter])
async def test_a_restore_drops_nothing_that_a_window_wrote_after_the_backup_before_it(
    write: Callable[[str], Awaitable[object]],
    file: Path,
    configuration: Configuration,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await begin_chapter(url)
    async with aclosing(await open_store(url)) as store:
        with monkeypatch.context() as patch:
            before_it_replaces(patch, lambda: write(url))
            with pytest.raises(StorageError, match="nothing was changed") as refused:
                await restore_backup(configuration, file, replace=True)
            assert "another window has written meanwhile" in refused.value.hint
        assert (await store.chapters.listed())[0].prompt_index == 0, "what it wrote is there"
        assert await restore_backup(configuration, file, replace=True)
        [line] = await store.chapters.listed()
        assert line.prompt_index == 2


async def test_a_library_without_a_chapter_is_replaced_only_when_asked_and_is_backed_up_first(
    file: Path, configuration: Configuration, url: str
) -> None:
    await make_book(url)
    with pytest.raises(StorageError, match="holds a library; nothing was changed"):
        await restore_backup(configuration, file, replace=False)
    async with aclosing(await open_store(url)) as store:
        assert len(await store.library.books()) == 1
        before = await restore_backup(configuration, file, replace=True)
        assert before is not None
        assert not await store.library.books()
        await restore_backup(configuration, before, replace=True)
        assert len(await store.library.books()) == 1
        assert not await store.chapters.listed()


async def test_a_library_that_is_begun_while_a_backup_is_restored_is_not_lost(
    file: Path, configuration: Configuration, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with aclosing(await open_store(url)) as store:
        before_it_replaces(monkeypatch, lambda: make_book(url))
        with pytest.raises(StorageError, match="nothing was changed") as refused:
            await restore_backup(configuration, file, replace=False)
        assert "another window has begun a chapter or a library meanwhile." in refused.value.hint
        assert len(await store.library.books()) == 1


async def test_a_restore_sets_nothing_that_a_server_of_version_16_does_not_know(
    file: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = client_programs.run
    scripts: list[str] = []

    async def reading(name: str, url: URL, arguments: list[str | Path], **more: Any) -> str:
        if name == "psql":
            scripts.append(more["given"].read().decode())
            more["given"].seek(0)
        return await run(name, url, arguments, **more)

    monkeypatch.setattr(client_programs, "run", reading)
    await restore(url, file)
    [script] = scripts
    settings = [line for line in script.splitlines() if line.startswith("SET ")]
    assert "SET lock_timeout = 0;" in settings
    assert not [line for line in settings if "transaction_timeout" in line and "idle" not in line]


async def test_a_window_that_follows_a_chapter_hears_that_it_was_restored(
    url: str, store: PostgresStore, locked: tuple[Session, Lease], tmp_path: Path
) -> None:
    file = tmp_path / "chapters.dump"
    await backup(url, file)
    async with store.follow(locked[0].id) as changes, asyncio.timeout(60):
        await restore(url, file, replace=True)
        assert await anext(changes), "items of its memory bank are others too"
