"""Fields of one line: the keys of one packet act in their order."""

import pytest
from textual import events
from textual.geometry import Offset

from storyengine_tui.widgets.fields.one_line import LONGEST_ENTRY, EntryField, FormField
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = pytest.mark.anyio


def type_at_once(app: WidgetApp, *keys: str) -> None:
    """Press keys without a pause, as a slow line brings them."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize("kind", [EntryField, FormField])
@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("a", "b", "c", "backspace", "backspace", "d"), "ad"),
        (("a", "b", "home", "c"), "cab"),
        (("a", "b", "home", "ctrl+e", "ctrl+u", "c", "d"), "cd"),
        (("a", "b", "home", "ctrl+g", "c"), "c"),
    ],
)
async def test_typing_never_overtakes_a_key(kind: type[EntryField], keys: tuple[str, ...], text: str) -> None:
    app = WidgetApp(lambda: [kind()])
    async with app.running() as pilot:
        type_at_once(app, *keys)
        await pilot.pause()
        assert app.query_one(kind).value == text


async def test_what_is_typed_behind_enter_is_in_the_next_field_of_a_form() -> None:
    app = WidgetApp(lambda: [FormField(), FormField()])
    async with app.running() as pilot:
        type_at_once(app, "a", "enter", "b")
        await pilot.pause()
        assert [field.value for field in app.query(FormField)] == ["a", "b"]


@pytest.mark.parametrize(("text", "keys", "cell"), [("", (), 0), ("a日本", (), 5), ("a日本", ("left",), 3)])
async def test_the_cursor_of_the_terminal_is_at_the_caret_of_a_field(
    text: str, keys: tuple[str, ...], cell: int
) -> None:
    app = WidgetApp(lambda: [EntryField(text, select_on_focus=False)])
    async with app.running() as pilot:
        await pilot.press(*keys)
        field = app.query_one(EntryField)
        assert field.cursor_screen_offset == field.content_region.offset + Offset(cell, 0)


async def test_the_cursor_of_the_terminal_stays_in_a_field_that_is_full() -> None:
    app = WidgetApp(lambda: [EntryField("x" * 500, select_on_focus=False)])
    async with app.running() as pilot:
        await pilot.press("home", "end")
        await pilot.pause()
        field = app.query_one(EntryField)
        assert field.content_region.contains_point(field.cursor_screen_offset)


async def test_a_paste_that_is_too_long_for_a_field_of_one_line_is_not_taken() -> None:
    app = WidgetApp(lambda: [EntryField("a"), FormField(max_length=3)])
    async with app.running() as pilot:
        for field, longest in ((app.query_one(EntryField), LONGEST_ENTRY), (app.query_one(FormField), 3)):
            app.screen.set_focus(field)
            app.post_message(events.Paste("x" * (longest + 1)))
            await pilot.pause()
            assert len(field.value) <= longest
