"""The panels of the characters while another chapter opens: a key may ask for one in the middle of it."""

import asyncio

import pytest

from core.domain.slot import Slot
from storyengine_tui.screens.setup.cast_panels import CastPanels
from storyengine_tui.screens.setup.setup_pane import SetupPane
from tests.tui.engine_app import Desktop, make_draft

pytestmark = pytest.mark.anyio


async def test_a_panel_is_shown_while_those_of_the_chapter_before_are_removed(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (_, app):
        pane = app.chapter.query_one(SetupPane)
        panels = pane.query_one(CastPanels)
        for slot in (Slot.ORANGE, Slot.RED):
            await pane._show_panel(slot)
        clearing = asyncio.create_task(panels.clear())
        await asyncio.sleep(0)
        await pane._show_panel(Slot.YELLOW)
        await clearing
        assert [slot for slot in Slot if slot in panels.names] == [Slot.YELLOW]
        assert panels.shown is not None
        assert panels.shown.is_attached


async def test_the_panels_are_removed_while_one_is_created(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (_, app):
        pane = app.chapter.query_one(SetupPane)
        panels = pane.query_one(CastPanels)
        showing = asyncio.create_task(pane._show_panel(Slot.YELLOW))
        await asyncio.sleep(0)
        await panels.clear()
        await showing
        assert not panels.names
        await pane._show_panel(Slot.RED)
        assert panels.shown is not None
