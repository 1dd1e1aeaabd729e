"""The chapter list: open, new, title, archive, restore, purge with a second question."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg
import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.session.session import SessionSummary
from core.engine.engine import Engine
from storyengine_tui.screens.library.chapters.chapter_shelf import CANNOT_OPEN
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen, chapter_cells
from storyengine_tui.screens.library.shelf.title_modal import TitleModal
from storyengine_tui.screens.shared.state_labels import shortened_title
from storyengine_tui.screens.system.welcome_modal import WelcomeModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.store.servers import plain_url
from tests.tui.engine_app import Desktop, PostgresDesktop, make_active, make_draft, opened, screen_text, until

pytestmark = pytest.mark.anyio


async def make_two(engine: Engine) -> None:
    """Store a draft, and after it a chapter with two prompts."""
    await make_draft(engine)
    session_id = await make_active(engine, 2)
    await engine.retitle(session_id, "The [/x] Light")


async def listed(pilot: Pilot[Any]) -> ChaptersScreen:
    await pilot.press("f5")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChaptersScreen))
    screen = pilot.app.screen
    assert isinstance(screen, ChaptersScreen)
    await until(pilot, lambda: rows(screen))
    return screen


def rows(screen: ChaptersScreen) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(row)] for row in range(table.row_count)]


def titles(screen: ChaptersScreen) -> list[str]:
    return [row[0] for row in rows(screen)]


def is_listed(screen: ChaptersScreen, title: str) -> bool:
    return title in titles(screen)


def open_title(app: StoryEngineApp) -> str:
    return app.session.snapshot.session.title if app.session else ""


async def test_it_lists_title_state_prompts_and_when_and_opens_one(desktop: Desktop) -> None:
    async with desktop.window(make_two) as (pilot, app):
        screen = await listed(pilot)
        assert rows(screen)[0][:3] == ["The [/x] Light", "here · being played", "2"]
        assert rows(screen)[1][:3] == ["The relief boat is late.", "being set up", "0"]
        assert rows(screen)[0][3].startswith("02 Jan 15:00")
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.screen is app.chapter and open_title(app) == "")
        assert app.chapter.active_tab == "setup"
    async with desktop.window() as (pilot, app):
        assert open_title(app) == "", "the one that was open last, not the one played last"


async def test_home_and_end_go_to_the_first_and_the_last_row(desktop: Desktop) -> None:
    await desktop.prepare(make_two)
    async with desktop.window() as (pilot, _):
        screen = await listed(pilot)
        first, last = screen.rows[0], screen.rows[-1]
        assert first != last
        await pilot.press("end")
        await until(pilot, lambda: screen.chapter == last)
        await pilot.press("home")
        await until(pilot, lambda: screen.chapter == first)


async def test_prompts_of_long_chapters_are_counted_as_all_counts_are(desktop: Desktop) -> None:
    await desktop.prepare(make_two)
    async with desktop.window() as (pilot, _):
        screen = await listed(pilot)
        cells = chapter_cells(replace(screen.rows[0], prompt_index=6000), 27, is_open=False)
        assert [str(cell) for cell in cells][2] == "6,000"
    assert PromptRange(5993, 5999).named == "prompts 5,993–5,999"


async def test_a_list_says_so_where_the_engine_restarts_behind_it(desktop: Desktop) -> None:
    async with desktop.window(make_two) as (pilot, app):
        await listed(pilot)
        engine, app.workspace.engine = app.workspace.engine, None
        await pilot.press("v")
        await until(pilot, lambda: "are being started; nothing was changed." in screen_text(app))
        app.workspace.engine = engine
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)


async def test_a_new_chapter_opens_although_the_list_that_asked_for_it_is_left_at_once(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_two) as (pilot, app):
        await listed(pilot)
        engine, before, gate = app.workspace.require_engine(), app.session, asyncio.Event()
        create = engine.create

        async def create_late() -> SessionId:
            await gate.wait()
            return await create()

        monkeypatch.setattr(engine, "create", create_late)
        await pilot.press("n", "escape")
        await until(pilot, lambda: app.screen is app.chapter)
        gate.set()
        await until(pilot, lambda: app.session not in (None, before) and app.chapter.is_open)
        assert len(await engine.sessions()) == 3


async def test_the_keys_of_the_list_and_of_the_archive_fit_into_80_columns(desktop: Desktop) -> None:
    await desktop.prepare(make_two)
    async with desktop.app().run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await listed(pilot)
        await until(pilot, lambda: "v Archived" in screen_text(pilot.app))
        await pilot.press("v")
        await until(pilot, lambda: "v Chapters" in screen_text(pilot.app))
        assert "v Archived" not in screen_text(pilot.app)
        await pilot.press("v")
        await until(pilot, lambda: "v Archived" in screen_text(pilot.app))


async def test_the_list_gives_titles_and_opens_new_chapters_and_examples_on_the_first_tab(
    desktop: Desktop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with desktop.window(make_two) as (pilot, app):
        # The list asked for last is shown where the one before was read more slowly.
        screen = await listed(pilot)
        engine, may_go_on = app.workspace.require_engine(), asyncio.Event()
        read = engine.sessions

        async def slowly(*, is_archived: bool = False) -> Sequence[SessionSummary]:
            if is_archived:
                await may_go_on.wait()
            return await read(is_archived=is_archived)

        monkeypatch.setattr(engine, "sessions", slowly)
        await pilot.press("v", "v")
        may_go_on.set()
        await app.workers.wait_for_complete([one for one in app.workers if one.group == "list"])
        assert len(rows(screen)) == 2
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # A title can be given to the open chapter and to another.
        screen = await listed(pilot)
        for row in (0, 1):
            await pilot.press("t")
            await until(pilot, lambda: isinstance(app.screen, TitleModal))
            await pilot.press("ctrl+u", *f"N{row}", "enter")
            await until(pilot, partial(is_listed, screen, f"N{row}"))
            await pilot.press("down")
        assert sorted(titles(screen)) == ["N0", "N1"]
        await pilot.press("escape")
        assert "N0" in str(app.chapter.query_one("#status-line", Static).content)
        # New reuses an empty chapter.
        for _ in range(2):
            await listed(pilot)
            await pilot.press("n")
            await until(pilot, lambda: app.screen is app.chapter and app.chapter.active_tab == "setup")
        assert len(await app.workspace.require_engine().sessions()) == 3
        # An example and a new chapter open on the first tab.
        app.chapter.action_tab("narrative")
        await until(pilot, lambda: app.chapter.active_tab == "narrative")
        await listed(pilot)
        await pilot.press("n")
        await until(pilot, lambda: app.screen is app.chapter and app.chapter.active_tab == "setup")
        new = app.session
        app.chapter.action_tab("narrative")
        await until(pilot, lambda: app.chapter.active_tab == "narrative")
        await listed(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, WelcomeModal))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter and open_title(app) == "The Lamp at Grey Point")
        assert app.session is new, "the empty chapter takes the example"
        assert app.chapter.active_tab == "setup"


async def test_a_chapter_that_cannot_be_read_is_listed_and_archived_and_the_others_are_shown(
    postgres_desktop: PostgresDesktop,
) -> None:
    async with postgres_desktop.window(make_two) as (pilot, app):
        screen = await listed(pilot)
        [other] = [
            line.id for line in await app.workspace.require_engine().sessions() if line.prompt_index == 0
        ]
        with psycopg.connect(plain_url(postgres_desktop.url)) as raw:
            raw.execute("ALTER TABLE session DROP CONSTRAINT ck_session_times")
            raw.execute("UPDATE session SET updated_at = 'infinity' WHERE id = %s", [other])
        await pilot.press("v", "v")
        await until(
            pilot, lambda: [row[1] for row in rows(screen)] == ["here · being played", "cannot be read"]
        )
        assert rows(screen)[1][0] == f"Cannot be read: {other}"
        screen.query_one(DataTable).move_cursor(row=1)
        await pilot.press("enter")
        await until(pilot, lambda: str(screen.query_one("#heading", Static).content) == CANNOT_OPEN)
        await pilot.press("a")
        await until(pilot, lambda: titles(screen) == ["The [/x] Light"])


async def test_archive_restore_and_purge_with_a_second_question(desktop: Desktop) -> None:
    async with desktop.window(make_two) as (pilot, app):
        screen = await listed(pilot)
        await pilot.press("a")
        await until(pilot, lambda: titles(screen) == ["The relief boat is late."])
        assert open_title(app) == "", "another chapter goes on where the open one was archived"
        assert str(screen.query_one("#heading", Static).content) == "“The [/x] Light” is archived; v shows it"
        await pilot.press("v")
        await until(pilot, lambda: titles(screen) == ["The [/x] Light"])
        await pilot.press("r")
        await until(pilot, lambda: not rows(screen))
        await pilot.press("v")
        await until(pilot, lambda: len(rows(screen)) == 2)
        screen.query_one(DataTable).move_cursor(row=titles(screen).index("The [/x] Light"))
        await pilot.press("a", "v")
        await until(pilot, lambda: titles(screen) == ["The [/x] Light"])
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        assert rows(screen), "Cancel has the focus"
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("tab", "enter")
        await until(pilot, lambda: not rows(screen))
    async with desktop.engine() as engine:
        assert len(await engine.sessions()) == 1
        assert not await engine.sessions(is_archived=True)


async def test_a_chapter_that_is_open_elsewhere_is_not_renamed_and_that_is_said(desktop: Desktop) -> None:
    await desktop.prepare(make_two)
    async with desktop.engine("the other window") as engine, desktop.app().run_test() as pilot:
        app = await opened(pilot)
        screen = await listed(pilot)
        other = await engine.open((await engine.sessions())[1].id)
        await pilot.press("down", "t")
        await until(pilot, lambda: isinstance(app.screen, TitleModal))
        await pilot.press("x", "enter")
        await until(pilot, lambda: screen.query_one(Banner).is_shown)
        assert "the other window" in str(screen.query_one(Banner).content)
        await other.aclose()
        await app.close_everything()


async def test_a_chapter_that_another_window_writes_in_is_not_archived_and_that_is_said(
    desktop: Desktop,
) -> None:
    await desktop.prepare(make_two)
    async with desktop.engine("the other window") as engine:
        others = [await engine.open(summary.id) for summary in await engine.sessions()]
        async with desktop.window() as (pilot, app):
            screen = await listed(pilot)
            before, banner = titles(screen), screen.query_one(Banner)
            for row in ("read here", "not open here"):
                await pilot.press("a")
                await until(pilot, lambda: banner.is_shown, row)
                assert "the other window" in str(banner.content)
                assert titles(screen) == before
                assert len(await engine.sessions()) == 2
                assert app.session is not None, "what was open stays open"
                banner.hide()
                await pilot.press("down")
        for other in others:
            await other.aclose()


async def test_enter_on_an_archived_chapter_says_what_it_needs_first(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await make_two(engine)
        await engine.archive((await engine.sessions())[0].id)

    async with desktop.window(make) as (pilot, app):
        screen = await listed(pilot)
        await pilot.press("v")
        await until(pilot, lambda: "The [/x] Light" in rows(screen)[0])
        await pilot.press("enter")
        await until(pilot, lambda: "r restores it" in screen_text(app))
        assert isinstance(app.screen, ChaptersScreen)


@pytest.mark.parametrize("width", [27, 40])
def test_titles_of_restored_chapters_are_told_apart_where_they_are_cut(width: int) -> None:
    title = "Tonight a bell rang under the harbour, and the keeper heard it first"
    shown = [shortened_title(f"{title} (summary of prompts {span})", width) for span in ("1–7", "8–14")]
    assert shown[0].startswith("T")
    assert [one[-6:] for one in shown] == ["s 1–7)", " 8–14)"]
    assert all(cell_len(one) <= width for one in shown)
    branch = shortened_title("The Lantern of Orrin Bay (branch at prompt 2)", 27)
    assert branch == "The Lantern… (…at prompt 2)"
    assert shortened_title("Three hundred (summary of prompts 295–301)", 27) == "Three hundred (…295–301)"
    assert cell_len(shortened_title(f"A title ({'x' * 60})", width)) <= width
    assert shortened_title("A short one (with a note)", width) == "A short one (with a note)"
    assert shortened_title("word " * 20, width).endswith("…")
