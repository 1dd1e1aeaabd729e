"""What was undone for good in a chapter cannot be redone in a copy of it."""

import pytest

from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId, new_uuid
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import from_json, read_body, to_json
from db.store import PostgresStore
from tests.engine.windows import chapter, play, window

pytestmark = pytest.mark.anyio


async def test_an_imported_chapter_redoes_no_prompt_that_the_exported_one_had_given_up(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        await play(session, 1)
        await session.takes.undo()
        await session.scene.narrate("It rains.")
        with pytest.raises(IllegalCommandError, match="nothing to redo"):
            await session.takes.redo()
        body = from_json(to_json(await read_body(store, session.id)))
    fresh = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, fresh))
    assert (await read_body(store, fresh)).takes == body.takes == ()
    async with window(store, session_id=fresh) as copy:
        with pytest.raises(IllegalCommandError, match="nothing to redo"):
            await copy.takes.redo()
