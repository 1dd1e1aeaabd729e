"""The database goes away, is full, is held by another, or lives in another time: the play goes on after it.

What `test_storage_trouble` does to the store's calls is done here to a server and its disk. The outages
are as long as they are named; the long ones are for `make torture`.
"""

import asyncio
import gc
import os
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.requests.request import SummaryRequest
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import StorageRecovered, StorageTrouble
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore
from db.embedded.server import EmbeddedServer
from db.embedded.watchdog import keep_alive
from db.store import PostgresStore, open_store
from tests.engine.windows import (
    CHOICES,
    Ears,
    GatedModel,
    Wrapped,
    chapter,
    done,
    listening,
    play,
    playable,
    reply_streaming,
    streaming,
    window,
)
from tests.store.embedded.embedded_fixtures import stop, wait_until
from tests.store.servers import PlainServer, plain_server, plain_url
from tests.torture.readers.reader import Reader

pytestmark = pytest.mark.anyio

IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"
OUTAGES = (1, 10, 60) if IS_WHOLE else (1,)
SMALL_DISK = "160m"
PATIENCE = 60.0


@pytest.fixture(scope="module")
def plain() -> Iterator[PlainServer]:
    with plain_server() as server:
        yield server


async def try_until_stored(session: SessionHandle, slot: Slot, text: str) -> None:
    """Save as the screen does: again and again, until it is stored."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await session.edits.save_unsent(slot, text)
            except StorageError:
                await asyncio.sleep(0.02)  # the store says nothing when it is back
            else:
                return


@pytest.mark.parametrize("seconds", OUTAGES)
async def test_a_reply_and_a_text_outlive_a_server_that_is_stopped(
    plain: PlainServer, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.engine.windows.PATIENCE", PATIENCE + seconds)
    store = await open_store(plain.url)
    model = GatedModel()
    try:
        async with chapter(store, model) as session, listening(session) as ears:
            async with asyncio.timeout(seconds + PATIENCE):
                request_id = await streaming(session, ears)
                await asyncio.to_thread(plain.stop)
                model.gate.set()
                await ears.hear(StorageTrouble)
                with pytest.raises(StorageError) as refused:
                    await session.edits.save_unsent(Slot.ORANGE, "half a thought")
                assert "text is kept here" in refused.value.message
                await asyncio.sleep(seconds)  # the outage itself
                await asyncio.to_thread(plain.start)
                await done(session, request_id)
                await ears.hear(StorageRecovered)
                await try_until_stored(session, Slot.ORANGE, "half a thought")
                await play(session, 1)
            assert len(model.calls) == 2, "no reply was paid for twice"
            assert (await store.load(session.id)).unsent == {Slot.ORANGE: "half a thought"}
        await asyncio.to_thread(Reader().check, plain_url(plain.url))
    finally:
        await store.aclose()


class Slow(Wrapped):
    """A store whose commits wait at a gate, and then fail, as long as there is trouble."""

    def __init__(self, inner: SessionStore) -> None:
        super().__init__(inner)
        self.arrived, self.gate, self.is_away = asyncio.Event(), asyncio.Event(), False

    async def commit(self, changes: Changes, lease: Lease) -> None:
        if self.is_away:
            self.arrived.set()
            await self.gate.wait()
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, hint="The disk is gone.")
        await self._inner.commit(changes, lease)


async def test_the_gm_hears_of_an_outage_at_once_also_while_a_paid_reply_waits_for_its_end(
    store: PostgresStore,
) -> None:
    slow, model = Slow(store), GatedModel()
    session_id = await playable(store)
    async with window(slow, model, session_id) as session, listening(session) as ears:
        request_id = await streaming(session, ears)
        slow.is_away = True
        model.gate.set()
        await slow.arrived.wait()
        typed = [
            asyncio.ensure_future(session.edits.save_unsent(slot, "half")) for slot in (Slot.RED, Slot.ORANGE)
        ]
        given_up = asyncio.ensure_future(session.edits.retitle("Never mind"))
        await asyncio.sleep(0)
        given_up.cancel()
        unheard: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        slow.gate.set()
        for saving in typed:
            with pytest.raises(StorageError, match="text is kept here") as refused:
                await asyncio.wait_for(saving, PATIENCE)
            assert refused.value.hint == "The disk is gone."
        with pytest.raises(StorageError):
            await asyncio.wait_for(session.submit_prompt(Slot.ORANGE, "Two"), PATIENCE)
        del given_up
        gc.collect(1)
        assert not unheard, "what was given up fails without a word of the event loop"
        slow.is_away = False
        await done(session, request_id)
        await session.edits.save_unsent(Slot.ORANGE, "half a thought")
        await play(session, 1)
        assert (await store.load(session_id)).unsent == {Slot.ORANGE: "half a thought"}


@contextmanager
def held(url: str, statement: str) -> Iterator[psycopg.Connection]:
    """Be another client that holds something until the block ends."""
    with psycopg.connect(plain_url(url)) as connection:
        connection.execute(statement.encode())
        yield connection


async def waiters(url: str) -> list[int]:
    """Return the server processes of the program that wait for a lock."""
    query = (
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'storyengine'"
    )

    def ask() -> list[int]:
        with psycopg.connect(plain_url(url)) as connection:
            return [pid for (pid,) in connection.execute(query.encode()).fetchall()]

    async with asyncio.timeout(PATIENCE):
        while not (found := await asyncio.to_thread(ask)):  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.02)  # a server announces no wait for a lock
    return found


async def test_a_connection_that_is_cut_in_its_transaction_stores_the_reply_once(
    store: PostgresStore, url: str
) -> None:
    async with reply_streaming(store) as (session, ears, request_id, model):
        with held(url, "LOCK TABLE event IN ACCESS EXCLUSIVE MODE") as other:
            model.gate.set()
            for _ in range(2):  # the pen sends once more where its connection was old
                for pid in await waiters(url):
                    await asyncio.to_thread(other.execute, "SELECT pg_terminate_backend(%s, 5000)", [pid])
            await ears.hear(StorageTrouble)
        await done(session, request_id)
        assert len(await store.log(session.id)) == 2
        await play(session, 1)
    assert len(model.calls) == 2
    await asyncio.to_thread(Reader().check, plain_url(url), only=session.id)


async def test_a_lock_that_another_client_holds_is_waited_out(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "db.connections._LIMITS", "SELECT set_config('lock_timeout', '50ms', false), pg_sleep(0)"
    )
    async with chapter(store) as session, listening(session) as ears:
        with held(url, "LOCK TABLE event IN ACCESS EXCLUSIVE MODE"):
            request_id = await session.submit_prompt(Slot.RED, "One")
            trouble = await ears.hear(StorageTrouble)
            assert "lock timeout" in trouble.error.hint
        await done(session, request_id)
        await ears.hear(StorageRecovered)
        assert len(await store.log(session.id)) == 2


@contextmanager
def small_disk() -> Iterator[Path]:
    """Have a small disk of its own; skips where nothing can be mounted."""
    with tempfile.TemporaryDirectory(prefix="se-disk-", ignore_cleanup_errors=True) as name:
        # The server may run as another account, which has to get in.
        Path(name).chmod(0o755)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK},mode=755", "tmpfs", name]
        try:
            subprocess.run(mount, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("nothing can be mounted here")
        try:
            yield Path(name)
        finally:
            stop(Path(name) / "postgres")
            subprocess.run(["umount", "--lazy", name], check=False, capture_output=True)


def fill(disk: Path) -> Path:
    """Leave not a byte free."""
    ballast = disk / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for size in (1_000_000, 4_096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return ballast


async def play_until_trouble(session: SessionHandle, ears: Ears) -> str:
    """Play long prompts until the store can take no more; return the prompt that waits."""
    for number in range(400):
        text = f"{number} " + os.urandom(4_000).hex()
        try:
            request_id = await session.submit_prompt(Slot.RED, text)
        except StorageError:
            return text
        settled = asyncio.ensure_future(session.wait(request_id))
        heard = asyncio.ensure_future(ears.hear(StorageTrouble))
        await asyncio.wait({settled, heard}, return_when=asyncio.FIRST_COMPLETED)
        heard.cancel()
        if not settled.done():
            settled.cancel()
            return text
        await session.wait_idle()
    raise AssertionError("the disk was never full")


async def test_on_a_full_disk_nothing_is_lost_and_the_play_goes_on_once_there_is_room() -> None:
    with small_disk() as disk:
        server = EmbeddedServer(disk / "postgres", grace=0.0)
        url = await server.acquire_async(PATIENCE)
        store = await open_store(url)
        async with keep_alive(server, every=0.1), asyncio.timeout(4 * PATIENCE):
            async with chapter(store) as session, listening(session) as ears:
                await play(session, 1)
                ballast = await asyncio.to_thread(fill, disk)
                text = await play_until_trouble(session, ears)
                ballast.unlink()
                await try_until_stored(session, Slot.ORANGE, "half a thought")
                if not any(event.text == text for event in await store.log(session.id)):
                    await done(session, await session.submit_prompt(Slot.RED, text))
                await play(session, 1)
                stored = await store.load(session.id)
                assert stored.unsent.get(Slot.ORANGE) == "half a thought"
                asked = [event.text for event in await store.log(session.id) if event.ordinal == 0]
                assert asked.count(text) == 1
            await asyncio.to_thread(Reader().check, plain_url(url))
        await store.aclose()
        await asyncio.to_thread(server.release)


async def test_a_data_directory_that_is_read_only_is_said_and_serves_again_once_it_is_not() -> None:
    with small_disk() as disk:
        server = EmbeddedServer(disk / "postgres", grace=0.0)
        await server.acquire_async(PATIENCE)
        await asyncio.to_thread(server.release)
        await asyncio.to_thread(stop, disk / "postgres")
        await asyncio.to_thread(remount, disk, "ro")
        with pytest.raises(StorageError) as refused:
            await server.acquire_async(PATIENCE)
        assert str(disk) in str(refused.value)
        assert "Traceback" not in str(refused.value)
        await asyncio.to_thread(remount, disk, "rw")
        store = await open_store(await server.acquire_async(PATIENCE))
        async with chapter(store) as session:
            await play(session, 1)
        await store.aclose()
        await asyncio.to_thread(server.release)


def remount(disk: Path, how: str) -> None:
    """Mount it anew, once the last process of the server has closed its files."""
    command = ["mount", "-o", f"remount,{how}", str(disk)]
    wait_until(lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0, how)


class SetBack:
    """A clock that shows an earlier day, once it is told to, to the engine and to whoever makes ids."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.days = 0

    def __call__(self) -> datetime:
        return utc_now() - timedelta(days=self.days)

    def set_back(self, *, is_restarted: bool) -> None:
        """Set it back by a day. A process that is started afterwards remembers no later time."""
        self.days += 1
        behind, back = time.time_ns, self.days * 86_400 * 10**9
        self._monkeypatch.setattr("uuid6.time.time_ns", lambda: behind() - back)
        if is_restarted:
            self._monkeypatch.setattr("uuid6._last_v7_timestamp", None)


