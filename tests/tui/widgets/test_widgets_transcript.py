"""The transcript: what is shown, where it stays, what a stream costs, and what a copy holds."""

import pytest
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from core.domain.slot import Slot
from core.domain.story.transcript import SEPARATOR, TRUNCATION_NOTICE, render_window
from storyengine_tui.textual_ext.parts import PLAIN_OUTPUT, Part
from storyengine_tui.theme import SLOT_COLOURS
from storyengine_tui.widgets.reading.line_painter import Highlight
from storyengine_tui.widgets.reading.transcript_lines import ScreenPos
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from storyengine_tui.widgets.reading.wrap import Span
from tests.tui.chapters import chapter
from tests.tui.engine_app import until
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = [pytest.mark.anyio, pytest.mark.paints]
SIZE = (60, 20)


@pytest.fixture(params=["0", "1"], ids=["ours", "plain"])
def both_outputs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paint with what leans on private parts of Textual, and with that turned off."""
    monkeypatch.setenv(PLAIN_OUTPUT, request.param)


def view_app() -> WidgetApp:
    return WidgetApp(lambda: [TranscriptView()])


def view_of(app: WidgetApp) -> TranscriptView:
    return app.query_one(TranscriptView)


def rows(app: WidgetApp) -> list[str]:
    """Return what each row of the view shows."""
    view = view_of(app)
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def colour_at(app: WidgetApp, row: int) -> str:
    segment = next(iter(view_of(app).render_line(row)))
    assert segment.style is not None
    assert segment.style.color is not None
    return Color.from_rich_color(segment.style.color).hex.lower()


# What is shown


async def test_pieces_are_coloured_by_who_speaks() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view_of(app).show_window(chapter.window(1))
        await pilot.pause()
        assert rows(app)[0].startswith("1) What do you do")
        assert colour_at(app, 0) == "#ffffff"
        reply = next(row for row, text in enumerate(rows(app)) if text.startswith("Agent Red: "))
        assert rows(app)[reply - 1] == ""
        assert colour_at(app, reply) == SLOT_COLOURS[Slot.RED]


async def test_the_text_is_that_of_the_window() -> None:
    app = view_app()
    async with app.running(SIZE):
        window = chapter.window(9, boundary=7, limit=1500)
        view_of(app).show_window(window)
        assert view_of(app).text == window.text
        assert window.text.startswith(TRUNCATION_NOTICE)


async def test_markup_and_control_characters_are_only_text() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.begin_reply(Slot.RED, "[bold]Eve\x1b[2J", "1) [/x]\x07")
        view.stream("[link=x]\x1b]52;c;AAAA\x07hello\x9b31m")
        await pilot.pause()
        assert [row for row in rows(app) if row] == ["1) [/x]", "[bold]Eve: [link=x]hello"]


async def test_control_characters_of_a_stored_text_stop_here_at_the_latest() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        events = chapter.prompt(1, reply="a\x1b[2Jb\x07\x9bc")
        view_of(app).show_window(render_window(events, chapter.session(1)))
        await pilot.pause()
        assert view_of(app).text.endswith("Agent Red: ab")


def lines_painted(view: TranscriptView, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the lines that are painted from now on, which it grows by."""
    painted: list[int] = []
    paint = view.painter.paint

    def counted(line: int, highlights: list[Highlight]) -> Strip:
        painted.append(line)
        return paint(line, highlights)

    monkeypatch.setattr(view.painter, "paint", counted)
    return painted


async def test_scrolling_by_a_line_paints_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.focus()
        view.show_window(chapter.window(30))
        await pilot.pause()
        painted = lines_painted(view, monkeypatch)
        # Each key in a frame of its own: a slow machine scrolls once for all of them.
        await pilot.press("up")
        await until(pilot, lambda: len(painted) == 1, "the first line is not painted")
        await pilot.press("up")
        await until(pilot, lambda: len(painted) == 2, "the second line is not painted")
        place = view.scroll_offset.y
        await pilot.press("down")
        await until(pilot, lambda: view.scroll_offset.y == place + 1, "it does not scroll")
        await pilot.pause()
        assert len(painted) == 2


