"""The whole app painted by difference: its terminal shows what one shows that is painted whole."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.geometry import Size
from textual.pilot import Pilot
from textual.screen import Screen

from core.domain.slot import Slot
from storyengine_tui.textual_ext.painting import diff_display
from storyengine_tui.textual_ext.painting.batched_screen import BatchedScreen
from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.chapters import chapter
from tests.tui.textual_ext.painting.two_terminals import ComparedApp, sure_window

pytestmark = pytest.mark.paints

WORDS = "The tide turns and 海 the bell rings, twice, for those who are late. "


@pytest.mark.anyio
@pytest.mark.parametrize("screen", [BatchedScreen, Screen])
async def test_a_chapter_is_played_and_both_terminals_agree(screen: type[Screen[None]]) -> None:
    app = ComparedApp(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.query_one(TranscriptView)
        view.show_window(sure_window(20))
        await pilot.pause()
        app.assert_same()
        view.begin_reply(Slot.BLUE, "Agent Blue", "21) And then?")
        for word in (WORDS * 4).split():
            view.stream(word + " ")
            view._streamed.end_frame()
            await pilot.pause()
            app.assert_same()
        for keys in ("abc def", ["pageup"], ["tab"], ["pageup", "up", "up", "pagedown", "end"]):
            await pilot.press(*keys)
            app.assert_same()
        await pilot.press("shift+up", "shift+left", "v", "up", "escape")
        app.assert_same()
        app.push_screen(ConfirmModal("Really?", "It cannot be undone."))
        await pilot.pause()
        app.assert_same()
        await pilot.press("right", "escape")
        app.assert_same()
        view.settle(sure_window(21, boundary=14))
        await pilot.pause()
        app.assert_same()
        app.theme = "textual-light"
        await pilot.pause()
        app.assert_same()
        assert app.sent < app.sent_plainly / 3


@pytest.mark.anyio
async def test_bytes_for_a_key_and_for_a_token_stay_small() -> None:
    """At most 300 a key, 260 a token at 60 tokens a second and 60 at 500, at 120×40."""
    size = 120, 40
    app = ComparedApp(size=size)
    async with app.run_test(size=size) as pilot:
        view = app.query_one(TranscriptView)
        view.show_window(chapter.window(100))
        app.query_one(CappedTextArea).focus()
        await pilot.press("a", "b")
        app.sent = 0
        await pilot.press(*"a key pressed")
        assert app.sent / 13 <= 150
        view.begin_reply(Slot.BLUE, "Agent Blue", "101) And then?")
        await pilot.pause()
        app.sent = 0
        for _ in range(40):
            view.stream("token ")
            view._streamed.end_frame()
            await pilot.pause()
        assert app.sent / 40 <= 260
        app.sent = 0
        for _ in range(10):
            for _ in range(500 // 30):
                view.stream("token ")
            view._streamed.end_frame()
            await pilot.pause()
        assert app.sent / 10 / (500 // 30) <= 60


@asynccontextmanager
async def showing_text() -> AsyncIterator[tuple[Pilot[None], ComparedApp]]:
    app = ComparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(TranscriptView).show_window(sure_window(20))
        await pilot.pause()
        yield pilot, app


@pytest.mark.anyio
async def test_redraw_paints_everything_anew() -> None:
    async with showing_text() as (pilot, app):
        app.ours.feed("\x1b[2Jsomething else wrote here")
        app.action_redraw()
        await pilot.pause()
        app.assert_same()


@pytest.mark.anyio
async def test_a_suspended_program_forgets_what_the_terminal_shows_and_repaints_it_when_resumed() -> None:
    async with showing_text() as (pilot, app):
        app.app_suspend_signal.publish(app)
        assert app._rows.width == 0
        app.ours.feed("\x1b[2J")
        app.app_resume_signal.publish(app)
        await pilot.pause()
        app.assert_same()


@pytest.mark.needs(Part.BATCHED_SCREEN)
@pytest.mark.anyio
async def test_a_new_size_is_laid_out_at_once_and_those_that_follow_it_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Textual lays out nothing for eight milliseconds; a window that is dragged sends a size for each."""
    app = ComparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        monkeypatch.setattr(diff_display, "monotonic", lambda: 1e9)
        monkeypatch.setattr(app, "set_timer", lambda *_: Stopped())
        for columns, laid_out in ((70, 70), (60, 70), (50, 70)):
            app.post_message(events.Resize(Size(columns, 24), Size(columns, 24)))
            await pilot.pause()
            await pilot.pause()
            assert app.query_one(TranscriptView).outer_size.width == laid_out
        app._check_resize()
        await pilot.pause()
        assert app.query_one(TranscriptView).outer_size.width == 50


class Stopped:
    """A timer that never comes round."""

    def stop(self) -> None:
        """Textual stops it when there is nothing left to wait for."""
