"""A screen that paints what changed, and no more, shows the same as Textual's own."""

from itertools import product
from typing import Any

import pytest
from rich.color import ColorSystem
from textual import events
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from storyengine_tui.textual_ext.painting.batched_screen import BatchedScreen
from storyengine_tui.textual_ext.painting.compositor import FrontCompositor, difference
from storyengine_tui.textual_ext.painting.screen_buffer import Row, ScreenBuffer
from storyengine_tui.textual_ext.parts import PLAIN_OUTPUT, Part
from tests.tui.engine_app import until

pytestmark = [pytest.mark.anyio, pytest.mark.paints]

SIZE = (60, 20)


class Nested(BatchedScreen[None]):
    """Cells within cells, one of them scrolled, and something that lies above."""

    def compose(self) -> ComposeResult:
        yield Static("above\nall\nelse", id="above")
        with Vertical(classes="cell"):
            with VerticalScroll(classes="cell", id="scrolled"):
                for number in range(30):
                    yield Static(f"line {number} " * 4, id=f"line-{number}")
            with Horizontal(classes="cell"):
                yield Static("left", id="left")
                yield Static("right", id="right")
        yield Input(id="first")
        yield Input(id="second")


class NestedApp(App[None]):
    CSS = """
    Nested { layers: base above; }
    .cell { border: round white; padding: 0 1; height: 1fr; }
    #above { layer: above; dock: right; width: 13; height: 3; background: blue; }
    """

    def get_default_screen(self) -> Screen[None]:
        return Nested()


def shown(update: object) -> list[Row]:
    """Return what a terminal shows that was sent this update and nothing before it."""
    rows = ScreenBuffer(*SIZE)
    difference(rows, update, ColorSystem.TRUECOLOR)
    return rows._rows


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
async def test_every_part_of_the_screen_is_painted_as_textual_paints_it() -> None:
    async with NestedApp().run_test(size=SIZE) as pilot:
        screen = pilot.app.screen
        ours = screen._compositor
        assert isinstance(ours, FrontCompositor)
        whole = Region(0, 0, *SIZE)
        apart = {Region(3, 2, 20, 4), Region(18, 4, 30, 9), Region(50, 15, 10, 5)}
        for scrolled in (0, 7):
            screen.query_one("#scrolled").scroll_to(y=scrolled, animate=False, force=True)
            await pilot.pause()
            for changed in (*({Region(0, top, SIZE[0], 1 + top % 5)} for top in range(15)), {whole}, apart):
                ours._dirty_regions = set(changed)
                as_textual = Compositor.render_update(ours)
                ours._dirty_regions = set(changed)
                seen, as_textual_shows = shown(ours.render_update()), shown(as_textual)
                for y, x in product(range(SIZE[1]), range(SIZE[0])):
                    # Textual paints a little more, up to where a widget begins.
                    is_changed = any(region.contains(x, y) for region in changed)
                    assert seen[y][x] == (as_textual_shows[y][x] if is_changed else None)


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
async def test_what_changed_outside_the_screen_is_left_out() -> None:
    async with NestedApp().run_test(size=SIZE) as pilot:
        compositor = pilot.app.screen._compositor
        compositor._dirty_regions = {Region(-5, 18, 200, 9), Region(SIZE[0], 0, 4, 4), Region(0, -3, 9, 2)}
        seen = shown(compositor.render_update())
        assert [y for y in range(SIZE[1]) if any(seen[y])] == [18, 19]


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
async def test_what_lies_behind_or_elsewhere_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    render_lines = Widget.render_lines

    def counted(self: Widget, crop: Region) -> list[Strip]:
        asked.append((self.id or type(self).__name__, crop.height))
        return render_lines(self, crop)

    async with NestedApp().run_test(size=SIZE) as pilot:
        await pilot.pause()
        monkeypatch.setattr(Widget, "render_lines", counted)
        pilot.app.screen.query_one("#second", Input).value = "typed"
        await until(pilot, lambda: asked, "nothing is painted")
        await pilot.pause()
        assert {name for name, _ in asked} == {"second"}


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
async def test_another_focus_paints_the_two_fields_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async with NestedApp().run_test(size=SIZE) as pilot:
        pilot.app.screen.query_one("#first").focus()
        await pilot.pause()
        asked: set[str | None] = set()
        render_lines = Widget.render_lines

        def counted(self: Widget, crop: Region) -> list[Strip]:
            asked.add(self.id)
            return render_lines(self, crop)

        monkeypatch.setattr(Widget, "render_lines", counted)
        await pilot.press("tab")
        await until(pilot, lambda: {"first", "second"} <= asked, "the fields are not painted")
        await pilot.pause()
        assert not asked & {"scrolled", "left", "right", "above"}


class Hearing(Static):
    """Shows what size it was told, once it was told; where that is its own doing, it asks for more room."""

    def on_resize(self, event: events.Resize) -> None:
        self.update(f"told {event.size.width}", layout=False)
        self.query_ancestor(Turning).query_one("#tail", Static).styles.height = 2 + event.size.width % 2


class Turning(BatchedScreen[None]):
    """Two pages, of which one shows."""

    def compose(self) -> ComposeResult:
        yield Vertical(Hearing(id="hearing"), id="first", classes="page")
        yield Vertical(Static("second"), id="second", classes="page")
        yield Static("tail", id="tail")

    def turn(self, page: str) -> None:
        for one in ("first", "second"):
            self.query_one(f"#{one}").display = one == page


class TurningApp(App[None]):
    CSS = ".page { height: 1fr; }"

    def get_default_screen(self) -> Screen[None]:
        return Turning()


