"""It feels instant: held by counts, for a clock tells as much about the machine that it runs on.

`make bench` takes the time. Bytes for a key and for a token are counted in test_diff_display, rows in
tests/store/reads/test_growth.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Static

from core.domain.slot import Slot
from storyengine_tui.screens.chapter.tab_pages import TALL, TITLES, apply_tall_class
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.shell.themed_app import ThemedApp
from storyengine_tui.textual_ext.painting import batched_screen
from storyengine_tui.textual_ext.painting.batched_screen import BatchedScreen
from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.widgets.reading.line_painter import MOST_STRIPS, Highlight, LinePainter
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.chapters import chapter
from tests.tui.engine_app import PATIENCE, Desktop, PostgresDesktop, make_active, opened, screen_text, until
from tests.tui.rooms.widget_app import WIDGET_STYLES

pytestmark = pytest.mark.paints

ROOT = Path(__file__).parents[3]
READERS = (
    "core.library.cards",
    "core.library.lore.book",
    "core.library.macros",
    "core.library.json_document",
)
"""What a chapter without characters and lorebooks of the library never needs."""
HEAVY = {
    *("alembic", "argon2", "db", "httpx2", "keyring", "openai", "psycopg", "sqlalchemy", "sqlmodel", "typer"),
    *("pydantic", "pydantic_settings"),
    *(
        "core.agents.context_builder",
        "core.engine.engine",
        "core.engine.sync.notifications",
        "core.exchange.session_export",
    ),
    *("core.domain.session.state_machine", "core.domain.requests.request", "importlib.metadata", "uuid6"),
    *("core.text.letters", "logging.handlers"),
    *("core.domain.session.session", "json", "textual.widgets._text_area"),
    *("storyengine_tui.shell.palette", "storyengine_tui.shell.palette_commands"),
    *(f"storyengine_tui.screens.{tab}.{tab}_pane" for tab in ("setup", "play", "narrative")),
}
LONG, SHORT = 150, 15
STATEMENTS_PER_PROMPT = 2


def test_nothing_heavy_is_imported_before_the_first_paint() -> None:
    assert not HEAVY & loaded_by("storyengine_tui.cli.commands.chapter.open_app")


def test_what_reads_cards_and_lorebooks_is_imported_by_the_first_of_them() -> None:
    loaded = loaded_by(
        "db.store", "core.engine.engine", *(f"storyengine_tui.screens.{tab}.{tab}_pane" for tab in TITLES)
    )
    assert not [name for name in loaded if name.startswith(READERS)]


def loaded_by(*modules: str) -> set[str]:
    """Return what a fresh interpreter holds after importing these modules."""
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.mark.anyio
async def test_the_first_paint_styles_nothing_that_it_does_not_show(desktop: Desktop) -> None:
    """A fifth of the paint was parsing the looks of the three pages, which come later."""
    app = desktop.app()
    shown_first = {Path(file).name for file, _ in app.stylesheet.source} | {
        path.name for path in app.css_path
    }
    assert shown_first == {"app.tcss", "chapter_screen.tcss"}
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        styled = {Path(file).name for file, _ in app.stylesheet.source}
        assert styled >= {"widgets.tcss", "setup_pane.tcss", "play_pane.tcss", "narrative_pane.tcss"}
        await app.close_everything()


class CountedPainter(LinePainter):
    """Counts the lines that are painted anew."""

    painted = 0

    def paint(self, line: int, highlights: list[Highlight]) -> Strip:
        self.painted += 1
        return super().paint(line, highlights)


class CountedView(TranscriptView):
    """Counts the lines that are painted and rendered anew."""

    rendered = 0

    def __init__(self) -> None:
        super().__init__()
        self.painter = self.counted = CountedPainter(self, self.lines)

    def render_line(self, y: int) -> Strip:
        self.rendered += 1
        return super().render_line(y)


class CountedApp(ThemedApp):
    CSS_PATH = WIDGET_STYLES

    def compose(self) -> ComposeResult:
        yield CountedView()


@asynccontextmanager
async def reply_begun(prompts: int) -> AsyncIterator[tuple[Pilot[None], CountedView]]:
    """Show a chapter of so many prompts, and a reply that has no word yet."""
    app = CountedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        view = app.query_one(CountedView)
        view.show_window(chapter.window(prompts))
        view.begin_reply(Slot.BLUE, "Agent Blue", "And then?")
        await pilot.pause()
        yield pilot, view


async def stream(pilot: Pilot[None], view: CountedView, tokens: int) -> None:
    """Stream tokens, each in a frame of its own."""
    for _ in range(tokens):
        view.stream("token ")
        view._streamed.end_frame()
        await pilot.pause()


async def lines_painted_by_tokens(prompts: int, tokens: int) -> int:
    async with reply_begun(prompts) as (pilot, view):
        view.counted.painted = 0
        await stream(pilot, view, tokens)
        return view.counted.painted


@pytest.mark.anyio
async def test_a_token_paints_its_own_line_whatever_is_above_it() -> None:
    short = await lines_painted_by_tokens(SHORT, 40)
    assert short == await lines_painted_by_tokens(LONG, 40)
    # Its line, and now and then the next.
    assert short <= 2 * 40


@pytest.mark.needs(Part.LINE_SCROLL)
@pytest.mark.anyio
async def test_a_line_that_has_only_moved_is_not_made_anew() -> None:
    """Every tenth token moves all lines up by one, and a key that comes then waits for it."""
    async with reply_begun(LONG) as (pilot, view):
        height, view.rendered = view.lines.height, 0
        await stream(pilot, view, 60)
        assert view.lines.height >= height + 3, "it has moved"
        assert view.rendered <= 60 + 2 * 4 < view.size.height * 4


@pytest.mark.anyio
async def test_what_is_kept_of_lines_shows_what_painting_all_of_it_anew_shows() -> None:
    async with reply_begun(LONG) as (pilot, view):
        view.focus()
        steps: list[Callable[[], object]] = [
            lambda: view.stream("word " * 40),
            lambda: view.scroll_relative(y=-9, animate=False),
            lambda: view.stream("word " * 40),
            view.action_mark,
            lambda: view.action_extend_selection("up"),
            lambda: view.scroll_relative(y=4, animate=False),
            view.action_unmark,
            lambda: view.screen.set_focus(None),
            view.follow,
            lambda: view.settle(chapter.window(LONG)),
            lambda: setattr(view.app, "theme", "textual-light"),
            lambda: view.show_window(chapter.window(SHORT)),
        ]
        for step in steps:
            step()
            view._streamed.end_frame()
            await pilot.pause()
            whole = view.outer_size.region
            kept = [strip.text for strip in view.render_lines(whole)], view.render_lines(whole)
            view.refresh()
            fresh = view.render_lines(whole)
            assert kept == ([strip.text for strip in fresh], fresh)
            await pilot.pause()


@pytest.mark.anyio
async def test_what_was_shown_earlier_is_kept_in_no_more_than_so_many_lines() -> None:
    app = CountedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        view = app.query_one(CountedView)
        view.show_window(chapter.window(LONG))
        await pilot.pause()
        assert view.lines.height > MOST_STRIPS
        for y in range(view.lines.height - 1, -1, -30):
            view.scroll_to(y=y, animate=False, force=True)
            await pilot.pause()
        assert view.counted.painted > MOST_STRIPS >= len(view.painter.strips)


@pytest.mark.anyio
async def test_tokens_of_one_frame_are_painted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storyengine_tui.widgets.reading.line_view.FRAMES_PER_SECOND", 0.001)
    async with reply_begun(SHORT) as (pilot, view):
        view.stream("first ")
        await pilot.pause()
        view.counted.painted = 0
        for _ in range(100):
            view.stream("t ")
        await pilot.pause()
        assert view.counted.painted == 0
        view._streamed.end_frame()
        await pilot.pause()
        assert 0 < view.counted.painted <= 4


class GrowingApp(App[None]):
    """Much that stays as it is, and something that is higher where there is room."""

    CSS = ".grows { height: 2; &.-tall { height: 5; } } #page { display: none; }"

    def compose(self) -> ComposeResult:
        with Vertical(id="growing", classes="grows"):
            for number in range(30):
                yield Static(f"line {number}")
        with Vertical(id="page"):
            yield Vertical(id="behind", classes="grows")

    def on_resize(self, event: events.Resize) -> None:
        apply_tall_class(self.screen, event.size.height, is_shown_only=True)


@pytest.mark.anyio
async def test_more_rows_style_only_what_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's breakpoints style every widget of every page anew: two thirds of all work for a new size."""
    styled: list[str | None] = []
    apply = Stylesheet.apply

    def counted(self: Stylesheet, node: DOMNode, **options: Any) -> None:
        styled.append(node.id)
        apply(self, node, **options)

    app = GrowingApp()
    async with app.run_test(size=(80, TALL - 1)) as pilot:
        growing = app.query_one("#growing")
        monkeypatch.setattr(Stylesheet, "apply", counted)
        heights = [growing.size.height]
        for rows in (TALL, TALL + 4, TALL - 1):
            await pilot.resize_terminal(80, rows)
            await pilot.pause()
            heights.append(growing.size.height)
        assert heights == [2, 5, 5, 2]
        assert styled == ["growing", "growing"], "what does not show can wait for the paint"
        apply_tall_class(app.screen, TALL)
        assert styled == ["growing", "growing", "growing", "behind"]


