"""Commits with calls in them that the database did not take are kept, and stored by the next writer."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from core.config.files.private_files import write_privately
from core.config.files.reserve import Reserve
from core.domain.errors import SessionLockedError, StorageError
from core.domain.ids import ArtifactId
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import NO_EPOCH, Lease
from db.store import PostgresStore, open_store
from db.writes.commit_connection import CommitConnection
from db.writes.unstored import _CHANGED
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
        assert list(await store.calls.artifacts(session.id)) == list(changes.artifacts)
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
        assert list(await store.calls.artifacts(session.id)) == list(changes.artifacts)
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
        assert list(await store.calls.artifacts(session.id)) == list(changes.artifacts)
        await lease.aclose()


async def test_calls_that_no_lease_was_held_for_are_stored_alone_by_the_first_writer(
    url: str, tmp_path: Path
) -> None:
    async with start(url, tmp_path) as store:
        session = chapters.new_session(state=SessionState.ACTIVE, tab1_locked=True)
        changes = turn(session)
        asked = replace(changes.requests[0], attempts=0)
        lock = chapters.lock_block(session)
        await store.chapters.create(replace(chapters.creation(session), blocks=(lock,), requests=(asked,)))
        await store.keep(changes, NO_EPOCH, session.updated_at)
        lease = await taken(store, session.id)
        assert lease.epoch == 1
        assert not await store.log(session.id)
        assert list(await store.calls.artifacts(session.id)) == list(changes.artifacts)
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
        assert list(await store.calls.artifacts(session.id)) == list(changes.artifacts)
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


@pytest.mark.parametrize("is_early", [False, True], ids=["in order", "the later call is the older one"])
@pytest.mark.parametrize("refused", [0, 1, 2])
async def test_commits_that_wait_behind_each_other_are_stored_whole_in_their_order(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int, is_early: bool
) -> None:
    """`refused` is the try at which the connection is lost once while they are stored; 0 for none."""
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        first = turn(session)
        moved = replace(first.session or session, updated_at=chapters.NOW + timedelta(minutes=1))
        first = replace(first, session=moved)
        second = turn(moved)
        if is_early:
            early = replace(second.artifacts[0], id=ArtifactId(UUID("00000000-0000-7000-8000-000000000001")))
            second = replace(second, artifacts=(early,))
        await fail(store, first, lease)
        await store.keep(second, lease.epoch, moved.updated_at, first)
        await lease.aclose()
        send, tries = store._unstored._send, 0

        async def lose_one(write: Any) -> tuple[Any, ...]:
            nonlocal tries
            tries += write[0] != _CHANGED
            if write[0] != _CHANGED and tries == refused:
                raise psycopg.OperationalError("the connection is lost")
            return await send(write)

        monkeypatch.setattr(store._unstored, "_send", lose_one)
        if refused:
            with pytest.raises(StorageError):
                await store.acquire(session.id, "test")
        lease = await taken(store, session.id)
        assert not files(tmp_path)
        assert list(await store.log(session.id)) == [*first.events, *second.events]
        assert (await store.load(session.id)).session.prompt_index == 2
        await lease.aclose()


def held_writing(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Hold up each writing of a file; return what is set once one is written, and what lets it end."""
    is_writing, may_end = threading.Event(), threading.Event()

    def write(_: Reserve, file: Path, text: str) -> None:
        is_writing.set()
        may_end.wait()
        write_privately(file, text)

    monkeypatch.setattr(Reserve, "write_privately", write)
    return is_writing, may_end


async def test_of_two_commits_that_are_kept_at_once_each_is_known_until_it_is_stored(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_writing, may_end = held_writing(monkeypatch)
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        first = turn(session)
        moved = first.session or session
        second = turn(moved)
        one = asyncio.create_task(store.keep(first, lease.epoch, chapters.NOW))
        await asyncio.to_thread(is_writing.wait)
        other = asyncio.create_task(store.keep(second, lease.epoch, moved.updated_at, first))
        # Called behind the first step of `other`, which does all that it can while `one` is written.
        asyncio.get_running_loop().call_soon(may_end.set)
        await asyncio.gather(one, other)
        [behind, _] = files(tmp_path)
        await store.commit(first, lease)
        assert files(tmp_path) == [behind], "it is still kept whole"
        await store.commit(second, lease)
        assert not files(tmp_path)
        await lease.aclose()


async def test_a_commit_that_is_stored_while_it_is_still_being_kept_leaves_no_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_writing, may_end = held_writing(monkeypatch)
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        changes = turn(session)
        keeping = asyncio.create_task(store.keep(changes, lease.epoch, chapters.NOW))
        await asyncio.to_thread(is_writing.wait)
        send, is_sent = store._commit_connection.send, asyncio.Event()

        async def tell(write: Any) -> Any:
            row = await send(write)
            # Called behind the next step of the commit, which does all that it can while the file is written.
            asyncio.get_running_loop().call_soon(is_sent.set)
            return row

        monkeypatch.setattr(store._commit_connection, "send", tell)
        committing = asyncio.create_task(store.commit(changes, lease))
        await is_sent.wait()
        may_end.set()
        await asyncio.gather(keeping, committing)
        assert not files(tmp_path)
        await lease.aclose()


async def test_of_commits_behind_one_that_was_superseded_the_calls_alone_are_stored(
    url: str, tmp_path: Path
) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        first = await called(store, session, lease)
        moved = replace(first.session or session, updated_at=chapters.NOW + timedelta(minutes=1))
        first = replace(first, session=moved)
        second = await called(store, moved, lease)
        await fail(store, first, lease)
        await store.keep(second, lease.epoch, moved.updated_at, first)
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "Something else"}), lease)
        await lease.aclose()
        lease = await taken(store, session.id)
        assert not files(tmp_path)
        assert not await store.log(session.id)
        assert {one.id for one in await store.calls.artifacts(session.id)} == {
            one.id for one in (*first.artifacts, *second.artifacts)
        }
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
        assert list(await store.calls.artifacts(session.id)) == list(changes.artifacts)
        await lease.aclose()


async def test_a_chapter_that_is_deleted_for_good_leaves_no_file(url: str, tmp_path: Path) -> None:
    async with start(url, tmp_path) as store:
        session, lease = await locked_session(store)
        await fail(store, turn(session), lease)
        await lease.aclose()
        assert len(files(tmp_path)) == 1
        await store.chapters.archive(session.id, chapters.NOW)
        await store.chapters.purge(session.id)
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