def text_of(update: object) -> str:
    return "\n".join("".join(cell.text for cell in row if cell) for row in shown(update))


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
async def test_what_widgets_make_of_their_new_size_is_painted_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    updates: list[str] = []
    render_update = FrontCompositor.render_update

    def kept(self: FrontCompositor, *arguments: Any, **options: Any) -> Any:
        update = render_update(self, *arguments, **options)
        if update is not None:
            updates.append(text_of(update))
        return update

    async with TurningApp().run_test(size=SIZE) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, Turning)
        screen.turn("second")
        await pilot.pause()
        await pilot.resize_terminal(SIZE[0] - 1, SIZE[1])
        monkeypatch.setattr(FrontCompositor, "render_update", kept)
        screen.turn("first")
        await pilot.pause(0.2)
    assert len(updates) == 1
    assert f"told {SIZE[0] - 1}" in updates[0]


class Filling(BatchedScreen[None]):
    """What is as high as what it holds, what scrolls when that is too much, and what takes the rest."""

    def compose(self) -> ComposeResult:
        with Vertical(id="high"):
            yield Static("a word and another " * 5, id="wrapped")
        with Vertical(id="rest"):
            for number in range(4):
                with Horizontal(classes="row", id=f"row-{number}"):
                    yield Static("some words " * number, classes="beside", id=f"left-{number}")
                    yield Static("more words " * 9, classes="beside", id=f"right-{number}")


class FillingApp(App[None]):
    CSS = """
    #high { height: auto; max-height: 6; overflow-y: auto; border: round white; }
    #rest { height: 1fr; overflow-y: auto; }
    .row { height: auto; }
    .beside { width: 1fr; height: auto; }
    """

    def get_default_screen(self) -> Screen[None]:
        return Filling()


async def places_at(sizes: list[tuple[int, int]]) -> list[dict[str, tuple[Region, Size]]]:
    """Return where everything is and what it holds, at one size after the other."""
    seen = []
    async with FillingApp().run_test(size=sizes[0]) as pilot:
        for size in sizes:
            await pilot.resize_terminal(*size)
            await pilot.pause(0.1)
            widgets = pilot.app.screen.query("*")
            seen.append({widget.id: (widget.region, widget.virtual_size) for widget in widgets if widget.id})
    return seen


async def test_everything_is_where_textual_has_it_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [(80, 30), (40, 30), (23, 11), (24, 12), (79, 9), (120, 40), (31, 40)]
    lean = await places_at(sizes)
    monkeypatch.setenv(PLAIN_OUTPUT, "1")
    assert lean == await places_at(sizes)


def count_layouts(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that gets an entry for every layout from now on; false where it is one of everything."""
    arranged: list[bool] = []
    arrange_root = Compositor._arrange_root

    def counted(self: Compositor, *arguments: Any, **options: Any) -> Any:
        arranged.append(options.get("visible_only", True))
        return arrange_root(self, *arguments, **options)

    monkeypatch.setattr(Compositor, "_arrange_root", counted)
    return arranged


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
async def test_what_a_layout_gives_is_not_asked_for_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told how much it holds, each of Textual's widgets asks for the layout that has just told it."""
    async with NestedApp().run_test(size=SIZE) as pilot:
        await pilot.pause()
        arranged = count_layouts(monkeypatch)
        await pilot.resize_terminal(SIZE[0] - 7, SIZE[1] - 3)
        assert pilot.app.screen.query_one("#left").region
        await pilot.pause(0.1)
    assert arranged.count(False) == 1, "where what is out of sight lies was found by the same layout"


class Growing(BatchedScreen[None]):
    """Something is higher where there are more rows, within what stays as high as it is."""

    def compose(self) -> ComposeResult:
        with Vertical(id="around"):
            yield Static("growing", id="growing")
            yield Static("below", id="below")

    def on_resize(self, event: events.Resize) -> None:
        self.query_one("#growing").styles.height = event.size.height // 4


class GrowingApp(App[None]):
    CSS = "#around { height: 12; } #growing { height: 2; }"

    def get_default_screen(self) -> Growing:
        return Growing()


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
async def test_what_was_asked_for_before_a_layout_is_in_it_and_asks_for_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = GrowingApp()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        arranged = count_layouts(monkeypatch)
        for rows in (SIZE[1] + 8, SIZE[1] - 4):
            arranged.clear()
            # As wide as before, so that nothing but what was asked for makes a layout find new places.
            await pilot.resize_terminal(SIZE[0], rows)
            await pilot.pause(0.1)
            assert app.screen.query_one("#below").region.y == rows // 4
            assert arranged.count(False) == 1


async def test_plain_output_paints_as_textual_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLAIN_OUTPUT, "1")
    async with NestedApp().run_test(size=SIZE) as pilot:
        assert not isinstance(pilot.app.screen._compositor, FrontCompositor)


class Told(Static):
    """Counts how often it hears of its size."""

    heard = 0

    def on_resize(self) -> None:
        self.heard += 1


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
async def test_a_widget_hears_of_its_size_although_somebody_asked_for_its_place_before_the_layout() -> None:
    app = NestedApp()
    async with app.run_test(size=SIZE) as pilot:
        told = Told("new")
        await app.screen.query_one("#left").parent.mount(told)  # type: ignore[union-attr]  # it has one
        app.screen._compositor._full_map_invalidated = True
        assert told.region, "asked before the layout"
        # One pause may end with the layout, before what it says has been heard.
        await until(pilot, lambda: told.heard)
        assert told.heard == 1
