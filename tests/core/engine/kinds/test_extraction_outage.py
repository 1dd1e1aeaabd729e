"""The bank is read for again after an outage: of the database without the GM, and out of order."""

from collections.abc import Sequence

import pytest

from core.domain.bank.checks import problems_of_item
from core.domain.bank.item import Item
from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.requests.request import RequestState
from core.providers.scripted.script import Fault
from tests.core.rooms.bank_room import answer, extractions, fact, items, read, room, scan
from tests.core.rooms.takes_model import play
from tests.core.values.sessions import waiting

pytestmark = pytest.mark.anyio


async def test_a_database_that_cannot_be_read_for_a_moment_needs_no_retry_of_the_gm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = room(scan(facts=[fact()]))
    made.play = waiting(3_600.0, background=0.0)
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


async def test_a_part_that_is_read_late_replaces_nothing_that_was_played_after_it() -> None:
    later = fact(prompt=4, name="The key of brass", text="The brass key is under the mill, a thief knows.")
    made = room(
        scan(last="4)", facts=[later]),
        scan(fields={"fault": Fault.REQUEST_ERROR, "times": 1}),
        scan(facts=[fact(prompt=3)]),
        answer("bank_match", {"n1": "a"}),
        answer("bank_update", {"n1": {"change": "contradicts", "text": "The key lies under the mill."}}),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "4?", "5?", "6?")
        await read(session)
        [first, _] = await extractions(session)
        assert first.state is RequestState.FAILED
        await session.wait(await session.retry(first.id))
        assert [(one.prompt_index, one.name) for one in await items(session)] == [
            (3, "The brass key"),
            (6, "The key of brass"),
        ]
        assert not [problem for one in await items(session) for problem in problems_of_item(one)]
