"""A call that another window stores while a chapter is read leaves an export that can be imported."""

from typing import Any

import pytest

from core.exchange.session_export import from_json, read_body, to_json
from db.store import PostgresStore
from tests.engine.windows import Wrapped, chapter, play, record_test_call

pytestmark = pytest.mark.anyio


async def test_a_call_that_is_stored_while_a_chapter_is_read_is_exported_with_its_request_or_not_at_all(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        await play(session, 1)

        class Busy(Wrapped):
            """Calls of which one is stored after the requests were read, once."""

            is_done = False

            async def artifacts(self, *arguments: Any, **more: Any) -> Any:
                if not self.is_done:
                    self.is_done = True
                    await record_test_call(session)
                return await self._inner.artifacts(*arguments, **more)

        body = await read_body(Wrapped(store, calls=Busy(store.calls)), session.id)
        assert {one.request_id for one in body.artifacts} <= {one.id for one in body.requests}
        assert from_json(to_json(body)) == body
