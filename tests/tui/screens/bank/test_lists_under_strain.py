"""The lists of the memory bank: very long, in another window, and where nothing can be stored."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from textual.widgets import Static

from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import ItemId
from core.engine.engine import Engine
from storyengine_tui.screens.bank.bank_rows import cells_of
from tests.tui.chapters.banked_chapter import ITEMS, keep
from tests.tui.engine_app import Desktop, make_active, screen_text
from tests.tui.rooms.bank_tab import tab3

pytestmark = [pytest.mark.anyio, pytest.mark.paints]


async def test_of_five_thousand_items_only_those_in_view_are_painted(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = tuple(
        replace(ITEMS[4], id=ItemId(UUID(int=number)), name=f"Fact {number}") for number in range(1, 5_001)
    )

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), many)

    painted: list[str] = []

    def counted(row: Any, *rest: Any, **options: Any) -> list[str]:
        painted.append(row.item.name)
        return cells_of(row, *rest, **options)

    monkeypatch.setattr("storyengine_tui.screens.bank.item_list.cells_of", counted)
    async with tab3(desktop, make, shown="6") as tab:
        assert tab.count == "5,000 items · 5,000 new in list 6"
        assert len(set(painted)) <= 20
        await tab.press("end", "slash", *"fact 4999")
        assert tab.names == ["Fact 4999"]
        assert len(set(painted)) <= 200


async def test_a_change_that_cannot_be_stored_says_so_and_changes_nothing(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tab3(desktop) as tab:
        error = StorageError(ErrorCode.STORAGE_SAVE_FAILED, "The disk is full.", "Free some space.")

        async def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(tab.bank, "pin", fail)
        await tab.press("p")
        await tab.warned("The disk is full. Free some space.")
        assert not (await tab.stored(1)).is_pinned
        # Where the bank cannot be searched either, the list says nothing of a search that goes on.
        monkeypatch.setattr(tab.bank, "alike", fail)
        shown = tab.names
        await tab.press("d")
        await tab.until(lambda: tab.names == shown)


async def test_a_bank_that_could_not_be_read_is_read_with_what_happens_next(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tab3(desktop) as tab:

        async def fail(*_: object, **__: object) -> None:
            raise StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The database is away.")

        item = await tab.stored(1)
        with monkeypatch.context() as patch:
            patch.setattr(tab.bank, "accesses", fail)
            await tab.bank.edit(item, replace(item, name="Tobias the younger"))
            await tab.until(lambda: "The database is away." in screen_text(tab.app))
        assert "Tobias the younger" not in tab.names
        assert tab.app.session is not None
        await tab.app.session.edits.retitle("A dark night")
        await tab.until(lambda: "Tobias the younger" in tab.names)


async def test_the_titles_of_the_columns_stand_above_them_when_a_list_shows_first_and_in_another_window(
    desktop: Desktop,
) -> None:
    async with tab3(desktop, shown="6", size=(120, 40)) as tab:

        def are_above() -> bool:
            titles = tab.cell.query_one("#items-columns", Static)
            return titles.display and str(titles.content) == f" {tab.items.header()}"

        await tab.until(lambda: len(tab.items.header()) > 100)
        await tab.until(are_above)
        await tab.pilot.resize_terminal(100, 40)
        await tab.until(lambda: len(tab.items.header()) < 100)
        await tab.until(are_above)
