"""What comes before the engine: a page at once, then the settings, then all that is heavy."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from core.config.files.paths import Paths
from core.domain.errors import ErrorCode, StorageError, StoryEngineError
from core.domain.ids import SessionId, new_uuid
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.providers.scripted.script import Pace, Script
from storyengine_tui.bootstrap import Configuration, Unread
from storyengine_tui.cli.commands.chapter import open_app
from storyengine_tui.cli.commands.chapter.open_app import run_until_left
from storyengine_tui.screens.chapter.early_input import EarlyPanel
from storyengine_tui.screens.chapter.last_session import (
    LastPanel,
    read_last_panel,
    read_last_session,
    write_last_session,
)
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.textual_ext.painting.style_cache import CachingStylesheet
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.key_line import KeyLine
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, until

pytestmark = pytest.mark.anyio


async def test_settings_are_read_once_the_page_shows(desktop: Desktop) -> None:
    shown: list[str] = []

    async def read() -> Configuration:
        shown.extend(str(strip.text) for strip in app.query_one(KeyLine).render_lines(app.screen.region))
        return Configuration(desktop.paths, desktop.settings)

    await desktop.prepare(lambda engine: make_active(engine, 1))
    app = StoryEngineApp(desktop.start, Unread(desktop.paths, read))
    async with app.run_test() as pilot:
        await opened(pilot)
        assert "Quit" in "".join(shown)
        assert app.unread is None
        await app.close_everything()


async def test_settings_that_are_not_valid_end_the_screen_with_their_sentence(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = StoryEngineError(ErrorCode.ILLEGAL_COMMAND, "The setting bell is not valid.")

    async def refuse() -> Configuration:
        raise refusal

    def make(configuration: Configuration | Unread, after: Exception | None) -> StoryEngineApp:
        return StoryEngineApp(desktop.start, configuration, after=after)

    monkeypatch.setattr(StoryEngineApp, "run_async", partialmethod(StoryEngineApp.run_async, headless=True))

    with pytest.raises(StoryEngineError, match="bell") as refused:
        await run_until_left(make, Unread(desktop.paths, refuse))
    assert refused.value is refusal
    assert desktop.windows == 0


async def test_a_start_parses_no_style_twice(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    again = []
    for kind in (Stylesheet, CachingStylesheet):
        monkeypatch.setattr(kind, "reparse", lambda _: again.append("reparsed"))
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        assert not again
        app.theme = "textual-light"
        await pilot.pause()
        assert again


@asynccontextmanager
async def starting(desktop: Desktop) -> AsyncIterator[tuple[Pilot[Any], asyncio.Event]]:
    """A window whose database comes up when the event is set."""
    gate = asyncio.Event()

    @asynccontextmanager
    async def start(configuration: Configuration) -> AsyncIterator[Engine]:
        await gate.wait()
        async with desktop.start(configuration) as engine:
            yield engine

    app = StoryEngineApp(start, Configuration(desktop.paths, desktop.settings))
    async with app.run_test() as pilot:
        yield pilot, gate
        await app.close_everything()


async def test_what_is_typed_before_the_very_first_chapter_is_open_stands_in_its_world(
    desktop: Desktop,
) -> None:
    async with starting(desktop) as (pilot, gate):
        await pilot.press("A", "space", "s", "x", "backspace", "e", "a", "question_mark", "enter")
        pilot.app.post_message(events.Paste("of glass"))
        await pilot.pause()
        gate.set()
        app = await opened(pilot)
        world = app.chapter.query_one("#world", CappedTextArea)
        await until(pilot, lambda: world.text == "A sea?\nof glass")
        assert app.screen is app.chapter, "who writes already is not greeted, nor shown the help"
        await pilot.press("!")
        await until(pilot, lambda: world.text == "A sea?\nof glass!")
        await until(pilot, lambda: app.session is not None and app.session.snapshot.tab1.world == world.text)


async def test_what_is_typed_before_a_chapter_in_play_is_open_waits_in_its_panel_unsent(
    desktop: Desktop,
) -> None:
    await desktop.prepare(lambda engine: make_active(engine, 1))
    async with starting(desktop) as (pilot, gate):
        await pilot.press("G", "o", "enter", "o", "n")
        gate.set()
        app = await opened(pilot)
        await until(pilot, lambda: isinstance(app.focused, PromptArea))
        assert isinstance(app.focused, PromptArea)
        assert app.focused.text == "Go\non"
        assert app.session is not None
        assert app.session.snapshot.session.prompt_index == 1


async def test_what_is_typed_into_a_start_shows_in_the_panel_that_it_will_stand_in(desktop: Desktop) -> None:
    await desktop.prepare(lambda engine: make_active(engine, 1))
    async with desktop.app().run_test() as pilot:
        first = await opened(pilot)
        assert isinstance(first.focused, PromptArea)
        title = str(first.focused.border_title)
        await first.close_everything()
    async with starting(desktop) as (pilot, gate):
        early = pilot.app.screen.query_one(EarlyPanel)
        await until(pilot, lambda: early.display)
        await pilot.press("G", "o", "[", "/", "]")
        assert str(early.border_title) == title
        assert str(early.render()).rstrip() == "Go[/]"
        gate.set()
        app = await opened(pilot)
        await until(pilot, lambda: isinstance(app.focused, PromptArea))
        assert isinstance(app.focused, PromptArea)
        assert (str(app.focused.border_title), app.focused.text) == (title, "Go[/]")
        assert not early.display


async def test_no_panel_shows_early_where_the_last_session_is_not_being_played(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        await (await opened(pilot)).close_everything()
    async with starting(desktop) as (pilot, gate):
        await pilot.pause()
        assert not pilot.app.screen.query_one(EarlyPanel).display
        gate.set()


async def test_a_start_that_ends_after_its_window_was_closed_opens_no_chapter(desktop: Desktop) -> None:
    async with starting(desktop) as (pilot, gate):
        app = pilot.app
        assert isinstance(app, StoryEngineApp)
        await app.workspace.close_for_good()
        gate.set()
        await until(pilot, lambda: app.engine is not None)
        await app.workers.wait_for_complete()
        assert app.session is None


async def test_what_was_typed_into_a_start_that_was_left_is_there_at_the_next(desktop: Desktop) -> None:
    await desktop.prepare(lambda engine: make_active(engine, 1))
    async with starting(desktop) as (pilot, gate):
        await pilot.press("G", "o")
        await pilot.press("ctrl+q")
        await until(pilot, desktop.paths.early_text.exists)
        gate.set()
        await until(pilot, lambda: not pilot.app.is_running)
    async with starting(desktop) as (pilot, gate):
        await pilot.press("!")
        gate.set()
        app = await opened(pilot)
        await until(pilot, lambda: isinstance(app.focused, PromptArea) and app.focused.text == "Go!")
        assert app.session is not None
        session = app.session
        await until(pilot, lambda: not desktop.paths.early_text.exists())
        assert session.snapshot.unsent.get(session.snapshot.session.next_slot) == "Go!", (
            "stored before it goes"
        )


async def test_what_was_typed_into_a_start_that_is_killed_is_there_at_the_next_and_only_once(
    desktop: Desktop,
) -> None:
    await desktop.prepare(lambda engine: make_active(engine, 1))
    async with starting(desktop) as (pilot, gate):
        await pilot.press("G", "o", "x", "backspace")
        # A kill -9 now would leave what is in the file already.
        await until(pilot, lambda: desktop.paths.early_text.exists())
        assert desktop.paths.early_text.read_text() == "Go"
        assert desktop.paths.early_text.stat().st_mode & 0o777 == 0o600
        await pilot.press("ctrl+q")
        gate.set()
        await until(pilot, lambda: not pilot.app.is_running)
    desktop.start_errors.append(StorageError(ErrorCode.STORAGE_LOAD_FAILED))
    async with desktop.app().run_test() as pilot:
        app = pilot.app
        assert isinstance(app, StoryEngineApp)
        await until(pilot, lambda: app.chapter.feedback.has_failed_to_start)
        await pilot.press("ctrl+r")
        await opened(pilot)
        await until(pilot, lambda: isinstance(app.focused, PromptArea) and app.focused.text == "Go")
        await until(pilot, lambda: not desktop.paths.early_text.exists())
        await app.close_everything()


@pytest.mark.parametrize(
    "text", ["", "x", "{id}\n", "{id}\n9 Kara\n", "{id}\nKara\n", f"{{id}}\n1 {'K' * 41}\n"]
)
def test_a_note_of_the_last_session_that_is_older_or_odd_shows_no_panel(tmp_path: Path, text: str) -> None:
    paths = Paths(data=tmp_path, config=tmp_path, logs=tmp_path, downloads=tmp_path)
    session_id = SessionId(new_uuid())
    (tmp_path / "last-session").write_text(text.format(id=session_id), "utf-8")
    assert read_last_panel(paths) is None
    assert read_last_session(paths) == (session_id if "id" in text else None)
    write_last_session(paths, session_id, LastPanel(Slot.BLUE, "Zoë"))
    assert (read_last_session(paths), read_last_panel(paths)) == (session_id, LastPanel(Slot.BLUE, "Zoë"))


async def test_a_letter_with_alt_is_not_that_letter_and_what_is_typed_without_focus_is_no_early_text(
    desktop: Desktop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # A letter with alt is not that letter.
        world = app.chapter.query_one("#world", CappedTextArea)
        await until(pilot, lambda: app.focused is world)
        before = world.text
        # As a terminal sends it: the letter comes with it.
        app.post_message(events.Key("alt+x", "x"))
        app.post_message(events.Key("y", "y"))
        await until(pilot, lambda: world.text != before)
        assert world.text == "y" + before
        # What is typed while nothing has the focus is no early text once there was a field.
        await until(pilot, lambda: app.focused is not None)
        # As in the first second, when the other pages are not made yet.
        monkeypatch.setattr(type(app.chapter), "is_open", False)
        app.chapter.set_focus(None)
        app.chapter.early.has_come = False
        app.post_message(events.Paste("astray"))
        await pilot.pause()
        assert not app.chapter.early.has_come


async def test_quitting_while_calls_run_says_what_is_stopped_and_what_is_kept(
    desktop: Desktop, capsys: pytest.CaptureFixture[str]
) -> None:
    await desktop.prepare(make_active)
    desktop.script = Script(pace=Pace(first_token=60))
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        await pilot.press("O", "n", "e", "enter", "T", "w", "o", "enter")
        await until(pilot, lambda: app.session is not None and len(app.session.snapshot.requests) == 2)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)
    assert " ".join(capsys.readouterr().err.split()) == (
        "The reply of Mira is stopped; your prompt is kept in its panel. "
        "The prompt that waits goes back unsent; the text is kept."
    )
    async with desktop.engine() as engine:
        stored = await engine.reader((await engine.sessions())[0].id).load()
        assert stored.unsent == {Slot.RED: "One", Slot.ORANGE: "Two"}


async def test_quitting_while_nothing_runs_says_nothing(
    desktop: Desktop, capsys: pytest.CaptureFixture[str]
) -> None:
    await desktop.prepare(make_active)
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)
    assert capsys.readouterr().err == ""


def test_who_writes_to_the_terminal_waits_for_the_event_loop_less_than_a_millisecond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the 5 ms of Python a key that is painted while a reply streams goes out late."""
    waits: list[float] = []

    async def run(*_: object) -> int:
        waits.append(sys.getswitchinterval())
        return 0

    for place in ("data", "config"):
        (tmp_path / place).mkdir(mode=0o700)
        monkeypatch.setenv(f"STORYENGINE_{place.upper()}_DIR", str(tmp_path / place))
    # As at a terminal, where the settings are read behind the first paint.
    monkeypatch.setenv("TEXTUAL_DRIVER", "none")
    monkeypatch.setattr(open_app, "run_until_left", run)
    monkeypatch.setattr(open_app, "start_log", lambda _: None)
    before = sys.getswitchinterval()
    try:
        assert open_app.open_app() == 0
    finally:
        sys.setswitchinterval(before)
    assert len(waits) == 1
    assert waits[0] < 0.001
