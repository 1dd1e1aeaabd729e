"""A window goes on with the chapter that a restore put in the place of its own, and tells what it is."""

import asyncio
import json
from pathlib import Path

import pytest

from core.domain.errors import SessionLockedError
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import CanonChanged
from core.exchange.session_export import read_body
from db.backups.dump import backup, restore
from db.store import PostgresStore
from tests.engine.windows import chapter, done, end_writers, play, window

pytestmark = pytest.mark.anyio


async def heard_of_a_prompt(session: SessionHandle) -> list[object]:
    """Send a prompt, and return the notices until its reply is stored."""
    told: list[object] = []
    with session.listen() as listener:
        await done(session, await session.submit_prompt(Slot.RED, "Another prompt"))
        await session.wait_idle()
        session._writer.listeners.publish(CanonChanged(99))
        async for one in listener:
            told.append(one)
            if one == CanonChanged(99):
                break
    return told


async def lacks_no_text(session: SessionHandle) -> bool:
    """Whether F7 shows all of the inputs of the chapter."""
    body = await read_body(session._store, session.id)
    texts = {content.hash: content.text for content in body.contents}
    parts = [json.loads(texts[call.input_ref]) for call in body.artifacts]
    return {part[-1] for manifest in parts for part in manifest} <= texts.keys()


@pytest.mark.parametrize("before", [0, 1])
async def test_a_window_shows_and_goes_on_with_the_chapter_that_was_restored_under_it(
    url: str, store: PostgresStore, tmp_path: Path, before: int
) -> None:
    async with chapter(store) as session:
        await play(session, before)
        await backup(url, tmp_path / "b.dump")
        await play(session, 2)
        await restore(url, tmp_path / "b.dump", replace=True)
        assert CanonChanged(1) in await heard_of_a_prompt(session), (
            "what was replaced is not shown any longer"
        )
        canon = await session.reads.canon()
        asked = [event.text for event in canon if event.role is Role.USER]
        assert asked == [*(f"What now, prompt {number + 1}?" for number in range(before)), "Another prompt"]
        assert session.snapshot.session.prompt_index == before + 1
        assert await lacks_no_text(session)


async def test_a_window_shows_other_prompts_of_the_same_number_that_were_restored_under_it(
    url: str, store: PostgresStore, tmp_path: Path
) -> None:
    async with chapter(store) as session:
        await backup(url, tmp_path / "b.dump")
        await play(session, 2)
        await backup(url, tmp_path / "others.dump")
        await restore(url, tmp_path / "b.dump", replace=True)
        await play(session, 2)
        await restore(url, tmp_path / "others.dump", replace=True)
        assert CanonChanged(1) in await heard_of_a_prompt(session)


async def test_a_window_shows_a_chapter_before_an_undo_that_was_restored_under_it(
    url: str, store: PostgresStore, tmp_path: Path
) -> None:
    async with chapter(store) as session:
        await play(session, 2)
        await backup(url, tmp_path / "b.dump")
        await session.takes.undo()
        await play(session, 2)
        await restore(url, tmp_path / "b.dump", replace=True)
        assert CanonChanged(1) in await heard_of_a_prompt(session)


async def test_a_window_that_takes_over_a_restored_chapter_stores_all_texts_of_its_calls(
    url: str, store: PostgresStore, tmp_path: Path
) -> None:
    async with chapter(store) as session:
        await backup(url, tmp_path / "b.dump")
        await play(session, 2)
        await asyncio.to_thread(end_writers, url)
        async with window(store, None, session.id, label="second window"):
            with pytest.raises(SessionLockedError):
                await session.submit_prompt(Slot.RED, "One more")
        await restore(url, tmp_path / "b.dump", replace=True)
        assert await session.take_over()
        await play(session, 1)
        assert await lacks_no_text(session)
