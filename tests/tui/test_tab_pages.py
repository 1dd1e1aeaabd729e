"""The pages of the tabs, which are made one after the other while the GM is at work already."""

import asyncio
from typing import Any

import pytest
from textual.screen import Screen

from storyengine_tui.screens.tab_pages import TabPages

pytestmark = pytest.mark.anyio


class SlowPage:
    """A page whose text takes a while to be stored."""

    def __init__(self) -> None:
        self.display = False
        self.flushing, self.gate = asyncio.Event(), asyncio.Event()

    async def attach(self, session: object) -> None: ...

    async def flush(self) -> None:
        self.flushing.set()
        await self.gate.wait()


async def test_a_page_that_is_attached_while_another_is_stored_is_stored_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = {"play": SlowPage(), "setup": SlowPage()}
    session: Any = object()

    async def make(self: TabPages, tab: str) -> Any:
        self._pages[tab] = made[tab]  # type: ignore[assignment]  # a double of a page
        return made[tab]

    monkeypatch.setattr(TabPages, "make", make)
    pages = TabPages(Screen())
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        await pages.attach("play", session)
        group.create_task(pages.flush())
        await made["play"].flushing.wait()
        await pages.attach("setup", session)
        made["play"].gate.set()
        await made["setup"].flushing.wait()
        made["setup"].gate.set()
