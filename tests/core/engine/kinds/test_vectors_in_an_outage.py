"""A call for vectors that was made is on record, also where its vectors cannot be stored for a moment."""

from collections.abc import Sequence

import pytest

from core.domain.bank.recall import ItemVector
from core.domain.errors import ErrorCode, StorageError
from core.gateway.embedding_records import EMBEDDING_VERSION
from tests.core.engine.queue.test_another_round import Away, added, meaningful

pytestmark = pytest.mark.anyio


async def test_vectors_that_cannot_be_stored_for_a_moment_leave_their_call_on_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = meaningful()
    monkeypatch.setattr(Away, "is_away", False)
    behind, is_away = made.store.bank.put_vectors, True

    async def put_vectors(model: str, vectors: Sequence[ItemVector]) -> None:
        nonlocal is_away
        if is_away:
            is_away = False
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)
        await behind(model, vectors)

    monkeypatch.setattr(made.store.bank, "put_vectors", put_vectors)
    async with made.opened() as session:
        await added(session, "The inn")
        calls = [one for one in await session.reads.artifacts() if one.prompt_version == EMBEDDING_VERSION]
        assert [call.error_code for call in calls] == [None, None]
        assert len(made.store.bank.vectors) == 1
