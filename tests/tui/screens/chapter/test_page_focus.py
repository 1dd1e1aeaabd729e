"""The focus of a page goes where the GM continues when its widget is removed."""

import pytest
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Button, Input

from storyengine_tui.screens.shared.page_focus import PageFocus
from tests.tui.engine_app import until

pytestmark = pytest.mark.anyio


class PageApp(App[None]):
    """A page with a button that goes, and a field in which the GM continues."""

    is_open = True

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Button("Retry")
            yield Input()

    def on_mount(self) -> None:
        page = self.query_one(VerticalScroll)
        self.page_focus = PageFocus(page, is_open=lambda: self.is_open, go_on=self.go_on)
        self.page_focus.watch()
        self.page_focus.move_to(self.query_one(Button))

    def go_on(self) -> None:
        self.page_focus.move_to(self.query_one(Input))


async def test_the_focus_of_a_removed_button_goes_where_the_gm_continues() -> None:
    app = PageApp()
    async with app.run_test() as pilot:
        assert app.focused is app.query_one(Button)
        # Focusing nothing first: Textual itself would choose the next widget.
        app.screen.set_focus(None)
        await app.query_one(Button).remove()
        await until(pilot, lambda: app.focused is app.query_one(Input))


async def test_a_page_without_a_chapter_takes_no_focus() -> None:
    app = PageApp()
    app.is_open = False
    async with app.run_test() as pilot:
        app.screen.set_focus(None)
        await pilot.pause()
        assert app.focused is None
