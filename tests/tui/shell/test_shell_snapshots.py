"""Pictures of tab 1, its dialogs and everything around the tabs: empty, busy, failed, full and read-only."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, OptionList, Static

from core.config.settings import Settings
from core.domain.errors import ErrorCode, StorageError
from core.domain.session.session_state import SessionState
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, Fault, Pace, Script, ScriptMatch
from core.storage.session_store import WriterInfo
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.chapter.writer_banner import WriterBanner
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.shelf.title_modal import TitleModal
from storyengine_tui.screens.models.permission.consent_modal import ConsentModal
from storyengine_tui.screens.setup.cast_panels import CastPanels
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.screens.system.bug_screen import BugScreen
from storyengine_tui.screens.system.example_chapters import find_examples
from storyengine_tui.screens.system.help_screen import HelpScreen
from storyengine_tui.screens.system.welcome_modal import WelcomeModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.conftest import PicturesMatch, settled
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, tab1, until

Prepare = Callable[[Engine], Awaitable[object]]
Act = Callable[[Pilot[Any], StoryEngineApp], Awaitable[None]]


class Shown(Protocol):
    def __call__(self, *acts: Act, prepare: Prepare | None = make_draft) -> bool: ...


@pytest.fixture
def shown(desktop: Desktop, pictures_match: PicturesMatch, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Compare pictures of the program on what `prepare` stored, each after an act, with those accepted."""
    monkeypatch.setattr("storyengine_tui.widgets.busy_line.elapsed_text", lambda _: "0:03")

    def compare(*acts: Act, prepare: Prepare | None = make_draft) -> bool:
        if prepare is not None:
            desktop.prepare_now(prepare)

        async def run_before(act: Act, pilot: Pilot[Any]) -> None:
            app = await opened(pilot)
            await settled(pilot)
            await act(pilot, app)

        return pictures_match(desktop.app(), {act.__name__: partial(run_before, act) for act in acts})

    return compare


async def go_to_setup(pilot: Pilot[Any], app: StoryEngineApp) -> None:
    await pilot.press("f2")
    await until(pilot, lambda: app.focused is app.chapter.query_one("#world"))


async def nothing(pilot: Pilot[Any], app: StoryEngineApp) -> None:
    """Look at it as it opens."""


def press(*keys: str, until_screen: type[object] | None = None) -> Act:
    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press(*keys)
        if until_screen is not None:
            await until(pilot, lambda: isinstance(app.screen, until_screen))

    return act


async def make_full(engine: Engine) -> None:
    """Store the example with seven characters."""
    session = await engine.open(await engine.create())
    script = find_examples()[2].script
    await session.edits.edit_tab1(
        replace(
            tab1(script.world, script.chapter),
            character_count=len(script.cast),
            names=script.names,
            identities={one.slot: one.identity for one in script.cast},
        )
    )
    await session.aclose()


async def make_several(engine: Engine) -> None:
    await make_full(engine)
    await make_active(engine, 8)
    await make_draft(engine)


def test_starting(desktop: Desktop, pictures_match: PicturesMatch, shown: Shown) -> None:
    @asynccontextmanager
    async def never(_: Configuration) -> AsyncIterator[Engine]:
        await asyncio.Event().wait()
        raise AssertionError
        yield

    app = StoryEngineApp(never, Configuration(desktop.paths, desktop.settings))

    async def run_before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: any(line.display for line in app.chapter.query("#progress")))

    assert pictures_match(app, run_before=run_before)


def test_start_failed(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.start_errors = [
        StorageError(
            ErrorCode.STORAGE_LOAD_FAILED,
            "The database at db.example does not answer; nothing was changed.",
            "Check that it runs, or unset STORYENGINE_DATABASE_URL to use the private one.",
        )
    ]
    app = desktop.app()

    async def run_before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: any(one.is_shown for one in app.chapter.query("#trouble").results(Banner)))

    assert pictures_match(app, run_before=run_before)