@pytest.mark.anyio
async def test_every_prompt_costs_the_same_few_statements(
    postgres_desktop: PostgresDesktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    execute = psycopg.AsyncCursor.execute

    # Of the driver, for commits go past SQLAlchemy; what it reads passes here as well.
    async def counted(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(str(query))
        return await execute(self, query, *arguments, **options)

    await postgres_desktop.prepare(lambda engine: make_active(engine, 2))
    monkeypatch.setattr(psycopg.AsyncCursor, "execute", counted)
    async with postgres_desktop.window(size=(120, 40)) as (pilot, app):
        session = app.session
        assert session is not None
        assert any("SELECT" in query for query in asked), "reading is counted as well"
        costs = []
        for number in range(3, 7):
            asked.clear()
            await session.wait(await session.submit_prompt(Slot.RED, f"Prompt {number}"))
            await session.wait_idle()
            await pilot.pause()
            assert session.snapshot.session.prompt_index == number
            costs.append(len(asked))
    del costs[0]  # It opened the connection that all others go through.
    # Before the call and after it: a prompt is stored before it is tried, and settled in one statement.
    assert costs == [STATEMENTS_PER_PROMPT] * 3


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
@pytest.mark.anyio
async def test_a_key_is_painted_in_one_turn(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second turn has nothing to paint, and the next key waits up to two frames for it."""
    await desktop.prepare(lambda engine: make_active(engine, 2))
    turns: list[PromptArea] = []
    refresh = BatchedScreen._compositor_refresh

    def counted(screen: BatchedScreen[None]) -> None:
        turns.extend(widget for widget in screen._dirty_widgets if isinstance(widget, PromptArea))
        refresh(screen)

    monkeypatch.setattr(BatchedScreen, "_compositor_refresh", counted)
    async with desktop.window(size=(120, 40)) as (pilot, app):
        session = app.session
        assert session is not None
        for typed in ("a", "ab", "abc"):
            turns.clear()
            app.post_message(events.Key(typed[-1], typed[-1]))
            # Stored a third of a second after the key, when all of its turns are over.
            await until(pilot, lambda: typed in session.snapshot.unsent.values())  # noqa: B023 - awaited here
            assert len(turns) == 1, typed


@pytest.mark.needs(Part.BATCHED_SCREEN, Part.COMPOSITOR)
@pytest.mark.anyio
async def test_a_key_does_not_wait_for_the_frame_that_a_token_began(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual paints when its timer comes round, and a reply that streams keeps that going all the time."""
    await desktop.prepare(lambda engine: make_active(engine, 2))
    clock = count()
    monkeypatch.setattr(batched_screen, "monotonic", lambda: float(next(clock)))
    async with desktop.window(size=(120, 40)) as (pilot, app):
        area = app.screen.focused
        assert isinstance(area, PromptArea)
        with monkeypatch.context() as no_timer:
            no_timer.setattr(app.screen._update_timer, "resume", lambda: None)
            for typed in ("a", "ab", "abc"):
                app.post_message(events.Key(typed[-1], typed[-1]))
                await until(pilot, lambda: area.text == typed and not area._repaint_regions, typed)  # noqa: B023 - awaited here


@pytest.mark.anyio
async def test_what_changes_twice_in_one_frame_is_painted_once_more_at_its_end(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line may bring a hundred keys at once: to paint for each of them would take longer than to type."""
    async with desktop.window(lambda engine: make_active(engine, 2), size=(120, 40)) as (pilot, app):
        area = app.screen.focused
        assert isinstance(area, PromptArea)
        monkeypatch.setattr(batched_screen, "monotonic", lambda: 1e9)
        app.post_message(events.Key("a", "a"))
        await until(pilot, lambda: area.text == "a" and not area._repaint_regions)
        timer = app.screen._update_timer
        with monkeypatch.context() as no_timer:
            no_timer.setattr(timer, "resume", lambda: None)
            app.post_message(events.Key("b", "b"))
            # Not by the pilot, which paints whatever is left whenever it waits.
            async with asyncio.timeout(PATIENCE):
                while area.text != "ab" or area not in app.screen._dirty_widgets:  # noqa: ASYNC110 - nobody says when
                    await asyncio.sleep(0)
            for _ in range(50):
                await asyncio.sleep(0)
            assert area in app.screen._dirty_widgets, "it waits for the frame"
        timer.resume()
        await until(pilot, lambda: not app.screen._dirty_widgets)
        assert "ab" in screen_text(app)


@pytest.mark.anyio
async def test_what_grows_on_a_page_that_does_not_show_has_grown_when_it_is_looked_at(
    desktop: Desktop,
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 2), size=(120, TALL - 1)) as (pilot, app):
        growing = list(app.chapter.query(".grows"))
        assert len(growing) > 2
        for rows in (TALL, TALL - 1, TALL):
            await pilot.resize_terminal(120, rows)
            await until(pilot, lambda: {widget.has_class("-tall") for widget in growing} == {rows >= TALL})  # noqa: B023 - awaited here
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is not app.chapter)
        await pilot.resize_terminal(120, TALL - 1)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await until(pilot, lambda: not any(widget.has_class("-tall") for widget in growing))
