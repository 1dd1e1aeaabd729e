"""Commits with calls in them that the database did not take are kept, and stored by the next writer."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from core.domain.errors import SessionLockedError, StorageError
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import NO_EPOCH, Lease
from db.store import PostgresStore, open_store
from db.writes.commit_connection import CommitConnection
from tests.store import chapters
from tests.store.chapters import locked_session, taken, turn

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def start(url: str, folder: Path) -> AsyncIterator[PostgresStore]:
    async with aclosing(await open_store(url, folder)) as store:
        yield store


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def fail(store: PostgresStore, changes: Changes, lease: Lease, *, is_stored: bool = False) -> None:
    """Commit while the connection fails, before the commit or once it is made."""
    connection = store._commit_connection

    async def send(write: Any) -> None:
        if is_stored:
            await CommitConnection.send(connection, write)
        raise psycopg.OperationalError("the connection is lost")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "send", send)
        with pytest.raises(StorageError):
            await store.commit(changes, lease)
    await store.keep(changes, lease.epoch, chapters.NOW)


async def called(store: PostgresStore, session: Session, lease: Lease) -> Changes:
    """Store a request for a reply, and return what settles it."""
    changes = turn(session)
    asked = replace(changes.requests[0], attempts=0)
    await store.commit(Changes(session_id=session.id, requests=(asked,)), lease)
    return changes


@pytest.mark.parametrize("is_stored", [False, True], ids=["not stored", "stored"])
async def test_the_next_writer_stores_it_once(url: str, tmp_path: Path, *, is_stored: bool) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        changes = await called(store, session, lease)
        await fail(store, changes, lease, is_stored=is_stored)
        [file] = files(tmp_path)
        # A second try changes nothing of it, and one that is stored deletes it.
        before = file.stat().st_ino
        await fail(store, changes, lease)
        assert file.stat().st_ino == before
        await lease.aclose()
    async with start(url, tmp_path) as store:
        lease = await taken(store, session.id)
        assert not files(tmp_path)
        assert list(await store.log(session.id)) == list(changes.events)
        assert list(await store.artifacts(session.id)) == list(changes.artifacts)
        assert (await store.load(session.id)).session.prompt_index == 1
        await lease.aclose()


async def test_what_is_stored_by_a_later_try_is_kept_no_longer(url: str, tmp_path: Path) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        changes = turn(session)
        await fail(store, changes, lease)
        await store.commit(changes, lease)
        assert not files(tmp_path)
        await fail(store, Changes(session_id=session.id, unsent={Slot.RED: "typed"}), lease)
        assert not files(tmp_path), "the screen keeps what was typed"
        await lease.aclose()


async def test_where_the_same_writer_went_on_the_calls_alone_are_stored(url: str, tmp_path: Path) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        changes = await called(store, session, lease)
        await fail(store, changes, lease)
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "typed"}), lease)
        await lease.aclose()
        lease = await taken(store, session.id)
        assert not files(tmp_path)
        assert not await store.log(session.id)
        assert list(await store.artifacts(session.id)) == list(changes.artifacts)
        assert (await store.load(session.id)).unsent == {Slot.RED: "typed"}
        await lease.aclose()


async def test_where_the_session_has_changed_since_the_calls_alone_are_stored(
    url: str, tmp_path: Path
) -> None:
    """A commit whose answer was lost may have been stored under the same lease."""
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        changes = await called(store, session, lease)
        later = replace(session, updated_at=chapters.NOW + timedelta(seconds=1))
        await store.commit(Changes(session_id=session.id, session=later), lease)
        await fail(store, changes, lease)
        await lease.aclose()
        lease = await taken(store, session.id)
        assert not await store.log(session.id)
        assert list(await store.artifacts(session.id)) == list(changes.artifacts)
        await lease.aclose()


async def test_calls_that_no_lease_was_held_for_are_stored_alone_by_the_first_writer(
    url: str, tmp_path: Path
) -> None:
    async with start(url, tmp_path) as store:
        session = chapters.new_session(state=SessionState.ACTIVE, tab1_locked=True)
        changes = turn(session)
        asked = replace(changes.requests[0], attempts=0)
        lock = chapters.lock_block(session)
        await store.create(replace(chapters.creation(session), blocks=(lock,), requests=(asked,)))
        await store.keep(changes, NO_EPOCH, session.updated_at)
        lease = await taken(store, session.id)
        assert lease.epoch == 1
        assert not await store.log(session.id)
        assert list(await store.artifacts(session.id)) == list(changes.artifacts)
        await lease.aclose()


async def test_a_writer_that_lost_its_turn_leaves_its_calls_to_the_next_one(url: str, tmp_path: Path) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        changes = await called(store, session, lease)
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("UPDATE session SET writer_epoch = writer_epoch + 1")
        with pytest.raises(SessionLockedError):
            await store.commit(changes, lease)
        await store.keep(changes, NO_EPOCH, chapters.NOW)
        await lease.aclose()
        lease = await taken(store, session.id)
        assert not await store.log(session.id)
        assert list(await store.artifacts(session.id)) == list(changes.artifacts)
        await lease.aclose()


async def test_a_writer_that_cannot_store_it_yet_holds_no_lock_and_the_next_one_stores_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        changes = turn(session)
        await fail(store, changes, lease)
        await lease.aclose()
        send = store._unstored._send

        async def refuse(_: object) -> None:
            raise psycopg.OperationalError("the connection is lost")

        monkeypatch.setattr(store._unstored, "_send", refuse)
        with pytest.raises(StorageError):
            await store.acquire(session.id, "test")
        monkeypatch.setattr(store._unstored, "_send", send)
        lease = await taken(store, session.id)
        assert list(await store.log(session.id)) == list(changes.events)
        assert not files(tmp_path)
        await lease.aclose()


def _text(file: Path, text: str) -> None:
    file.write_text(text)


BAD: dict[str, Callable[[Path], object]] = {
    "no JSON": lambda file: _text(file, "{"),
    "no object": lambda file: _text(file, "[]"),
    "deep": lambda file: _text(file, "[" * 200_000),
    "no text": lambda file: file.write_bytes(b"\xff\xfe\x00"),
    "a table that is none": lambda file: _text(file, '{"schema": "x", "parameters": {"pg_authid": "[]"}}'),
    "rows that are none": lambda file: _text(file, '{"schema": "x", "parameters": {"event": 1}}'),
    "a directory": lambda file: file.mkdir(),
}


@pytest.mark.parametrize("bad", BAD)
async def test_a_file_that_cannot_be_read_is_left_and_keeps_no_chapter_closed(
    url: str, tmp_path: Path, bad: str
) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        await fail(store, turn(session), lease)
        await lease.aclose()
        [file] = files(tmp_path)
        file.unlink()
        BAD[bad](file)
        lease = await taken(store, session.id)
        assert files(tmp_path) == [file]
        assert not await store.log(session.id)
        await lease.aclose()


@pytest.mark.parametrize("of_schema", [True, False], ids=["of this schema", "of another"])
async def test_rows_that_the_database_refuses_are_left_but_for_the_calls(
    url: str, tmp_path: Path, *, of_schema: bool
) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        changes = await called(store, session, lease)
        await fail(store, changes, lease)
        await lease.aclose()
        [file] = files(tmp_path)
        content = json.loads(file.read_text())
        if of_schema:
            content["parameters"]["session"] = '{"state": "no state"}'
        else:
            content["schema"] = "story_0001"
        file.write_text(json.dumps(content))
        lease = await taken(store, session.id)
        assert not files(tmp_path)
        assert not await store.log(session.id)
        assert list(await store.artifacts(session.id)) == list(changes.artifacts)
        await lease.aclose()


async def test_a_chapter_that_is_deleted_for_good_leaves_no_file(url: str, tmp_path: Path) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        await fail(store, turn(session), lease)
        await lease.aclose()
        assert len(files(tmp_path)) == 1
        await store.archive(session.id, chapters.NOW)
        await store.purge(session.id)
        assert not files(tmp_path)


async def test_where_no_file_can_be_written_a_commit_fails_as_it_does_without(
    url: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    async with start(url, tmp_path / "file" / "unstored") as store:
        session, lease = await locked_session(store)
        changes = turn(session)
        await fail(store, changes, lease)
        await store.commit(changes, lease)
        assert list(await store.log(session.id)) == list(changes.events)
        await lease.aclose()
