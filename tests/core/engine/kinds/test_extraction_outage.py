"""The bank is read for again, without the GM, when the database was away for a moment."""

from collections.abc import Sequence

import pytest

from core.domain.bank.item import Item
from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.requests.request import RequestState
from tests.core.rooms.bank_room import extractions, fact, items, read, room, scan
from tests.core.rooms.takes_model import play
from tests.core.values.sessions import waiting

pytestmark = pytest.mark.anyio


async def test_a_database_that_cannot_be_read_for_a_moment_needs_no_retry_of_the_gm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = room(scan(facts=[fact()]))
    made.waits = waiting(3_600.0, background=0.0)
    behind, is_away = made.store.bank.taken_out, True

    async def taken_out(session_id: SessionId) -> Sequence[Item]:
        nonlocal is_away
        if is_away:
            is_away = False
            raise StorageError(ErrorCode.STORAGE_LOAD_FAILED)
        return await behind(session_id)

    monkeypatch.setattr(made.store.bank, "taken_out", taken_out)
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        [request] = await extractions(session)
        assert (request.state, request.attempts, is_away) == (RequestState.DONE, 2, False)
        assert len(await items(session)) == 1
