"""Who hides, shows or has another size is told of it where that makes a difference."""

from collections import Counter
from typing import Any

import pytest
from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from storyengine_tui.textual_ext.painting.batched_screen import BatchedScreen
from storyengine_tui.textual_ext.parts import Part
from tests.tui.engine_app import Desktop, make_active, until

pytestmark = [pytest.mark.anyio, pytest.mark.paints]

SIZE = (60, 40)
PLACING = events.Show, events.Hide, events.Resize
MOST_TOLD_IN_A_CHANGE_OF_TAB = 12
"""Of some 130 messages that Textual sends: to the page, to texts, and to what has a scroll bar and those."""


class Kept(Static):
    """Keeps what it hears."""

    def __init__(self) -> None:
        super().__init__("listening")
        self.heard: list[str] = []

    def keep(self, event: events.Event) -> None:
        self.heard.append(type(event).__name__)


class ByName(Kept):
    def on_show(self, event: events.Show) -> None:
        self.keep(event)

    def _on_hide(self, event: events.Hide) -> None:
        self.keep(event)

    def on_resize(self, event: events.Resize) -> None:
        self.keep(event)


class Heir(ByName):
    """Hears what the kind that it comes from hears."""


class ByDecorator(Kept):
    @on(events.Show)
    @on(events.Hide)
    @on(events.Resize)
    def _handle(self, event: events.Event) -> None:
        self.keep(event)


class ByHand(Kept):
    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, PLACING):
            self.keep(event)
        await super().on_event(event)


class ByAnyEvent(Kept):
    @on(events.Event)
    def _handle(self, event: events.Event) -> None:
        if isinstance(event, PLACING):
            self.keep(event)


class Mixin:
    def on_hide(self, event: events.Hide) -> None:
        assert isinstance(self, Kept)
        self.keep(event)


class ByMixin(Kept, Mixin):
    """Hears that it hides, and nothing else."""


class Shown(Kept):
    """Hears that it shows; Textual tells it its size as well, which it does not listen to."""

    def on_show(self, event: events.Show) -> None:
        self.keep(event)


LISTENERS = ByName, Heir, ByDecorator, ByHand, ByAnyEvent
OF_ONE = ByMixin, Shown


class Pages(BatchedScreen[None]):
    """Two pages, of which one shows."""

    AUTO_FOCUS = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="first", classes="page"):
            for listener in LISTENERS + OF_ONE:
                yield listener()
            yield Input(id="field")
            with VerticalScroll(id="scrolled"):
                yield Static("long", id="long")
        with Vertical(id="second", classes="page"):
            yield Static("second")
            yield Input(id="other")

    def turn(self, page: str) -> None:
        for one in ("first", "second"):
            self.query_one(f"#{one}").display = one == page


class PagesApp(App[None]):
    CSS = "#long { height: 99; }"

    def get_default_screen(self) -> Screen[None]:
        return Pages()


class Told:
    """Counts the messages that tell a widget where it is, by the kind of widget."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.kinds: Counter[str] = Counter()
        post_message = Widget.post_message

        def counted(widget: Widget, message: Message) -> Any:
            if isinstance(message, PLACING):
                self.kinds[type(widget).__name__] += 1
            return post_message(widget, message)

        patch.setattr(Widget, "post_message", counted)


async def test_who_listens_hears_every_time() -> None:
    shown = ["Resize", "Show"]
    of_all: dict[type[Kept], list[str]] = {
        listener: [*shown, "Hide", *shown, "Resize"] for listener in LISTENERS
    }
    expected = of_all | {ByMixin: ["Hide"], Shown: ["Show", "Show"]}
    app = PagesApp()
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, Pages)
        everyone = [*screen.query(Kept)]

        async def all_heard(what: str, times: int) -> None:
            told = [kept for kept in everyone if what in expected[type(kept)]]
            # A pause may end with the layout, before what it says has been heard.
            await until(pilot, lambda: all(kept.heard.count(what) == times for kept in told), what)

        await all_heard("Show", 1)
        screen.turn("second")
        await all_heard("Hide", 1)
        screen.turn("first")
        await all_heard("Show", 2)
        await pilot.resize_terminal(SIZE[0] - 5, SIZE[1])
        await all_heard("Resize", 3)
        assert {type(kept): kept.heard for kept in everyone} == expected


def test_every_widget_does_at_its_hiding_and_showing_what_it_did_when_nobody_else_was_told() -> None:
    """Another version of Textual may have a widget do more; then more are to be told."""
    handled = {
        (base.__name__, name)
        for base in Widget.__mro__
        for event in PLACING
        for name in vars(base).keys() & {event.handler_name, f"_{event.handler_name}"}
    }
    assert handled == {("Widget", "_on_show"), ("Widget", "_on_hide")}
    assert not any(vars(base).get("_decorated_handlers") for base in Widget.__mro__)


@pytest.mark.needs(Part.COMPOSITOR)
async def test_who_does_not_listen_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    app = PagesApp()
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, Pages)
        await pilot.pause()
        told = Told(monkeypatch)
        for page in ("second", "first"):
            screen.turn(page)
            await pilot.pause()
        # What has a scroll bar tells it, so that it lets go of the mouse.
        listeners = {listener.__name__: 3 for listener in LISTENERS}
        assert told.kinds == {**listeners, "ByMixin": 1, "Shown": 2, "VerticalScroll": 1, "ScrollBar": 1}


async def test_a_field_that_hides_lets_go_of_the_focus() -> None:
    app = PagesApp()
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, Pages)
        field = screen.query_one("#field")
        screen.set_focus(field)
        await pilot.pause()
        assert screen.focused is field
        screen.turn("second")
        await until(pilot, lambda: screen.focused is not field)


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_scroll_bar_that_hides_lets_go_of_the_mouse(is_known: bool) -> None:
    app = PagesApp()
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, Pages)
        await pilot.pause()
        bar = screen.query_one("#scrolled").vertical_scrollbar
        if is_known:
            await pilot.mouse_down(bar)
        else:
            # It is still to hear that it has the mouse when the page is laid out without it.
            await pilot.hover(bar)
            bar.action_grab()
        assert app.mouse_captured is bar
        screen.turn("second")
        await until(pilot, lambda: app.mouse_captured is None)
        await until(pilot, lambda: bar.grabbed is None)


@pytest.mark.needs(Part.COMPOSITOR)
async def test_a_change_of_tab_tells_few(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desktop.window(lambda engine: make_active(engine, 2), size=(120, 40)) as (pilot, _app):
        for key in ("f4", "f3", "f2", "f3"):
            await pilot.press(key)
            await pilot.pause()
        for key in ("f4", "f3", "f2"):
            with monkeypatch.context() as patch:
                told = Told(patch)
                await pilot.press(key)
                await pilot.pause()
            assert 1 <= told.kinds.total() <= MOST_TOLD_IN_A_CHANGE_OF_TAB, told.kinds
