"""The style sheets of screens that keys open are there before the keys, and change nothing that shows."""

import asyncio
from typing import Any

import pytest
from textual.dom import DOMNode
from textual.pilot import Pilot

from storyengine_tui.shell import loading_ahead
from storyengine_tui.shell.loading_ahead import STYLES_OF_KEYS, load_ahead
from storyengine_tui.textual_ext.painting.style_cache import CachingStylesheet
from storyengine_tui.textual_ext.parts import Part
from tests.tui.engine_app import Desktop, make_active, until

pytestmark = [pytest.mark.anyio, pytest.mark.paints, pytest.mark.needs(Part.STYLE_CACHE)]


def text_of(pilot: Pilot[Any]) -> list[str]:
    """Return what shows, with its colours."""
    screen = pilot.app.screen
    return [str(strip.render(pilot.app.console)) for strip in screen._compositor.render_strips(screen.size)]


async def loaded(pilot: Pilot[Any]) -> None:
    """Wait until everything was loaded ahead."""
    sheet = pilot.app.stylesheet
    await until(pilot, lambda: all(sheet.has_source(str(path)) for path in STYLES_OF_KEYS))


async def test_the_first_f5_f6_and_f7_read_no_style_sheet_and_style_no_other_screen(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await loaded(pilot)
        styled: list[DOMNode] = []

        def noted(self: CachingStylesheet, root: DOMNode, animate: bool = False) -> None:
            styled.append(root)
            update(self, root, animate)

        update = CachingStylesheet.update
        monkeypatch.setattr(CachingStylesheet, "update", noted)
        for key in ("f5", "f6", "f7"):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.chapter)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)
        assert app not in styled


async def test_what_shows_looks_as_before_once_later_style_sheets_are_read(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = asyncio.Event()

    async def held(app: Any, turn: Any) -> None:
        await may_go_on.wait()
        await load_ahead(app, turn)

    monkeypatch.setattr("storyengine_tui.shell.app.load_ahead", held)
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await pilot.pause()
        before = text_of(pilot)
        assert not app.stylesheet.has_source(str(STYLES_OF_KEYS[1]))
        may_go_on.set()
        await loaded(pilot)
        await pilot.pause()
        assert text_of(pilot) == before


async def test_colours_of_an_older_theme_are_not_taken_over(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await loaded(pilot)
        sheet = app.stylesheet
        assert isinstance(sheet, CachingStylesheet)
        take_over = sheet.parsed_apart(loading_ahead.LATER_STYLES)
        sheet.set_variables({**app.get_css_variables(), "primary": "#010203"})
        take_over()
        assert not sheet._parse_cache.keys()
