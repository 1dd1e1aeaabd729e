"""A test call that the database does not take before the program ends is stored by the next writer."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from core.domain.requests.request_kinds import RequestKind
from core.engine.sync.notifications import StorageTrouble
from db.store import open_store
from tests.engine.windows import listening, playable, record_test_call, window
from tests.store.servers import PlainServer, plain_server

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def plain() -> Iterator[PlainServer]:
    with plain_server() as server:
        yield server


async def test_a_test_call_outlives_an_outage_in_which_the_program_ends(
    plain: PlainServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.engine.session.open_session.CLOSE_TIMEOUT_SECONDS", 0.1)
    folder = tmp_path / "unstored"
    async with aclosing(await open_store(plain.url, folder)) as store:
        session_id = await playable(store)
        async with window(store, session_id=session_id) as session, listening(session) as ears:
            await asyncio.to_thread(plain.stop)
            recording = asyncio.create_task(record_test_call(session))
            await ears.hear(StorageTrouble)
            assert len(list(folder.iterdir())) == 1, "a killed program loses as little"
        await asyncio.wait({recording})
        assert recording.cancelled() or recording.exception() is not None
    await asyncio.to_thread(plain.start)
    async with aclosing(await open_store(plain.url, folder)) as store:
        async with window(store, session_id=session_id):
            assert not list(folder.iterdir())
        [test] = [one for one in await store.calls.requests(session_id) if one.kind is RequestKind.TEST]
        [call] = await store.calls.artifacts(session_id, request_id=test.id)
        assert call.output_ref is not None