def test_welcome_and_an_empty_setup_that_is_refused(shown: Shown) -> None:
    async def welcome(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await until(pilot, lambda: isinstance(app.screen, WelcomeModal))
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 6)

    async def empty(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)

    async def refused(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("f3")
        await until(pilot, lambda: app.chapter.query_one("#lock-banner", Banner).is_shown)

    assert shown(welcome, empty, refused, prepare=None)


def test_a_full_setup_the_question_before_its_lock_and_its_cast(shown: Shown) -> None:
    async def full(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        """Look at it as it opens."""

    async def question(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LockModal))

    async def cast(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
        await until(pilot, lambda: app.focused in [*app.chapter.query(".-character-blue .name")])
        app.chapter.query_one("#panels").focus()
        # How far the page has scrolled by now depends on when the new panels were laid out.
        await settled(pilot)
        app.chapter.query_one(CastPanels).scroll_visible(top=True, animate=False)

    assert shown(full, question, cast, prepare=make_full)


def test_setup_lock_failed(desktop: Desktop, shown: Shown) -> None:
    desktop.script = Script(reply=(Entry(match=ScriptMatch(schema="world_chapter_lock"), fault=Fault.AUTH),))

    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.chapter.query_one("#lock-banner", Banner).is_shown)

    assert shown(act)


def test_locked_setup_and_the_question_before_its_reset(shown: Shown) -> None:
    async def end(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        app.chapter.query_one("#reset").focus()

    async def question(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        # A button looks pressed for a fifth of a second.
        await until(pilot, lambda: not app.chapter.query_one("#reset").has_class("-active"))

    assert shown(go_to_setup, end, question, prepare=make_active)


def test_read_only(desktop: Desktop, shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    async def not_yet(_: SessionHandle) -> bool:
        await asyncio.Event().wait()
        return False

    # The picture is of the waiting itself: the answer to the first question must not come into it.
    monkeypatch.setattr(SessionHandle, "take_over", not_yet)
    monkeypatch.setattr("storyengine_tui.screens.chapter.writer_banner.POLL_SECONDS", 3600)

    async def reading(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        session = app.session
        assert session is not None
        id_ = session.id
        await app.workspace.close()
        async with desktop.engine("shore.example, process 4711") as engine:
            other = await engine.open(id_)
            await app.workspace.open(id_)
            assert app.session is not None
            since = datetime(2026, 1, 2, 14, 32, tzinfo=UTC)
            app.session._writer.holder = WriterInfo(label="shore.example, process 4711", since=since)
            app.chapter.query_one(WriterBanner).show_writer_of(app.session)
            await pilot.pause()
            await other.aclose()

    async def waiting(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("ctrl+t")

    assert shown(reading, waiting)


def test_lock_running(desktop: Desktop, shown: Shown) -> None:
    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        await pilot.press("right", "enter")
        session = app.session
        assert session is not None
        await until(pilot, lambda: session.snapshot.session.state is SessionState.LOCKING)

    desktop.script = Script(pace=Pace(first_token=60))
    assert shown(act)


def test_consent(desktop: Desktop, shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORYENGINE_API_KEY", "a key")
    desktop.settings = Settings(
        provider="openai", profile="production", base_url="https://models.example/v1", _env_file=None
    )

    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await press("f3", until_screen=ConsentModal)(pilot, app)
        await until(pilot, lambda: "STORYENGINE" in str(app.screen.query_one("#key", Static).content))

    assert shown(act)


def test_writer_gone(desktop: Desktop, shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storyengine_tui.screens.chapter.writer_banner.POLL_SECONDS", 0.02)

    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        assert app.session is not None
        id_ = app.session.id
        await app.workspace.close()
        async with desktop.engine("another window") as engine:
            other = await engine.open(id_)
            await app.workspace.open(id_)
            await other.aclose()
            banner = app.chapter.query_one(WriterBanner)
            await until(pilot, lambda: banner.content is not None and "has closed" in banner.content.sentence)

    assert shown(act)


def test_chapters(shown: Shown) -> None:
    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
        await until(pilot, lambda: app.screen.query_one(DataTable).row_count == 3)

    assert shown(act, prepare=make_several)


def test_help_a_bug_the_title_of_a_chapter_none_that_is_archived_and_a_double_name(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, desktop: Desktop
) -> None:
    report = "Story Engine 0.1.0\n\nTraceback (most recent call last):\n  …\nZeroDivisionError: a bug of ours"
    monkeypatch.setattr("storyengine_tui.screens.system.bug_screen.report_of", lambda _: report)

    async def help_of_tab_1(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))

    async def bug(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        log_folder = type(desktop.paths.logs)("/home/gm/logs")
        app.push_screen(BugScreen(ZeroDivisionError(), log_folder))
        await until(pilot, lambda: isinstance(app.screen, BugScreen))

    async def title(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
        await until(pilot, lambda: app.screen.query_one(DataTable).row_count == 1)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, TitleModal))

    async def none_archived(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
        await pilot.press("v")
        await until(pilot, lambda: app.screen.query_one("#empty").display)

    async def double_name(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("tab", "tab", "tab", "ctrl+u", *"AGENT", "space", *"yellow")
        saved = app.chapter.query_one("#saved", Static)
        await until(pilot, lambda: str(saved.content) == "name taken")

    assert shown(help_of_tab_1, bug, title, none_archived, double_name)
