"""A backup is whole or not there; a restore gives back every chapter as it was, or changes nothing."""

import asyncio
import errno
import os
import stat
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr
from sqlalchemy import make_url

from core.config.files.paths import Paths
from core.config.settings import load_settings
from core.domain.errors import ErrorCode, SessionLockedError, StorageError, StoryEngineError
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import Lease
from db.backups import client_programs
from db.backups.dump import backup, check_backup, restore
from db.connections import parse_url
from db.schema.migrate import HEAD
from db.store import PostgresStore, open_store
from storyengine_tui.bootstrap import Configuration, restore_backup
from tests.store import chapters
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio


@pytest.fixture
async def file(url: str, store: PostgresStore, locked: tuple[Session, Lease], tmp_path: Path) -> Path:
    """A backup of a database with a chapter of three prompts."""
    await chapters.play(store, *locked, 3)
    target = tmp_path / "chapters (1).backup"
    await backup(url, target)
    return target


async def everything(store: PostgresStore) -> object:
    """Return all that a store tells of its chapters."""
    listed = await store.chapters.listed()
    return listed, [
        (await store.load(line.id), await store.log(line.id), await store.calls.artifacts(line.id))
        for line in listed
    ]


def cut_copy(file: Path, end: int) -> Path:
    """Return a copy of the file that ends early."""
    copy = file.with_name("damaged")
    copy.write_bytes(file.read_bytes()[:end])
    return copy


def with_other_rule(file: Path) -> Path:
    """Return a copy of the file in which one bit in the name of a constraint is another."""
    copy, content = file.with_name("damaged"), bytearray(file.read_bytes())
    content[content.index(b"ADD CONSTRAINT ") + len("ADD CONSTRAINT ")] ^= 1
    copy.write_bytes(content)
    return copy


