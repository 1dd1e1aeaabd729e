"""The terminal's own cursor is where the GM types: input methods and screen readers go by it."""

import pytest
from textual.geometry import Offset

from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, in_front, make_active, make_draft, until

pytestmark = pytest.mark.anyio


def caret(app: StoryEngineApp) -> Offset:
    """Return where the terminal's cursor belongs: to the caret of the field in focus."""
    field = app.focused
    assert isinstance(field, CappedTextArea)
    assert field.content_region.contains_point(field.cursor_screen_offset)
    return field.cursor_screen_offset


async def test_the_cursor_is_in_the_panel_that_shows_after_a_prompt_is_sent_and_once_it_is_answered(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        assert app.session is not None
        first = app.focused
        await pilot.press(*"Who is there?")
        assert app.cursor_position == caret(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.focused is not first)
        assert app.cursor_position == caret(app), "the next panel shows"
        session = app.session
        await until(pilot, lambda: session.snapshot.session.prompt_index == 1)
        assert app.cursor_position == caret(app)


async def test_the_cursor_is_behind_a_text_that_waits_in_its_panel_after_a_restart(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (pilot, app):
        await pilot.press(*"Who?")
    async with desktop.window() as (_, app):
        field = app.focused
        assert isinstance(field, CappedTextArea)
        assert app.cursor_position == field.content_region.offset + Offset(len("Who?"), 0)


async def test_the_cursor_is_as_many_cells_behind_wide_characters_as_they_take(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (pilot, app):
        await pilot.press(*"a日本")
        field = app.focused
        assert isinstance(field, CappedTextArea)
        assert app.cursor_position == field.content_region.offset + Offset(5, 0)


async def test_the_cursor_is_in_a_panel_whose_text_is_longer_than_it_is_high(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (pilot, app):
        field = app.focused
        assert isinstance(field, CappedTextArea)
        field.insert("\n".join(map(str, range(60))))
        await until(pilot, lambda: field.scroll_offset.y > 0)
        assert app.cursor_position == caret(app)
        assert app.cursor_position.x == field.content_region.x + 2


async def test_the_cursor_follows_a_field_that_the_window_moves(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (pilot, app):
        before = caret(app)
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert app.cursor_position == caret(app) != before


async def test_the_cursor_is_at_the_button_in_focus_where_no_field_has_it(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        await pilot.press("f3")
        modal = await in_front(pilot, LockModal)
        assert modal.focused is not None
        assert modal.focused.region.contains_point(app.cursor_position)
