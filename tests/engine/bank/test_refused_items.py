"""Items that the store refuses: the answers behind them are asked for again at the next retry."""

import pytest

from core.domain.errors import ErrorCode, StorageError
from core.domain.requests.request import RequestState
from core.engine.engine import Engine
from db.store import PostgresStore
from tests.core.rooms.bank_room import calls, extractions, fact, items, read, scan
from tests.engine.bank.test_bank import REPLIES
from tests.engine.bank.test_embedding_calls import plan
from tests.engine.windows import CHOICES, Outage, play, playable, scripted

pytestmark = pytest.mark.anyio


async def test_a_part_whose_items_the_store_refuses_is_asked_about_again_also_where_vectors_were_made(
    store: PostgresStore,
) -> None:
    """The calls for vectors are on record as well, and have numbers of their own."""
    outage = Outage(store)
    engine = Engine(outage, scripted(scan(facts=[fact()]), REPLIES), CHOICES, label="test", embedding=plan())
    session = await engine.open(await playable(store, chunk_size=3))
    await session.keeping.keep(is_on=True)
    refusal = StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
    outage.fail(1, refusal, lambda changes: changes.items)
    await play(session, 3)
    await read(session)
    [part] = await extractions(session)
    assert (part.has_failed, part.error_code) == (True, ErrorCode.STORAGE_SAVE_FAILED)
    for asked in (2, 3):
        outage.fail(1 if asked == 2 else 0, refusal, lambda changes: changes.items)
        request = await session.wait(await session.retry(part.id))
        made = [
            one for one in await calls(session) if one.output_ref and "embedding" not in one.prompt_version
        ]
        assert len(made) == asked
    assert request.state is RequestState.DONE
    assert len(await items(session)) == 1
    await session.aclose()
    await engine.aclose()
