"""The field that the GM writes in stays visible: in another chapter, on a smaller terminal, while typing."""

from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.pilot import Pilot

from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from storyengine_tui.screens.system.example_chapters import find_examples
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.conftest import settled
from tests.tui.engine_app import Desktop, filled, make_active, make_draft, screen_text, until
from tests.tui.frames import rendered

pytestmark = pytest.mark.anyio


def cursor_is_in_sight(app: StoryEngineApp) -> bool:
    area = app.focused
    assert isinstance(area, CappedTextArea)
    page = next(node for node in area.ancestors if isinstance(node, VerticalScroll))
    sight: Region = page.scrollable_content_region
    return sight.contains_point(area.cursor_screen_offset)


async def in_the_identity(pilot: Pilot[Any], app: StoryEngineApp) -> CappedTextArea:
    area = app.chapter.query_one("CharacterPanel .identity", CappedTextArea)
    area.focus()
    await until(pilot, lambda: app.focused is area)
    return area


async def test_the_keys_of_a_panel_that_is_only_read_offer_no_sending(desktop: Desktop) -> None:
    async def make_ended(engine: Any) -> None:
        session_id = await make_active(engine, 1)
        session = await engine.open(session_id)
        await session.end_chapter()
        await session.wait_idle()
        await session.aclose()

    async with desktop.window(make_ended, size=(120, 40)) as (pilot, app):
        await pilot.press("f3")
        area = app.chapter.query_one("PromptArea")
        area.focus()
        await until(pilot, lambda: app.focused is area)
        offered = [active.binding.description for active in app.screen.active_bindings.values()]
        assert not {"Send", "New line"} & set(offered)


async def test_the_characters_are_in_sight_while_the_world_is_written_and_another_chapter_from_its_top(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft, size=(80, 24)) as (pilot, app):
        await settled(pilot)
        assert app.focused is app.chapter.query_one("#world")
        assert "[1 Mira ✎]" in screen_text(app)
        await in_the_identity(pilot, app)
        await settled(pilot)
        assert "[1 Mira ✎]" in screen_text(app)
        await pilot.resize_terminal(120, 40)
        await settled(pilot)
        assert "[1 Mira ✎]" in screen_text(app)
        app.chapter.query_one("#world").focus()
        await settled(pilot)
        assert "[1 Mira ✎]" in screen_text(app)
        # Another chapter is seen from its top.
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        await in_the_identity(pilot, app)
        await settled(pilot)
        page = app.chapter.query_one("SetupPane #page")
        assert page.scroll_offset.y > 0
        before = app.session
        app.action_new_chapter()
        await until(pilot, lambda: app.session is not before and app.focused is not None)
        await settled(pilot)
        assert page.scroll_offset.y == 0
        assert app.focused is app.chapter.query_one("#world")
        assert cursor_is_in_sight(app)


async def test_an_example_opens_at_the_beginning_of_every_text(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    [example] = [one for one in find_examples() if one.title == "The Lamp at Grey Point"]
    async with desktop.window(size=(80, 24)) as (pilot, app):
        for size in ((80, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            await app.workspace.open_example(example)
            await settled(pilot)
            await pilot.press("ctrl+n")
            await settled(pilot)
            areas = [*app.chapter.query("#world, #chapter, .identity").results(CappedTextArea)]
            assert [area.scroll_offset.y for area in areas] == [0] * 4
            assert all(area.length > 100 for area in areas)
            assert [area.cursor_location for area in areas] == [(0, 0)] * 4


async def test_the_texts_of_a_chapter_that_is_opened_again_show_their_beginning(desktop: Desktop) -> None:
    text = "\n".join(f"Line {number}." for number in range(60))

    async def make_long(engine: Any) -> None:
        session = await engine.open(await engine.create())
        identities = {Slot.RED: text}
        await session.edits.edit_tab1(Tab1Edit(world=text, chapter=text, identities=identities))
        await session.edits.define_narrative(text, None)
        await session.aclose()

    async with desktop.window(make_long, size=(80, 24)) as (pilot, app):
        await filled(pilot, "narrative")
        await settled(pilot)
        areas = [*app.chapter.query("#world, #chapter, .identity, #definition").results(CappedTextArea)]
        assert len(areas) == 4
        assert {(area.cursor_location, area.scroll_offset.y) for area in areas} == {((0, 0), 0)}


async def test_what_has_the_focus_looks_different_and_the_line_that_is_written_stays_in_sight(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft, size=(120, 40)) as (pilot, app):
        for wanted in ("#character-count", "#panels"):
            widget = app.chapter.query_one(wanted)
            before = looks(app, widget.region)
            widget.focus()
            await settled(pilot)
            assert app.focused is widget
            after = looks(app, widget.region)
            assert [one for one in after if one not in before] != []
            assert any("reverse" in one or "underline" in one for one in after if one not in before)
        # The line that is written stays in sight on a smaller terminal.
        await in_the_identity(pilot, app)
        await pilot.press(*"line by line", *(["enter"] * 6))
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        assert cursor_is_in_sight(app)
        # Typing brings back what was scrolled away.
        await pilot.resize_terminal(80, 16)
        await in_the_identity(pilot, app)
        await settled(pilot)
        page = app.chapter.query_one("SetupPane #page")
        page.scroll_home(animate=False)
        await settled(pilot)
        assert not cursor_is_in_sight(app)
        await pilot.press("x")
        await settled(pilot)
        assert cursor_is_in_sight(app)


def looks(app: StoryEngineApp, region: Region) -> set[str]:
    """Return the styles of text within a region, without its colours."""
    strips = rendered(app)
    cells = [strips[y].crop(region.x, region.right) for y in range(region.y, region.bottom)]
    return {
        str(one.style and one.style.without_color) for strip in cells for one in strip if one.text.strip()
    }