@asynccontextmanager
async def opened(store: PostgresStore, session_id: SessionId, clock: SetBack) -> AsyncIterator[SessionHandle]:
    engine = Engine(store, ScriptedProvider(), CHOICES, label="set back", clock=clock)
    session = await engine.open(session_id)
    try:
        yield session
    finally:
        await session.aclose()


@pytest.mark.parametrize("is_restarted", [False, True], ids=["while it runs", "before a restart"])
async def test_a_clock_that_is_set_back_changes_no_order_and_loses_nothing(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch, is_restarted: bool
) -> None:
    async with chapter(store) as session:
        session_id = session.id
        await play(session, 5)
    clock = SetBack(monkeypatch)
    async with opened(store, session_id, clock) as session:
        if not is_restarted:
            clock.set_back(is_restarted=False)
            await play(session, 4)
    if is_restarted:
        clock.set_back(is_restarted=True)
        async with opened(store, session_id, clock) as session:
            await play(session, 4)
    async with opened(store, session_id, clock) as session:
        sent = [await session.submit_prompt(Slot.RED, f"queued {number}") for number in range(4)]
        for request_id in sent:
            await done(session, request_id)
        await session.end_chapter()
        await session.wait_idle()
        await done(session, await session.build_narrative())
        assert session.snapshot.session.state is SessionState.ENDED
    events = await store.log(session_id)
    assert [event.text for event in events][18::2] == [f"queued {number}" for number in range(4)]
    summaries = [one for one in await store.calls.requests(session_id) if isinstance(one, SummaryRequest)]
    assert sorted(str(one.prompts) for one in summaries) == ["1–7", "8–13"]
    await asyncio.to_thread(Reader().check, plain_url(url), only=session_id)
