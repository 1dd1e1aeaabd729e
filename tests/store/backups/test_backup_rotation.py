"""Backups in a directory: the newest few, and nothing else of the GM's is touched."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import make_url

from core.domain.errors import StorageError
from core.domain.session.session import Session
from core.storage.session_store import Lease
from db.backups.dump import restore
from db.backups.rotation import backup_into
from db.store import PostgresStore, open_store

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def held(directory: Path) -> set[Path]:
    return set(directory.iterdir())


async def test_a_directory_keeps_the_newest_backups_and_every_other_file(
    url: str, store: PostgresStore, locked: tuple[Session, Lease], empty_url: str, tmp_path: Path
) -> None:
    of_the_gm = tmp_path / "storyengine-before-the-flood.dump"
    of_the_gm.write_text("mine")
    files = [await backup_into(url, tmp_path, 2, NOON + day * DAY) for day in range(3)]
    assert held(tmp_path) == {of_the_gm, *files[1:]}
    await restore(empty_url, files[-1])
    restored = await open_store(empty_url)
    assert [line.id for line in await restored.chapters.listed()] == [locked[0].id]


async def test_a_backup_makes_the_directory_that_is_missing_for_its_owner_alone(
    url: str, store: PostgresStore, tmp_path: Path
) -> None:
    directory = tmp_path / "of the harbour" / "backups"
    file = await backup_into(url, directory, 2, NOON)
    assert held(directory) == {file}
    assert {one.stat().st_mode & 0o777 for one in (directory, directory.parent)} == {0o700}
    with pytest.raises(StorageError, match="could not be made"):
        await backup_into(url, Path(f"{file}/below"), 2, NOON)


async def test_a_new_backup_is_kept_though_the_clock_was_set_back_since_the_others(
    url: str, store: PostgresStore, tmp_path: Path
) -> None:
    later = [await backup_into(url, tmp_path, 2, NOON + day * DAY) for day in range(2)]
    file = await backup_into(url, tmp_path, 2, NOON - DAY)
    assert held(tmp_path) == {file, later[-1]}
    alone = await backup_into(url, tmp_path, 1, NOON - 2 * DAY)
    assert held(tmp_path) == {alone}


async def test_a_backup_that_fails_removes_nothing(url: str, store: PostgresStore, tmp_path: Path) -> None:
    first = await backup_into(url, tmp_path, 1, NOON)
    absent = make_url(url).set(database="absent")
    with pytest.raises(StorageError):
        await backup_into(absent.render_as_string(hide_password=False), tmp_path, 1, NOON + DAY)
    assert held(tmp_path) == {first}


async def test_what_a_killed_backup_left_goes_after_a_day(
    url: str, store: PostgresStore, tmp_path: Path
) -> None:
    old, fresh = (tmp_path / f".storyengine-20260228T120000.000000Z.dump.{name}.part" for name in ("a", "b"))
    for draft, age in ((old, 2 * DAY), (fresh, DAY / 2)):
        draft.touch()
        os.utime(draft, ((NOON - age).timestamp(),) * 2)
    file = await backup_into(url, tmp_path, 1, NOON)
    assert held(tmp_path) == {fresh, file}
