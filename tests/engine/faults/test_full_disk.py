"""A paid reply that comes while the disk of the database and of the program has not a byte free."""

import asyncio
import os

import pytest

from core.domain.requests.request import RequestState
from core.engine.sync.notifications import StorageTrouble
from core.providers.scripted.script import Entry
from db.embedded.server import EmbeddedServer
from db.embedded.watchdog import keep_alive
from db.store import open_store
from tests.engine.faults.test_storage_faults import PATIENCE, fill, small_disk
from tests.engine.windows import GatedModel, listening, playable, scripted, streaming, window
from tests.store.servers import plain_url
from tests.torture.readers.reader import Reader

pytestmark = pytest.mark.anyio


async def test_a_reply_that_comes_while_the_disk_is_full_outlives_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = " ".join(os.urandom(12).hex() for _ in range(1_000))  # more than the pages at hand have room for
    with small_disk() as disk:
        server = EmbeddedServer(disk / "postgres", grace=0.0)
        url = await server.acquire_async(PATIENCE)
        async with keep_alive(server, every=0.1):
            store, model = await open_store(url, disk / "unstored"), GatedModel(scripted(Entry(text=text)))
            session_id = await playable(store)
            with monkeypatch.context() as patience:
                patience.setattr("core.engine.session.open_session.CLOSE_TIMEOUT_SECONDS", 0.1)
                patience.setattr("core.engine.queue.worker.Worker.patience", 0.1)
                async with window(store, model, session_id) as session, listening(session) as ears:
                    await streaming(session, ears)
                    ballast = await asyncio.to_thread(fill, disk)
                    model.gate.set()
                    await ears.hear(StorageTrouble)
                    [kept] = (disk / "unstored").glob("*.json")
                    assert text in kept.read_text("utf-8")
            await store.aclose()
            await asyncio.to_thread(ballast.unlink)
            store = await open_store(url, disk / "unstored")
            again = GatedModel()
            async with window(store, again, session_id) as session:
                assert session.snapshot.session.prompt_index == 1
            assert again.calls == []
            assert {one.state for one in await store.calls.requests(session_id)} == {RequestState.DONE}
            assert [event.text for event in await store.log(session_id)] == ["One", text]
            await store.aclose()
            await asyncio.to_thread(Reader().check, plain_url(url))
        await asyncio.to_thread(server.release)
