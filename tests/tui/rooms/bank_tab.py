"""Tab 3 with the lists of the memory bank, as tests use it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from core.domain.bank.item import Item
from core.engine.services.bank.bank import Bank
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.shell.app import StoryEngineApp
from tests.tui.chapters.banked_chapter import SCRIPT, by_number, make_banked
from tests.tui.engine_app import Desktop, until


class Tab:
    """Tab 3 as the GM sees it."""

    def __init__(self, pilot: Pilot[Any], app: StoryEngineApp) -> None:
        self.pilot, self.app = pilot, app

    @property
    def cell(self) -> MemoryCell:
        return self.app.chapter.query_one(MemoryCell)

    @property
    def items(self) -> ItemList:
        return self.cell.query_one(ItemList)

    @property
    def names(self) -> list[str]:
        return [row.item.name for row in self.cell.query_one(ItemList).rows]

    @property
    def title(self) -> str:
        return str(self.cell.query_one("#memory-title", Static).content)

    @property
    def count(self) -> str:
        return str(self.cell.query_one("#memory-count", Static).content)

    @property
    def offered(self) -> set[str]:
        """The keys of the list that are possible, by their names."""
        bindings = self.app.screen.active_bindings.values()
        return {one.binding.description for one in bindings if one.node is self.items and one.enabled}

    @property
    def bank(self) -> Bank:
        assert self.app.session is not None
        return self.app.session.bank

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, holds: Any, what: str = "") -> None:
        await until(self.pilot, holds, what)

    async def stored(self, number: int) -> Item:
        return by_number(await self.bank.items(with_all=True), number)

    async def said(self, words: str) -> None:
        await self.until(lambda: words in self.title, f"{words!r} is not in {self.title!r}")

    async def warned(self, sentence: str) -> None:
        def has_come() -> bool:
            return any(str(one.message) == sentence for one in self.app._notifications)

        await self.until(has_come, sentence)


@asynccontextmanager
async def tab3(
    desktop: Desktop, prepare: Any = make_banked, shown: str = "3", size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Tab]:
    """Open the program on tab 3, with a list of the bank shown."""
    desktop.script = SCRIPT
    async with desktop.window(prepare, size=size) as (pilot, app):
        tab = Tab(pilot, app)
        await pilot.press("f4")
        await tab.until(
            lambda: tab.cell.memory.is_known and tab.cell.keeps_bank and tab.cell.bank.rows is not None
        )
        await tab.press(shown)
        await tab.until(lambda: tab.items.has_focus)
        yield tab