async def test_what_stands_beside_the_lines_is_found_out_once_for_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Textual puts it together from all that the view lies in."""
    app = view_app()
    asked: list[object] = []
    rich_style = TranscriptView.rich_style

    def counted(view: TranscriptView) -> Style:
        asked.append(view)
        return rich_style.__get__(view)  # type: ignore[no-any-return]  # a property of Textual's

    async with app.running(SIZE) as pilot:
        monkeypatch.setattr(TranscriptView, "rich_style", property(counted))
        view_of(app).show_window(chapter.window(30))
        await pilot.pause()
        await pilot.resize_terminal(SIZE[0] - 5, SIZE[1])
        await pilot.pause()
    assert len(asked) <= 3


async def test_a_sequence_that_arrives_in_pieces_is_stripped_too() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.begin_reply(Slot.RED, "Eve")
        for piece in ("a\x1b", "[3", "1mb"):
            view.stream(piece)
            view._streamed.end_frame()
        await pilot.pause()
        assert rows(app)[0] == "Eve: ab"


# Streams


@pytest.mark.usefixtures("both_outputs")
async def test_a_stream_grows_in_place_below_what_is_stored() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.show_window(chapter.window(9))
        view.begin_reply(Slot.YELLOW, "Agent Yellow", "3) And now?")
        view.stream("\n I ")
        view.stream("wait.")
        view._streamed.end_frame()
        await pilot.pause()
        assert view.text == chapter.window(9).text + SEPARATOR + "3) And now?\n\nAgent Yellow: I wait."
        assert view.position.is_following
        assert rows(app)[-1] == "Agent Yellow: I wait."
        assert colour_at(app, SIZE[1] - 1) == SLOT_COLOURS[Slot.YELLOW]


async def test_the_first_token_is_painted_at_once_and_the_next_wait_for_a_frame() -> None:
    app = view_app()
    async with app.running(SIZE):
        view = view_of(app)
        view.begin_reply(Slot.RED, "Eve")
        view.stream("one")
        assert view.text == "Eve: one"
        view.stream(" two")
        view.stream(" three")
        assert view.text == "Eve: one"
        view._streamed.end_frame()
        assert view.text == "Eve: one two three"


async def test_a_settled_reply_is_replaced_by_what_is_stored() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.show_window(chapter.window(7))
        view.begin_reply(Slot.RED, "Agent Red", "8) …")
        view.stream("half of")
        view.settle(chapter.window(8, boundary=7))
        await pilot.pause()
        assert view.text == chapter.window(8, boundary=7).text


async def test_another_window_leaves_the_stream_alone() -> None:
    app = view_app()
    async with app.running(SIZE):
        view = view_of(app)
        view.begin_reply(Slot.RED, "Agent Red", "8) …")
        view.stream("half")
        view.show_window(chapter.window(7, boundary=7))
        assert view.text.endswith("-------------\n\n8) …\n\nAgent Red: half")


async def test_a_discarded_reply_leaves_only_what_is_stored() -> None:
    app = view_app()
    async with app.running(SIZE):
        view = view_of(app)
        view.show_window(chapter.window(2))
        view.begin_reply(Slot.RED, "Eve", "3) x")
        view.stream("gone")
        view.discard_reply()
        view.stream("late")
        assert view.text == chapter.window(2).text


async def test_a_restarted_reply_begins_again() -> None:
    app = view_app()
    async with app.running(SIZE):
        view = view_of(app)
        view.begin_reply(Slot.RED, "Eve", "3) x")
        view.stream("first try")
        view.restart_reply()
        view.stream("second")
        assert view.text == "3) x\n\nEve: second"


async def test_a_token_paints_its_last_line_whatever_is_above(monkeypatch: pytest.MonkeyPatch) -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        painted = lines_painted(view, monkeypatch)
        for prompts in (3, 100):
            view.show_window(chapter.window(prompts))
            view.begin_reply(Slot.RED, "Eve", "x")
            await pilot.pause()
            painted.clear()
            for token in ("a", " b", " c"):
                view.stream(token)
                view._streamed.end_frame()
                await pilot.pause()
            await until(pilot, lambda: painted, "nothing is painted")
            assert set(painted) == {view.lines.height - 1}
            assert len(painted) <= 3


@pytest.mark.needs(Part.LINE_SCROLL)
async def test_a_token_never_lays_out_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.show_window(chapter.window(20))
        view.begin_reply(Slot.RED, "Eve", "x")
        await pilot.pause()
        layouts: list[bool] = []
        monkeypatch.setattr(app.screen, "_refresh_layout", lambda *args, **more: layouts.append(True))
        for _ in range(5):
            view.stream("a line of text that is longer than one row of this view, and so makes it grow ")
            view._streamed.end_frame()
            await pilot.pause()
        assert layouts == []
        assert view.position.is_following


async def test_only_what_is_new_in_a_window_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.show_window(chapter.window(30))
        await pilot.pause()
        wrapped: list[str] = []
        wrap = view.lines._wrapped

        def counted(text: str) -> list[Span]:
            wrapped.append(text)
            return wrap(text)

        monkeypatch.setattr(view.lines, "_wrapped", counted)
        view.show_window(
            render_window(chapter.events(30) + chapter.prompt(31, reply="New."), chapter.session(31))
        )
        assert len(wrapped) == 2


# Keeping the place


@pytest.mark.usefixtures("both_outputs")
async def test_scrolling_up_stops_following_and_end_takes_hold_again() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.focus()
        view.show_window(chapter.window(20))
        await pilot.pause()
        assert view.position.is_following
        assert not view.has_more_below
        await pilot.press("pageup")
        top = rows(app)[0]
        view.show_window(chapter.window(21))
        await pilot.pause()
        assert (rows(app)[0], view.position.is_following, view.has_more_below) == (top, False, True)
        await pilot.press("end")
        assert (view.position.is_following, view.has_more_below) == (True, False)
        view.show_window(chapter.window(22))
        await pilot.pause()
        assert rows(app)[-1] != ""
        assert view.scroll_offset.y == view.max_scroll_y
        told = [message.has_more_below for message in app.heard_of(TranscriptView.MoreBelowChanged)]
        assert told == [True, False]


async def test_the_place_stays_when_the_beginning_falls_out_of_the_window() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.focus()
        view.show_window(chapter.window(30, limit=5000))
        await pilot.pause()
        await pilot.press("pageup")
        before = rows(app)
        view.show_window(chapter.window(33, limit=5000))
        await pilot.pause()
        assert rows(app) == before


@pytest.mark.parametrize("other", [(33, 20), (100, 20), (60, 9), (41, 50)])
async def test_a_resize_keeps_what_is_at_the_top(other: tuple[int, int]) -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.focus()
        view.show_window(chapter.window(60))
        await pilot.pause()
        await pilot.press("home", *["pagedown"] * 4)
        place = view.lines.place(ScreenPos(0, view.scroll_offset.y))
        await pilot.resize_terminal(*other)
        await pilot.pause()
        found = view.lines.line(view.scroll_offset.y)
        assert found is not None
        assert found[0] is view.lines.paragraphs[place.paragraph]
        assert found[1].begin <= place.offset <= found[1].end
        await pilot.resize_terminal(*SIZE)
        await pilot.pause()
        assert abs(view.lines.spot(place).y - view.scroll_offset.y) <= 1


async def test_a_resize_at_the_end_stays_at_the_end() -> None:
    app = view_app()
    async with app.running(SIZE) as pilot:
        view = view_of(app)
        view.show_window(chapter.window(30))
        await pilot.pause()
        for size in ((33, 10), (100, 30), (60, 8)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert view.scroll_offset.y == view.max_scroll_y
            assert view.position.is_following


async def test_lines_are_at_most_100_cells_wide_however_wide_the_terminal_is() -> None:
    app = view_app()
    async with app.running((200, 30)) as pilot:
        view_of(app).show_window(chapter.window(7))
        await pilot.pause()
        assert 90 < max(map(len, rows(app))) <= 100
