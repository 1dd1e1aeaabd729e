"""Tab 3: memory that the store is slow to give never hides what came meanwhile."""

import asyncio
from collections.abc import Sequence

import pytest

from core.domain.story.memory import MemoryBlock
from core.engine.session.session_reader import SessionReader
from tests.tui.engine_app import Desktop
from tests.tui.rooms.chapter_page import SCRIPT, chapter_page, make_ended

pytestmark = pytest.mark.anyio


class SlowStore:
    """Gives memory as it was when it was asked for, once it may."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.waiting: list[asyncio.Event] = []
        read = SessionReader.memory_blocks

        async def memory_blocks(reader: SessionReader) -> Sequence[MemoryBlock]:
            blocks, may_go_on = await read(reader), asyncio.Event()
            self.waiting.append(may_go_on)
            await may_go_on.wait()
            return blocks

        patch.setattr(SessionReader, "memory_blocks", memory_blocks)


async def test_a_block_that_comes_while_memory_is_read_is_shown_below_it(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page:
        before = len(page.memory.blocks)
        store = SlowStore(monkeypatch)
        page.pane.memory.reread()
        await page.until(lambda: store.waiting)
        await page.session.edits.correct_canon("Jonas holds the lamp.")
        store.waiting[0].set()
        await page.until(lambda: all(one.group != "memory" for one in page.app.workers))
        await page.until(lambda: len(page.memory.blocks) == before + 1, "the correction is not shown")


async def test_memory_that_was_read_ahead_does_not_replace_what_was_read_after_it(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page:
        before = len(page.memory.blocks)
        store = SlowStore(monkeypatch)
        page.pane.memory.forget()
        ahead = asyncio.create_task(page.pane.prepare())
        await page.until(lambda: store.waiting)
        await page.session.edits.correct_canon("Jonas holds the lamp.")
        page.pane.memory.reread()
        await page.until(lambda: len(store.waiting) == 2)
        store.waiting[1].set()
        await page.until(lambda: len(page.memory.blocks) == before + 1)
        store.waiting[0].set()
        await ahead
        assert len(page.memory.blocks) == before + 1
