"""Pictures of the archive, the question before a purge, and the palette."""

from typing import Any

from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, OptionList

from core.engine.engine import Engine
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import make_active, make_draft, until
from tests.tui.shell.test_shell_snapshots import Shown
from tests.tui.shell.test_shell_snapshots import shown as shown


async def make_archived(engine: Engine) -> None:
    """Store a draft, and two chapters in the archive."""
    for title in ("The [/x] Light", "Grey Point, and what the long night left there of its keepers"):
        session_id = await make_active(engine, 2)
        await engine.retitle(session_id, title)
        await engine.archive(session_id)
    await make_draft(engine)


async def go_to_archive(pilot: Pilot[Any], app: StoryEngineApp) -> None:
    await pilot.press("f5")
    await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
    table = app.screen.query_one(DataTable)
    await until(pilot, lambda: table.row_count == 1)
    await pilot.press("v")
    await until(pilot, lambda: table.row_count == 2)


def test_the_archive_and_the_question_before_a_purge(shown: Shown) -> None:
    async def archived(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await go_to_archive(pilot, app)

    async def purge(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))

    assert shown(archived, purge, prepare=make_archived)


def test_palette(shown: Shown) -> None:
    async def every(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        app.screen.query_one(Input).cursor_blink = False
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count > 5)

    async def found(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        options = app.screen.query_one(OptionList)
        before = options.option_count
        await pilot.press(*"chap")
        await until(pilot, lambda: options.option_count < before)

    assert shown(every, found)
