"""Around the tabs: start and failure, the newcomer, the second window, help, bugs, and the end."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.command import CommandPalette
from textual.content import Content
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import OptionList, Static, TextArea

from core.domain.errors import ErrorCode, StorageError
from core.domain.session.session_state import SessionState
from core.engine.engine import Engine
from storyengine_tui.bootstrap import Configuration, Unread
from storyengine_tui.cli.commands.chapter.open_app import MOST_BUGS, run_until_left
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.screens.system.bug_screen import BugScreen
from storyengine_tui.screens.system.help_screen import HelpScreen
from storyengine_tui.screens.system.welcome_modal import WelcomeModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette_commands import as_title
from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, until

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[3]

FIRST_PAINT = """
import asyncio, sys, tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from core.config.files.paths import Paths
from core.config.settings import Settings
from storyengine_tui.cli.app import app as command_line
from storyengine_tui.cli.commands.chapter.open_app import StoryEngineApp
from storyengine_tui.bootstrap import Configuration

@asynccontextmanager
async def never(configuration):
    await asyncio.Event().wait()
    yield

async def main():
    home = Path(tempfile.mkdtemp())
    paths = Paths(data=home, config=home, logs=home, downloads=home)
    async with StoryEngineApp(never, Configuration(paths, Settings(_env_file=None))).run_test() as pilot:
        await pilot.pause()
        print(sorted({name.split(".")[0] for name in sys.modules}))
        pilot.app.exit()

