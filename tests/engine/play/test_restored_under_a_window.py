"""A window goes on with the chapter that a restore put in the place of its own, and tells what it is."""

import json
from pathlib import Path

import pytest

from core.domain.slot import Slot
from core.domain.story.event import Role
from core.engine.sync.notifications import CanonChanged
from core.exchange.session_export import read_body
from db.backups.dump import backup, restore
from db.store import PostgresStore
from tests.engine.windows import chapter, done, play

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("before", [0, 1])
async def test_a_window_shows_and_goes_on_with_the_chapter_that_was_restored_under_it(
    url: str, store: PostgresStore, tmp_path: Path, before: int
) -> None:
    async with chapter(store) as session:
        await play(session, before)
        await backup(url, tmp_path / "b.dump")
        await play(session, 2)
        await restore(url, tmp_path / "b.dump", replace=True)
        told: list[object] = []
        with session.listen() as listener:
            await done(session, await session.submit_prompt(Slot.RED, "Another prompt"))
            await session.wait_idle()
            session._writer.listeners.publish(CanonChanged(99))
            async for one in listener:
                told.append(one)
                if one == CanonChanged(99):
                    break
        assert CanonChanged(1) in told, "what was replaced is not shown any longer"
        canon = await session.reads.canon()
        asked = [event.text for event in canon if event.role is Role.USER]
        assert asked == [*(f"What now, prompt {number + 1}?" for number in range(before)), "Another prompt"]
        assert session.snapshot.session.prompt_index == before + 1
        body = await read_body(store, session.id)
        texts = {content.hash: content.text for content in body.contents}
        parts = [json.loads(texts[call.input_ref]) for call in body.artifacts]
        assert {part[-1] for manifest in parts for part in manifest} <= texts.keys(), "F7 shows all of a call"
