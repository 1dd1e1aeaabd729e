"""The first visit to a tab that was laid out in the background is no slower than later ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from rich.color import ColorSystem
from textual.document._wrapped_document import WrappedDocument
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TabPane

from core.domain.story.memory import MemoryBlock
from storyengine_tui.screens.chapter import tab_pages
from storyengine_tui.screens.chapter.tab_pages import IdleDetector
from storyengine_tui.screens.narrative.memory import memory_loader
from storyengine_tui.screens.narrative.memory.block_reader import BlockReader
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.textual_ext.painting.compositor import FrontCompositor, difference
from storyengine_tui.textual_ext.painting.screen_buffer import ScreenBuffer
from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.widgets.reading.transcript_lines import TranscriptLines
from tests.tui.engine_app import Desktop, filled, make_active, screen_text, until

pytestmark = [pytest.mark.anyio, pytest.mark.paints]

SIZE = (120, 40)


@asynccontextmanager
async def playing(desktop: Desktop) -> AsyncIterator[tuple[Pilot[Any], StoryEngineApp]]:
    """A chapter that was played and summarised, on tab 2."""
    async with desktop.window(lambda engine: make_active(engine, 8), size=SIZE) as (pilot, app):
        await filled(pilot, "setup", "narrative")
        assert app.chapter.active_tab == "play"
        yield pilot, app


async def prepare(app: StoryEngineApp) -> None:
    """Do the background work of an idle moment."""
    for tab in ("setup", "narrative"):
        page = app.chapter._pages.get_page(tab)
        assert page is not None
        await page.prepare()
        await app.chapter._pages.lay_out_behind(tab)


async def test_nothing_is_sent_and_nothing_moves(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(desktop) as (pilot, app):
        rows, sent = ScreenBuffer(*SIZE), []
        difference(rows, app.chapter._compositor.render_update(full=True), ColorSystem.TRUECOLOR)
        render_update = FrontCompositor.render_update

        def kept(self: FrontCompositor, *arguments: Any, **options: Any) -> Any:
            update = render_update(self, *arguments, **options)
            if update is not None:
                sent.append(difference(rows, update, ColorSystem.TRUECOLOR))
            return update

        monkeypatch.setattr(FrontCompositor, "render_update", kept)
        before, focused = screen_text(app), app.focused
        await prepare(app)
        await pilot.pause()
        assert "".join(sent) == ""
        assert screen_text(app) == before
        assert app.focused is focused is not None
        assert [pane.id for pane in app.chapter.query(TabPane) if pane.display] == ["play"]


@pytest.mark.needs(Part.TEXT_WRAP)
async def test_a_first_visit_then_wraps_no_text(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped: list[object] = []
    wrap, rewrap = WrappedDocument.wrap, TranscriptLines.set_width

    def counted_wrap(self: WrappedDocument, *arguments: Any, **options: Any) -> None:
        wrapped.append(self)
        wrap(self, *arguments, **options)

    def counted_rewrap(self: TranscriptLines, width: int) -> int:
        wrapped.append(self)
        return rewrap(self, width)

    async with playing(desktop) as (pilot, app):
        await prepare(app)
        shown = {}
        with monkeypatch.context() as patch:
            patch.setattr(WrappedDocument, "wrap", counted_wrap)
            patch.setattr(TranscriptLines, "set_width", counted_rewrap)
            for key in ("f4", "f2"):
                await pilot.press(key)
                await pilot.pause()
                shown[key] = screen_text(app)
        assert not wrapped
        assert "Structured memory" in shown["f4"]
        assert "A lighthouse on a rock." in shown["f2"]
        assert app.focused is not None
        assert app.focused.id == "world"


async def test_memory_is_read_before_it_is_looked_at_unless_it_is_long(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(desktop) as (_, app):
        page, memory = app.chapter.query_one(NarrativePane), app.chapter.query_one(MemoryCell).memory
        monkeypatch.setattr(memory_loader, "PAGE", 0)
        await page.prepare()
        assert not memory.blocks
        monkeypatch.undo()
        await prepare(app)
        assert len(memory.blocks) == 2
        assert app.focused is not None
        assert page not in app.focused.ancestors


async def test_memory_that_arrives_while_the_tab_is_hidden_is_shown_on_the_next_visit(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []
    append = BlockReader.append

    def counted(self: BlockReader, *blocks: MemoryBlock) -> None:
        shown.append(len(blocks))
        append(self, *blocks)

    monkeypatch.setattr(BlockReader, "append", counted)
    async with playing(desktop) as (pilot, app):
        await prepare(app)
        session = app.session
        assert session is not None
        for number in range(9, 23):
            slot = session.snapshot.session.next_slot
            await session.wait(await session.submit_prompt(slot, f"Prompt number {number}."))
        await session.wait_idle()
        await pilot.pause()
        assert not shown
        await pilot.press("f4")
        await until(pilot, lambda: len(app.chapter.query_one(MemoryCell).memory.blocks) == 4)
        assert shown == [2]
        assert "15–21" in screen_text(app)


async def test_a_tab_that_is_opened_during_its_background_layout_stays_open(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(desktop) as (pilot, app):
        pages, pane = app.chapter._pages, app.chapter.query_one("#setup", TabPane)
        chain: list[Widget] = []
        laid_out = pages._wait_for_layout

        async def come(shown: Widget) -> None:
            await laid_out(shown)
            assert pane.region.height > 0
            chain.extend(app.chapter.focus_chain)
            await pilot.press("f2")

        monkeypatch.setattr(pages, "_wait_for_layout", come)
        await pages.lay_out_behind("setup")
        await pilot.pause()
        assert chain
        assert not [widget for widget in chain if pane in widget.ancestors], "Tab goes to what is seen"
        assert [shown.id for shown in app.chapter.query(TabPane) if shown.display] == ["setup"]
        assert "A lighthouse on a rock." in screen_text(app)
        assert pane.layer == "default"
        await pilot.press("f3")
        assert not pane.display


async def test_a_page_is_left_alone_while_a_dialog_is_in_front(desktop: Desktop) -> None:
    async with playing(desktop) as (pilot, app):
        await app.push_screen(Screen())
        await app.chapter._pages.lay_out_behind("setup")
        assert not app.chapter.query_one("#setup", TabPane).region
        app.pop_screen()
        await pilot.pause()


async def test_the_gm_is_idle_when_no_key_was_pressed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tab_pages, "IDLE_SECONDS", 0.3)
    waited = IdleDetector()
    coming = asyncio.create_task(waited.wait_until_idle())
    for _ in range(20):
        await asyncio.sleep(0)
        waited.touch()
    assert not coming.done()
    await asyncio.wait_for(coming, 60)
    assert waited.seconds >= 0.3
    await asyncio.wait_for(waited.wait_until_idle(), 60)  # It still is.
    monkeypatch.setattr(tab_pages, "IDLE_SECONDS", 3_600.0)
    waited.touch()
    coming = asyncio.create_task(waited.wait_until_idle())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not coming.done()
    coming.cancel()
