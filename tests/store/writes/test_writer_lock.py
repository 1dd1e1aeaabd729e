"""One writer per session; one that was replaced writes nothing more (design 6)."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import psycopg
import pytest

from core.domain.errors import SessionLockedError
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import Lease, WriterInfo
from db.store import PostgresStore, open_store
from db.writes.writer_lock import lock_key
from tests.store import chapters
from tests.store.chapters import PATIENCE, is_noticed, taken, until

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[3]

OTHER_PROGRAM = """
import asyncio, sys
from core.domain.ids import SessionId
from db.store import open_store
from uuid import UUID
async def main():
    store = await open_store(sys.argv[1])
    lease = await store.acquire(SessionId(UUID(sys.argv[2])), "other program")
    print("epoch", lease.epoch, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def test_what_is_closed_leaves_no_connection_behind(url: str, raw: psycopg.Connection) -> None:
    async def connections() -> int:
        row = raw.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'storyengine'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    async def are(expected: int) -> bool:
        return await connections() == expected

    own = await open_store(url)
    session, lease = await chapters.locked_session(own)
    held = await connections()
    async with own.follow(session.id):
        assert await connections() == held + 1
    await until(lambda: are(held))
    await lease.aclose()
    await until(lambda: are(held - 1))
    await own.aclose()
    await until(lambda: are(0))


@pytest.mark.parametrize("brings_the_session", [True, False])
async def test_a_writer_that_was_replaced_writes_nothing(
    store: PostgresStore,
    locked: tuple[Session, Lease],
    raw: psycopg.Connection,
    brings_the_session: bool,
) -> None:
    session, old = locked
    raw.execute("UPDATE session SET writer_epoch = writer_epoch + 1")
    changes = chapters.turn(session)
    if not brings_the_session:
        changes = Changes(session_id=session.id, unsent={Slot.RED: "x"})
    with pytest.raises(SessionLockedError):
        await store.commit(changes, old)
    assert await store.log(session.id) == []
    assert (await store.load(session.id)).unsent == {}


async def test_a_commit_of_a_session_that_is_gone_is_refused(
    store: PostgresStore, locked: tuple[Session, Lease], raw: psycopg.Connection
) -> None:
    session, lease = locked
    with raw.transaction():
        raw.execute("UPDATE session SET archived_at = now()")
        raw.execute("SELECT set_config('storyengine.purge', %s, true)", (str(session.id),))
        raw.execute("DELETE FROM session")
    with pytest.raises(SessionLockedError):
        await store.commit(Changes(session_id=session.id, session=session), lease)
    with pytest.raises(SessionLockedError):
        await store.commit(Changes(session_id=session.id, tab1=Tab1Inputs()), lease)


async def test_a_takeover_waits_for_the_commit_that_is_under_way(
    store: PostgresStore, url: str, locked: tuple[Session, Lease], raw: psycopg.Connection
) -> None:
    """The fence holds the row: whoever comes next sees the whole commit, or the commit sees it."""
    session, lease = locked
    with raw.transaction():
        raw.execute("SELECT storyengine_check_writer(%s, %s)", (session.id, lease.epoch))
        await lease.aclose()
        other = await open_store(url)
        taking = asyncio.create_task(taken(other, session.id))
        done, _ = await asyncio.wait({taking}, timeout=0.3)
        assert not done
    assert (await asyncio.wait_for(taking, PATIENCE)).epoch == lease.epoch + 1
    await other.aclose()


async def test_a_lost_connection_is_noticed_and_frees_the_lock(
    store: PostgresStore, locked: tuple[Session, Lease], raw: psycopg.Connection
) -> None:
    session, lease = locked
    assert not lease.is_lost
    raw.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    await is_noticed(lease)
    next_lease = await taken(store, session.id)
    assert next_lease.epoch == lease.epoch + 1
    with pytest.raises(SessionLockedError):
        await store.commit(Changes(session_id=session.id, session=session), lease)


async def test_a_lock_is_free_though_its_release_was_cancelled(
    store: PostgresStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    closing = asyncio.create_task(lease.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    assert closing.cancelled()

    async def is_free() -> bool:
        return not isinstance(await store.acquire(session.id, "me"), WriterInfo)

    await until(is_free)


async def test_a_killed_program_leaves_the_lock_free(store: PostgresStore, url: str) -> None:
    session = chapters.new_session()
    await store.chapters.create(chapters.creation(session))
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", OTHER_PROGRAM, url, str(session.id)), stdout=PIPE, cwd=ROOT
    )
    try:
        assert program.stdout is not None
        assert await asyncio.wait_for(program.stdout.readline(), PATIENCE) == b"epoch 1\n"
        assert isinstance(await store.acquire(session.id, "me"), WriterInfo)
    finally:
        program.kill()
        await program.wait()

    async def is_free() -> bool:
        return not isinstance(await store.acquire(session.id, "me"), WriterInfo)

    await until(is_free)
    assert (await store.load(session.id)).session == session


def test_the_key_is_stable_and_fits_a_bigint() -> None:
    from uuid import UUID

    from core.domain.ids import SessionId

    key = lock_key(SessionId(UUID("01890a5d-ac96-774b-bcce-b302099a8057")))
    assert key == lock_key(SessionId(UUID("01890a5d-ac96-774b-bcce-b302099a8057")))
    assert -(2**63) <= key < 2**63