@pytest.mark.usefixtures("locked")
async def test_a_file_system_without_links_gets_a_backup_and_keeps_a_file_that_was_made_meanwhile(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, taken = tmp_path / "free.dump", tmp_path / "taken.dump"

    def no_links(_: Path, target: Path) -> None:
        if target == taken:
            target.write_bytes(b"of another window")
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    await backup(url, free)
    assert await check_backup(url, free) == "public"
    with pytest.raises(StoryEngineError, match="already; nothing was written"):
        await backup(url, taken)
    assert taken.read_bytes() == b"of another window"
    assert sorted(os.listdir(tmp_path)) == ["free.dump", "taken.dump"]


async def test_a_backup_restores_into_an_empty_database(
    store: PostgresStore, file: Path, empty_url: str, locked: tuple[Session, Lease]
) -> None:
    await restore(empty_url, file)
    restored = await open_store(empty_url)
    assert await everything(restored) == await everything(store)
    session = (await restored.load(locked[0].id)).session
    lease = await chapters.taken(restored, session.id)
    await chapters.play(restored, session, lease, 1)
    with psycopg.connect(plain_url(empty_url)) as raw, pytest.raises(psycopg.Error, match="append-only"):
        raw.execute("DELETE FROM event")
    await restored.aclose()


async def test_a_backup_is_private_and_alone(file: Path) -> None:
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert os.listdir(file.parent) == [file.name]


async def test_a_backup_is_never_written_over_a_file(url: str, store: PostgresStore, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.write_text("a diary")
    with pytest.raises(StoryEngineError, match="already") as refused:
        await backup(url, target)
    assert refused.value.code is ErrorCode.ILLEGAL_COMMAND, "a refusal, as of every other export"
    assert target.read_text() == "a diary"
    assert os.listdir(tmp_path) == ["mine"]


async def test_a_backup_that_fails_leaves_no_file(
    url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = make_url(url).set(database="not_there").render_as_string(hide_password=False)
    with pytest.raises(StorageError) as caught:
        await backup(nowhere, tmp_path / "b")
    assert "not_there" in caught.value.hint
    with pytest.raises(StorageError, match="Nothing can be written"):
        await backup(url, tmp_path / "no" / "such" / "directory")
    failing = tmp_path_factory.mktemp("programs") / "pg_dump"
    failing.write_text("#!/bin/sh\necho 'error: no room' >&2\nexit 1\n")
    failing.chmod(0o700)
    monkeypatch.setenv(client_programs.OVERRIDE, str(failing.parent))
    with pytest.raises(StorageError, match="pg_dump failed") as caught:
        await backup(url, tmp_path / "b")
    assert "no room" in caught.value.hint
    assert os.listdir(tmp_path) == []


async def test_a_backup_is_there_on_a_disk_that_does_not_flush_directories(
    url: str, store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = os.fsync

    def refuse(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        flush(handle)

    monkeypatch.setattr(os, "fsync", refuse)
    await backup(url, tmp_path / "b")
    assert os.listdir(tmp_path) == ["b"]


async def test_chapters_are_replaced_only_when_asked(
    store: PostgresStore, url: str, file: Path, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    at_backup = await everything(store)
    played = await chapters.play(store, (await store.load(session.id)).session, lease, 2)
    await store.chapters.create(chapters.creation(chapters.new_session()))
    now = await everything(store)
    with pytest.raises(StorageError, match="holds 2 chapters"):
        await restore(url, file)
    assert await everything(store) == now
    await restore(url, file, replace=True)
    assert await everything(store) == at_backup
    # The window that was open all the while must not write its later state into the earlier chapter.
    with pytest.raises(SessionLockedError):
        await store.commit(chapters.turn(played), lease)


def before_it_replaces(patch: pytest.MonkeyPatch, happens: Callable[[], Awaitable[object]]) -> None:
    """Let something happen when a restore has looked at the database and is about to replace it."""
    run = client_programs.run

    async def meanwhile(name: str, *arguments: Any, **named: Any) -> str:
        if name == "psql":
            await happens()
        return await run(name, *arguments, **named)

    patch.setattr(client_programs, "run", meanwhile)


async def test_a_window_that_opens_a_chapter_while_a_backup_is_restored_cannot_write_to_it(
    store: PostgresStore,
    url: str,
    file: Path,
    locked: tuple[Session, Lease],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, lease = locked
    at_backup = await everything(store)
    opened: list[Lease] = []

    async def reopen() -> None:
        await lease.aclose()
        opened.append(await chapters.taken(store, session.id))

    before_it_replaces(monkeypatch, reopen)
    await restore(url, file, replace=True)
    with pytest.raises(SessionLockedError):
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "later"}), opened[0])
    assert await everything(store) == at_backup


async def test_a_chapter_that_is_begun_while_a_backup_is_restored_is_not_lost(
    store: PostgresStore, file: Path, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with aclosing(await open_store(empty_url)) as other:
        session = chapters.new_session()
        before_it_replaces(monkeypatch, lambda: other.chapters.create(chapters.creation(session)))
        with pytest.raises(StorageError, match="nothing was changed") as refused:
            await restore(empty_url, file)
        assert "another window has begun a chapter" in refused.value.hint
        assert (await other.load(session.id)).session == session


async def test_a_restore_over_everything_drops_nothing_that_it_did_not_back_up(
    store: PostgresStore, file: Path, empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(tmp_path / "none.toml").model_copy(update={"database_url": SecretStr(empty_url)})
    configuration = Configuration(Paths(*[tmp_path] * 4), settings)
    async with aclosing(await open_store(empty_url)) as other:
        session = chapters.new_session()
        before_it_replaces(monkeypatch, lambda: other.chapters.create(chapters.creation(session)))
        with pytest.raises(StorageError, match="nothing was changed"):
            await restore_backup(configuration, file, replace=True)
        assert (await other.load(session.id)).session == session


@pytest.mark.parametrize("cut", [0, 1_000, -200])
async def test_a_damaged_backup_changes_nothing(store: PostgresStore, url: str, file: Path, cut: int) -> None:
    before = await everything(store)
    damaged = cut_copy(file, cut)
    with pytest.raises(StorageError):
        await restore(url, damaged, replace=True)
    assert await everything(store) == before


async def test_one_wrong_bit_that_changes_the_name_of_a_rule_is_noticed(
    store: PostgresStore, url: str, file: Path
) -> None:
    before = await everything(store)
    damaged = with_other_rule(file)
    with pytest.raises(StorageError, match="damaged: it is not as it was written; nothing was changed"):
        await restore(url, damaged, replace=True)
    assert await everything(store) == before


SEAL = len("\nstoryengine-sha256:") + 64


@pytest.mark.parametrize(
    "changed",
    [
        lambda content: content[:-1],
        lambda content: content[: 1 - SEAL],
        lambda content: content + b"\n",
        lambda content: content[:-64] + b"z" + content[-63:],
        lambda content: content[: 5 - SEAL] + b"T" + content[6 - SEAL :],
    ],
    ids=["cut by a byte", "cut to a byte", "longer", "another sum", "another mark"],
)
async def test_a_backup_with_a_changed_seal_is_refused_and_not_taken_for_one_without(
    url: str, store: PostgresStore, file: Path, changed: Callable[[bytes], bytes]
) -> None:
    content = await asyncio.to_thread(file.read_bytes)
    await asyncio.to_thread(file.write_bytes, changed(content))
    with pytest.raises(StorageError, match="damaged: it is not as it was written; nothing was changed"):
        await check_backup(url, file)


async def test_a_backup_that_a_failing_disk_does_not_read_to_its_end_is_refused_in_words(
    url: str, store: PostgresStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> bool:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("db.backups.dump.is_damaged", fail)
    with pytest.raises(
        StorageError, match="is not a backup that can be read; nothing was changed"
    ) as refused:
        await check_backup(url, file)
    assert refused.value.hint == os.strerror(errno.EIO)


async def test_a_backup_whose_name_is_mistyped_is_said_not_to_be_found(url: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"No file .*nothing\.dump was found; nothing was changed"):
        await check_backup(url, tmp_path / "nothing.dump")


async def test_a_backup_of_an_earlier_program_has_no_seal_and_is_restored(
    store: PostgresStore, url: str, file: Path, empty_url: str
) -> None:
    await restore(empty_url, cut_copy(file, -SEAL))
    restored = await open_store(empty_url)
    assert await everything(restored) == await everything(store)
    await restored.aclose()


async def test_a_restore_that_fails_half_way_changes_nothing(
    store: PostgresStore, url: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.chapters.create(chapters.creation(chapters.new_session()))
    before = await everything(store)
    monkeypatch.setattr("db.backups.dump._FENCE", "SELECT 1/0")
    with pytest.raises(StorageError, match="psql failed; nothing was changed") as caught:
        await restore(url, file, replace=True)
    assert "division by zero" in caught.value.hint
    assert await everything(store) == before


async def test_a_backup_of_a_newer_program_is_refused(
    store: PostgresStore, url: str, raw: psycopg.Connection, empty_url: str, tmp_path: Path
) -> None:
    raw.execute("UPDATE alembic_version SET version_num = 'story_9999'")
    await backup(url, tmp_path / "newer")
    with pytest.raises(StorageError, match="newer was made by a newer Story Engine") as refused:
        await restore(empty_url, tmp_path / "newer")
    assert refused.value.hint == "Upgrade this program.", "another database would not help"
    with psycopg.connect(plain_url(empty_url)) as empty:
        assert empty.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall() == []
    raw.execute("UPDATE alembic_version SET version_num = %s", (HEAD,))


async def test_the_password_is_in_no_argument(
    url: str, store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = tmp_path / "bin" / "pg_dump"
    spy.parent.mkdir()
    spy.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\nexit 1\n')
    spy.chmod(0o700)
    monkeypatch.setenv(client_programs.OVERRIDE, str(spy.parent))
    with pytest.raises(StorageError):
        await backup(url, tmp_path / "b")
    arguments = (tmp_path / "arguments").read_text()
    assert "--format=custom" in arguments
    assert (make_url(url).password or "no password") not in arguments


def test_our_own_programs_serve_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """They cannot encrypt."""
    monkeypatch.delenv(client_programs.OVERRIDE, raising=False)
    monkeypatch.setenv("PATH", "")
    for here in ("postgresql:///d", "postgresql://u@/d?host=/run/pg", "postgresql://u@127.0.0.1/d"):
        assert client_programs.program("pg_dump", parse_url(here)).name == "pg_dump"
    with pytest.raises(StorageError, match="No pg_dump") as caught:
        client_programs.program("pg_dump", parse_url("postgresql://u:p@db.example.org/d"))
    assert client_programs.OVERRIDE in caught.value.hint
    monkeypatch.setenv(client_programs.OVERRIDE, "/nonexistent")
    with pytest.raises(StorageError, match="There is no program"):
        client_programs.program("pg_dump", parse_url("postgresql:///d"))
