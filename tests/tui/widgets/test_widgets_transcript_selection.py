"""Selecting in the transcript by keyboard and mouse: a copy is the source text, without soft line breaks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot
from textual.selection import Selection
from textual.widgets import Static

from core.domain.slot import Slot
from core.domain.story.transcript import PieceKind
from storyengine_tui.widgets.reading.transcript_lines import ScreenPos, SourcePos
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.chapters import chapter
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = pytest.mark.anyio
SIZE = (40, 20)
GM_LINE = "1) What do you do when the light goes out for time number 1?"


def view_app() -> WidgetApp:
    return WidgetApp(lambda: [TranscriptView(), Static("", id="other")])


async def shown(app: WidgetApp, prompts: int = 3) -> TranscriptView:
    view = app.query_one(TranscriptView)
    view.focus()
    view.show_window(chapter.window(prompts))
    return view


async def test_a_copy_by_mouse_has_prefixes_and_no_soft_line_breaks() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app, 1)
        await pilot.pause()
        await pilot.mouse_down(view, offset=(0, 0))
        await pilot.hover(view, offset=(10, 3))
        await pilot.mouse_up(view, offset=(10, 3))
        await pilot.press("c")
        assert app.copied == [f"{GM_LINE}\n\nAgent Red: "[: len(GM_LINE) + 13]]
        assert [message.length for message in app.heard_of(TranscriptView.Copied)] == [len(app.copied[0])]


async def test_a_double_click_takes_one_event_and_a_triple_click_all() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app)
        await pilot.press("home")
        await pilot.click(view, offset=(3, 1), times=2)
        await pilot.press("ctrl+c")
        await pilot.click(view, offset=(3, 1), times=3)
        await pilot.press("ctrl+c")
        assert app.copied == [GM_LINE, chapter.window(3).text]


@asynccontextmanager
async def reading_from(place: int) -> AsyncIterator[tuple[Pilot[None], WidgetApp, TranscriptView]]:
    """A chapter of one prompt, whose reader is at this character of its first line."""
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app, 1)
        await pilot.pause()
        view.selection.anchor = view.selection.cursor = SourcePos(0, place)
        yield pilot, app, view


async def test_shift_extends_from_where_the_reader_is() -> None:
    async with reading_from(3) as (pilot, app, view):
        await pilot.press("shift+right", "shift+right", "shift+right", "shift+right", "c")
        assert app.copied == ["What"]
        await pilot.press("shift+end", "c")
        first = view.lines.line(0)
        assert first is not None
        assert app.copied[-1] == GM_LINE[3 : first[1].end]
        await pilot.press("shift+pagedown", "c")
        assert app.copied[-1] == view.text[3:]


async def test_a_selection_that_was_cleared_is_begun_anew() -> None:
    async with reading_from(0) as (pilot, app, view):
        await pilot.press("shift+right", "shift+left", "shift+right", "shift+right", "c")
        assert app.copied == ["1)"]
        await pilot.press("escape", "shift+end", "c")
        last = view.lines.line(view.lines.height - 1)
        assert last is not None
        assert app.copied[-1] == last[0].text[slice(*last[1])]


async def test_select_all_copies_everything() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app)
        await pilot.press("ctrl+a", "c")
        assert app.copied == [view.text]


async def test_marking_works_without_shift() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app, 1)
        await pilot.press("v", "home", *["up"] * 20, "space", *["right"] * 7, "c")
        assert app.copied == ["1) What"]
        assert not view.selection.is_marking
        await pilot.press("v", "escape")
        assert not view.selection.is_marking
        assert view.text_selection is None


async def test_marking_begins_at_the_newest_line_and_not_at_the_dashes_below_it() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app, 1)
        view.show_window(chapter.window(7, boundary=7))
        await pilot.pause()
        newest, dashes = view.lines.paragraphs[-2:]
        assert dashes.kind is PieceKind.BOUNDARY
        await pilot.press("v")
        assert view.selection.key == newest.key
        await pilot.press("down")
        assert view.selection.key == dashes.key


async def test_escape_passes_on_when_nothing_is_marked() -> None:
    app = view_app()
    async with app.running(SIZE):
        view = await shown(app)
        assert view.check_action("unmark", ()) is False
        assert view.check_action("copy", ()) is False
        view.action_select_all()
        assert view.check_action("copy", ()) is True


async def test_a_character_of_several_code_points_is_never_torn() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = app.query_one(TranscriptView)
        view.focus()
        view.begin_reply(Slot.RED, "A")
        view.stream("👩‍👩‍👧e\u0301x")
        await pilot.pause()
        app.screen.selections = {view: Selection((4, 0), (9, 0))}  # type: ignore[arg-type]  # bare offsets
        await pilot.press("c")
        assert app.copied == ["👩‍👩‍👧e\u0301"]


async def test_a_copy_of_a_blank_line_copies_nothing_and_says_nothing() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app, 1)
        await pilot.pause()
        app.screen.selections = {view: Selection((0, 2), (3, 2))}  # type: ignore[arg-type]  # bare offsets
        await pilot.press("c")
        assert app.copied == []
        assert app.heard_of(TranscriptView.Copied) == []


async def test_a_tab_is_copied_as_it_was_typed() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = app.query_one(TranscriptView)
        view.focus()
        view.begin_reply(Slot.RED, "A")
        view.stream("x\ty")
        await pilot.pause()
        await pilot.click(view, offset=(0, 0), times=2)
        await pilot.press("c")
        assert app.copied == ["A: x\ty"]
        assert view.render_line(0).text.rstrip() == "A: x    y"


@pytest.mark.parametrize("change", ["resize", "stream", "window"])
async def test_what_is_selected_stays_selected(change: str) -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app, 7)
        view.selection.select(SourcePos(3, 2), SourcePos(6, 5))
        await pilot.pause()
        selected = app.screen.get_selected_text()
        if change == "resize":
            await pilot.resize_terminal(27, 12)
        elif change == "stream":
            view.begin_reply(Slot.RED, "A", "8) x")
            view.stream("y")
        else:
            view.show_window(chapter.window(8, boundary=1))
        await pilot.pause()
        assert app.screen.get_selected_text() == selected


async def test_a_selection_whose_text_is_gone_is_cleared() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app)
        view.begin_reply(Slot.RED, "A", "4) x")
        view.selection.select(SourcePos(6, 0), SourcePos(7, 1))
        view.discard_reply()
        await pilot.pause()
        assert view.text_selection is None


async def test_a_cursor_whose_text_is_gone_stays_near_it_and_ends_without_any_text() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app)
        await pilot.press("v", "pagedown")
        assert view.selection.is_marking
        view.show_window(chapter.window(1))
        await pilot.pause()
        assert view.selection.place is not None, "keys that act on the cursor still act"
        assert view.selection.is_marking
        view.show_window(chapter.window(0))
        await pilot.pause()
        assert not view.selection.is_marking, "v puts a cursor on the text that comes next"


async def test_selected_text_keeps_its_colour() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app, 1)
        await pilot.pause()
        before = next(iter(view.render_line(0))).style
        view.action_select_all()
        await pilot.pause()
        after = next(iter(view.render_line(0))).style
        assert before is not None
        assert after is not None
        assert before.color == after.color
        assert before.bgcolor != after.bgcolor


async def test_the_cursor_of_marking_is_scrolled_into_sight() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = await shown(app, 30)
        await pilot.pause()
        await pilot.press("v", *["pageup"] * 4)
        assert view.selection.cursor is not None
        spot = view.lines.spot(view.selection.cursor)
        assert view.scroll_offset.y <= spot.y < view.scroll_offset.y + view.size.height
        assert view.lines.place(ScreenPos(0, spot.y)).paragraph == view.selection.cursor.paragraph