asyncio.run(main())
"""


def banner(app: StoryEngineApp, name: str) -> Banner:
    return app.chapter.query_one(f"#{name}", Banner)


def test_the_first_paint_waits_for_no_database_and_no_model() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PAINT], capture_output=True, text=True, cwd=ROOT, check=True
    )
    loaded = set(eval(done.stdout.splitlines()[-1]))
    assert "textual" in loaded
    heavy = {"sqlalchemy", "sqlmodel", "alembic", "openai", "httpx2", "psycopg", "db", "xllamacpp"}
    assert not loaded & heavy


async def test_a_start_that_failed_says_why_and_tries_again_on_demand(desktop: Desktop) -> None:
    desktop.start_errors = [StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The disk is full.", "Make room.")]
    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        app = pilot.app
        assert isinstance(app, StoryEngineApp)
        await until(pilot, lambda: banner(app, "trouble").is_shown)
        content = banner(app, "trouble").content
        assert content is not None
        assert (content.sentence, content.hint) == ("The disk is full.", "Make room.")
        assert not app.chapter.is_open
        assert not [widget for widget in app.chapter.query(TextArea) if widget.focusable]
        await pilot.press("ctrl+r")
        await opened(pilot)
        assert not banner(app, "trouble").is_shown
        await app.close_everything()


async def welcomed(pilot: Pilot[Any]) -> StoryEngineApp:
    app = pilot.app
    assert isinstance(app, StoryEngineApp)
    await until(pilot, lambda: isinstance(app.screen, WelcomeModal))
    await until(pilot, lambda: app.screen.query_one(OptionList).option_count > 2)
    return app


async def test_a_newcomer_opens_an_example_with_world_cast_and_definition(desktop: Desktop) -> None:
    async with desktop.app().run_test() as pilot:
        app = await welcomed(pilot)
        await pilot.press("enter")
        area = app.chapter.query_one("#world", CappedTextArea)
        await until(pilot, lambda: app.screen is app.chapter and area.length > 500)
        assert app.session is not None
        snapshot = app.session.snapshot
        assert snapshot.session.title == "The Lamp at Grey Point"
        assert len(snapshot.tab1.identities) == 3
        assert snapshot.session.definition
        assert len(await app.workspace.require_engine().sessions()) == 1
        await app.close_everything()


async def test_a_newcomer_starts_an_empty_chapter_and_is_not_welcomed_twice(desktop: Desktop) -> None:
    async with desktop.app().run_test() as pilot:
        app = await welcomed(pilot)
        screen = app.screen
        screen.query_one(OptionList).highlighted = screen.query_one(OptionList).option_count - 2
        await pilot.press("enter")
        await until(pilot, lambda: app.focused is app.chapter.query_one("#world"))
        await app.close_everything()
    async with desktop.window() as (pilot, app):
        assert app.screen is app.chapter


async def make_played(engine: Engine) -> None:
    await make_active(engine, 1)


async def test_a_second_window_reads_along_and_takes_over_when_the_first_is_gone(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    async with desktop.engine("the first window") as engine:
        first = await engine.open((await engine.sessions())[0].id)
        async with desktop.window() as (pilot, app):
            content = banner(app, "writer").content
            assert content is not None
            assert "the first window, since" in content.sentence
            area = app.chapter.query_one("#world", CappedTextArea)
            assert area.read_only
            await first.wait(await first.lock())
            await until(
                pilot, lambda: "being played" in str(app.chapter.query_one("#status-line", Static).content)
            )
            await pilot.press("ctrl+t")
            await until(pilot, lambda: "takes over" in (banner(app, "writer").content or content).sentence)
            assert app.session is not None
            assert app.session.is_read_only
            await first.aclose()
            await until(pilot, lambda: app.session is not None and not app.session.is_read_only)
            await until(pilot, lambda: not banner(app, "writer").is_shown)


def says(app: StoryEngineApp, name: str) -> str:
    content = banner(app, name).content
    return "" if content is None else f"{content.sentence} {[action.label for action in content.actions]}"


async def test_a_second_window_is_told_that_the_first_is_gone_who_comes_then_and_takes_over(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storyengine_tui.screens.chapter.writer_banner.POLL_SECONDS", 0.02)
    await desktop.prepare(make_active)
    async with desktop.engine("the first window") as engine, desktop.engine("the third window") as third:
        session_id = (await engine.sessions())[0].id
        first = await engine.open(session_id)
        async with desktop.window() as (pilot, app):
            await until(pilot, lambda: "the first window" in says(app, "writer"))
            await first.aclose()
            await until(pilot, lambda: "has closed; no window" in says(app, "writer"))
            assert "['Take over']" in says(app, "writer")
            successor = await third.open(session_id)
            await until(pilot, lambda: "the third window, since" in says(app, "writer"))
            await successor.aclose()
            await until(pilot, lambda: "has closed; no window" in says(app, "writer"))
            await pilot.press("ctrl+t")
            await until(pilot, lambda: app.session is not None and not app.session.is_read_only)
            await until(pilot, lambda: not banner(app, "writer").is_shown)


async def test_a_second_window_is_told_that_the_chapter_was_set_aside(desktop: Desktop) -> None:
    await desktop.prepare(make_active)
    async with desktop.engine("the first window") as engine:
        first = await engine.open((await engine.sessions())[0].id)
        async with desktop.window() as (pilot, app):
            await first.reset()
            await until(pilot, lambda: "set this chapter aside" in says(app, "writer"))
            await pilot.press("ctrl+t")
            await pilot.pause()
            assert app.session is not None
            assert app.session.is_read_only, "what is set aside is not written in"
            await pilot.press("f5")
            await until(pilot, lambda: app.screen is not app.chapter)


async def test_help_shows_the_keys_of_what_has_the_focus_and_of_a_dialog_not_that_its_text_is_saved(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_active, size=(120, 40)) as (pilot, app):
        # Help shows the keys of what has the focus.
        await pilot.press("f2")
        await until(pilot, lambda: app.focused is app.chapter.query_one("#world"))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        text = str(app.screen.query_one(".help--text", Static).content)
        keys = str(app.screen.query_one(".help--keys", Static).content)
        assert "World and chapter are locked" in text
        assert "copy the selection" in keys
        assert "Ctrl+A, Ctrl+E" in keys
        assert re.search(r"Ctrl\+G +select all", keys)
        assert "Ctrl+Q" in keys
        assert "^" not in keys
        assert "Quit" in keys
        await pilot.press("escape")
        app.chapter.query_one("#panels").focus()
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        keys = str(app.screen.query_one(".help--keys", Static).content)
        assert keys.splitlines()[0].endswith("Previous"), "what the entries offer comes first"
        assert keys.splitlines()[-1] == "Up, Home, End, PageUp, PageDown  move", "and once, last"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # The help of a dialog does not say that its text is saved.
        assert "saved automatically" in str(HelpScreen.of(app.screen)._texts)
        app.push_screen(ConfirmModal("Discard it?"))
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        assert "saved automatically" not in str(HelpScreen.of(app.screen)._texts)


def _shows(app: StoryEngineApp, screen: type[Screen[Any]]) -> bool:
    return isinstance(app.screen, screen)


async def test_the_command_palette_finds_what_is_possible_and_does_it(desktop: Desktop) -> None:
    async with desktop.window(make_played) as (pilot, app):
        names = [command.title for command in app.get_system_commands(app.screen)]
        assert {"Chapters", "Model", "Calls", "Play", "Quit"} <= set(names)
        # "Re-roll with another model" is found by it too, and stands below.
        screens: list[tuple[str, int, type[Screen[Any]]]] = [
            ("mod", 2, ModelScreen),
            ("calls", 1, CallsScreen),
        ]
        for keys, count, screen in screens:
            await pilot.press("ctrl+p")
            await until(pilot, lambda: isinstance(app.screen, CommandPalette))
            await pilot.press(*keys)
            await until(pilot, partial(_offers, app, count))
            await pilot.press("enter")
            await until(pilot, partial(_shows, app, screen))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)


async def test_before_the_database_is_up_the_palette_offers_what_needs_none(desktop: Desktop) -> None:
    desktop.start_errors = [StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The disk is full.")]
    app = desktop.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: banner(app, "trouble").is_shown)
        assert [command.title for command in app.get_system_commands(app.screen)] == ["Help", "Quit"]


async def test_a_question_mark_is_text_where_text_is_written(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        await pilot.press("question_mark")
        assert app.chapter.query_one("#world", CappedTextArea).text.startswith("?")
        assert app.screen is app.chapter


async def test_a_bug_shows_a_report_to_copy_and_the_chapter_goes_on(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)

    async def stumble(**_: object) -> None:
        raise ZeroDivisionError("a bug of ours")

    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - raised by the app at its end
        async with desktop.window() as (pilot, app):
            app.do(stumble())
            while not isinstance(app.screen, BugScreen):
                await pilot.pause()
            await pilot.press("c")
            assert "a bug of ours" in app.clipboard
            assert "lighthouse" not in app.clipboard
            await pilot.press("escape", "ctrl+end", "!")
            assert app.chapter.query_one("#world", CappedTextArea).text.endswith("!")


class Stumbling(CappedTextArea):
    """A text area with a bug in the handling of its keys, after which it hears nothing more."""

    def action_cursor_line_end(self, select: bool = False) -> None:
        raise ZeroDivisionError("a bug of ours")


@pytest.mark.needs(Part.CRASH_RECOVERY)
async def test_a_bug_in_a_handler_ends_the_app_with_everything_stored_and_another_goes_on(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_draft)
    monkeypatch.setattr(CappedTextArea, "action_cursor_line_end", Stumbling.action_cursor_line_end)
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - raised by the app at its end
        async with desktop.app().run_test() as pilot:
            app = await opened(pilot)
            await pilot.press("ctrl+end", *"!?", "end")
            while app.is_running:
                await pilot.pause()
    assert isinstance(app.bug, ZeroDivisionError)
    again = StoryEngineApp(desktop.start, Configuration(desktop.paths, desktop.settings), after=app.bug)
    async with again.run_test() as pilot:
        await until(pilot, lambda: isinstance(again.screen, BugScreen))
        await pilot.press("escape", "ctrl+end", "x")
        await until(pilot, lambda: again.screen is again.chapter)
        assert again.chapter.query_one("#world", CappedTextArea).text.endswith("!?x")
        await again.close_everything()


async def test_bugs_that_keep_coming_end_the_program(desktop: Desktop) -> None:
    apps: list[StoryEngineApp] = []

    class Doomed(StoryEngineApp):
        async def run_async(self, *_: object, **__: object) -> None:
            self.bug = ZeroDivisionError(f"bug {len(apps)}")

    def make(configuration: Configuration | Unread, after: Exception | None) -> StoryEngineApp:
        assert (after is None) == (not apps)
        apps.append(Doomed(desktop.start, configuration, after=after))
        return apps[-1]

    with pytest.raises(ZeroDivisionError, match=f"bug {MOST_BUGS}"):
        await run_until_left(make, Configuration(desktop.paths, desktop.settings))
    assert len(apps) == MOST_BUGS


async def test_a_bug_on_the_way_out_keeps_nobody_in(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_draft)
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - raised by the app at its end
        async with desktop.app().run_test() as pilot:
            app = await opened(pilot)

            async def stumble(**_: object) -> None:
                raise ZeroDivisionError("a bug of ours")

            monkeypatch.setattr(app.workspace, "close", stumble)
            await pilot.press("ctrl+end", "!", "ctrl+q")
            await until(pilot, lambda: isinstance(app.screen, BugScreen))
            monkeypatch.undo()
            await pilot.press("ctrl+q")
            await until(pilot, lambda: not app.is_running)
    async with desktop.engine() as engine:
        assert (await engine.reader((await engine.sessions())[0].id).load()).tab1.world.endswith("!")


async def test_what_cannot_be_stored_keeps_the_program_open(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        assert app.session is not None
        await pilot.press("ctrl+end", "!")

        async def fail(*_: object) -> None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)

        monkeypatch.setattr(app.session.edits, "edit_tab1", fail)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: banner(app, "trouble").is_shown)
        assert app.is_running
        monkeypatch.undo()
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)
    async with desktop.engine() as engine:
        assert (await engine.reader((await engine.sessions())[0].id).load()).tab1.world.endswith("!")


async def test_opening_shows_the_tab_where_the_chapter_stands(desktop: Desktop) -> None:
    async with desktop.window(make_played) as (pilot, app):
        assert app.chapter.active_tab == "play"
        assert app.session is not None
        assert app.session.snapshot.session.state is SessionState.ACTIVE
        await app.session.end_chapter()
        await until(pilot, lambda: app.chapter.active_tab == "narrative")


def _offers(app: StoryEngineApp, count: int) -> bool:
    return app.screen.query_one(OptionList).option_count == count


@given(st.text(alphabet="[]/\\x=@a (),.#:1", max_size=14))
def test_a_name_in_the_palette_is_never_markup(name: str) -> None:
    assert Content.from_markup(f"To {as_title(name)}").plain == "To " + name.replace("\\", "/")
