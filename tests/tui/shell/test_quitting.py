"""What quitting leaves on the terminal."""

import asyncio
import gc
import warnings
from collections.abc import Sequence
from contextvars import Context

import pytest
from textual.app import App, ComposeResult
from textual.css.query import NoMatches
from textual.widgets import Button, Input

from core.domain.errors import ErrorCode, StorageError
from core.domain.session.session import SessionSummary
from core.domain.slot import Slot
from core.engine.engine import Engine
from storyengine_tui.screens.chapter import stopped_calls
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.lore.book_fields_modal import BookFieldsModal
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import (
    PATIENCE,
    Desktop,
    filled,
    in_front,
    make_active,
    make_draft,
    opened,
    screen_text,
    until,
)
from tests.tui.screens.library.lore.lore_screens import lorebook_shown, make_lore

pytestmark = pytest.mark.anyio


async def test_a_chapter_is_closed_in_order_after_the_app_itself_has_ended_while_it_was_leaving(
    desktop: Desktop,
) -> None:
    await desktop.prepare(make_draft)
    app = desktop.app()
    async with app.run_test() as pilot:
        await opened(pilot)
        await pilot.press("ctrl+end", "!")
        App.panic(app, "The terminal cannot be read.")
        await until(pilot, lambda: not app.is_running)
    assert app.session is not None
    session_id = app.session.id
    # As `run_until_left` does it: no app is active there any more.
    await asyncio.create_task(app.close_everything(), context=Context())
    assert app.session is None
    async with desktop.engine() as engine:
        assert (await engine.reader(session_id).load()).tab1.world.endswith("!")


async def test_a_start_that_was_about_to_open_a_chapter_opens_none_once_the_gm_has_quit(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_draft)
    gate, is_listing = asyncio.Event(), asyncio.Event()
    listed = Engine.sessions

    async def list_late(engine: Engine) -> Sequence[SessionSummary]:
        summaries = await listed(engine)
        is_listing.set()
        await gate.wait()
        return summaries

    monkeypatch.setattr(Engine, "sessions", list_late)
    app = desktop.app()
    async with app.run_test() as pilot:
        await until(pilot, is_listing.is_set)
        stop = app._runtime.stop

        async def stop_late() -> None:
            gate.set()
            await app.workers.wait_for_complete([one for one in app.workers if one.group == "engine"])
            await stop()

        monkeypatch.setattr(app._runtime, "stop", stop_late)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)
    assert app.has_exited
    assert app.session is None
    assert app.bug is None


@pytest.mark.parametrize(("key", "is_insisting"), [("f2", False), ("f7", True)])
async def test_a_target_that_is_no_number_of_words_is_not_lost_by_quitting(
    desktop: Desktop, key: str, is_insisting: bool
) -> None:
    await desktop.prepare(make_draft)
    async with desktop.app().run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        assert app.session is not None
        before = app.session.id
        await pilot.press("f4")
        await filled(pilot, "narrative")
        target = app.chapter.query_one("#target", Input)
        target.focus()
        await pilot.press(*"6000", key, "ctrl+q")
        if key == "f7":  # The list covers the question; a note over it says why the program stays.
            await until(pilot, lambda: any("A target is" in one.message for one in app._notifications))
            await pilot.press("escape")
        await until(pilot, lambda: "A target is 1 to 5,000 words, or empty." in screen_text(app))
        assert app.is_running
        assert app.chapter.active_tab == "narrative"
        await until(pilot, lambda: app.focused is target)
        await until(pilot, lambda: "Quit without saving it" in screen_text(app))
        if is_insisting:
            app.chapter.query_one("#trouble").query(Button).last().press()
        else:
            await pilot.press("end", "backspace", "ctrl+q")
        await until(pilot, lambda: not app.is_running)
    async with desktop.engine() as engine:
        assert (await engine.reader(before).load()).session.target_words == (None if is_insisting else 600)


async def test_quitting_asks_first_where_a_dialog_has_a_text_that_no_file_has(desktop: Desktop) -> None:
    async with desktop.window(make_lore, size=(80, 24)) as (pilot, app):
        await lorebook_shown(pilot)
        await pilot.press("b")
        dialog = await in_front(pilot, BookFieldsModal)
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press(*"Crew", "ctrl+q")
        await in_front(pilot, ConfirmModal)
        await pilot.press("ctrl+q", "escape")
        await until(pilot, lambda: app.screen is dialog)
        assert dialog.query_one("#groups", Input).value == "Crew"
        await pilot.press("ctrl+q", "right", "enter")
        await until(pilot, lambda: not app.is_running)


@pytest.mark.parametrize("is_forced", [False, True])
async def test_quitting_takes_back_the_question_whether_a_chapter_may_be_left(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, is_forced: bool
) -> None:
    monkeypatch.setattr(stopped_calls, "stopped_by_leaving", lambda session: "A reply is stopped.")
    monkeypatch.setattr("storyengine_tui.shell.app.COMMANDS_TIMEOUT_SECONDS", 10 * PATIENCE)
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await pilot.press("f5")
        screen = await in_front(pilot, ChaptersScreen)
        await until(pilot, lambda: screen.chosen is not None)
        await pilot.press("a")
        await in_front(pilot, ConfirmModal)
        app.action_leave(is_forced=is_forced)
        await until(pilot, lambda: app.has_exited)


async def test_quitting_without_storing_ends_in_order_while_nothing_can_be_stored(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_draft)
    app = desktop.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert app.session is not None
        await pilot.press("ctrl+end", "!")

        async def fail(*_: object) -> None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)

        monkeypatch.setattr(app.session.edits, "edit_tab1", fail)
        app.action_leave(is_forced=True)
        await until(pilot, lambda: not app.is_running)
    await app.close_everything()  # as `run_until_left` does
    async with desktop.engine() as engine:
        session = await engine.open((await engine.sessions())[0].id)
        assert not session.is_read_only
        await session.aclose()


async def test_the_program_ends_where_it_is_told_to_while_quitting_waits_for_a_store_that_then_fails(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal, or a lost terminal, comes when the GM has pressed Ctrl+Q already."""
    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        gate, is_storing = asyncio.Event(), asyncio.Event()

        async def fail_late() -> None:
            is_storing.set()
            await gate.wait()
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)

        monkeypatch.setattr(app.chapter, "flush_or_raise", fail_late)
        await pilot.press("ctrl+q")
        await until(pilot, is_storing.is_set)
        app.action_leave(is_forced=True)
        await pilot.pause()
        gate.set()
        await until(pilot, lambda: not app.is_running)
    assert app.session is None, "it was closed before the engine stopped"


async def test_what_was_typed_last_is_stored_where_the_terminal_cannot_be_read_any_more(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual calls `panic` when the thread that reads the terminal has failed."""
    await desktop.prepare(make_active)
    monkeypatch.setattr("storyengine_tui.screens.shared.autosave.DEBOUNCE_SECONDS", 3600)
    monkeypatch.setattr("storyengine_tui.screens.shared.autosave.MAX_DELAY_SECONDS", 3600)
    async with desktop.app().run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        assert app.session is not None
        before = app.session.id
        await pilot.press(*"rope")
        app.panic("the terminal is gone")
        await until(pilot, lambda: not app.is_running)
    assert app.return_code == 1
    async with desktop.engine() as engine:
        assert (await engine.reader(before).load()).unsent == {Slot.RED: "rope"}


@pytest.mark.needs(Part.CRASH_RECOVERY)
@pytest.mark.parametrize("steps", range(6))
async def test_an_end_before_the_first_paint_is_no_bug(desktop: Desktop, steps: int) -> None:
    app = desktop.app()

    async def end() -> None:
        await until_set(app)
        for _ in range(steps):
            await asyncio.sleep(0)
        app.exit()

    ending = asyncio.create_task(end())
    async with asyncio.timeout(PATIENCE):
        await app.run_async(headless=True)
        await ending
    assert app._exception is None


@pytest.mark.needs(Part.CRASH_RECOVERY)
async def test_an_end_while_a_page_is_composed_is_no_bug(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_draft)
    app = desktop.app()
    compose = MemoryCell.compose

    def end_and_compose(cell: MemoryCell) -> ComposeResult:
        app.exit()
        return compose(cell)

    monkeypatch.setattr(MemoryCell, "compose", end_and_compose)
    async with app.run_test() as pilot:
        await opened(pilot)
        await pilot.press("f4")
        await until(pilot, lambda: not app.is_running)
    assert app._exception is None
    assert app.bug is None


@pytest.mark.needs(Part.CRASH_RECOVERY)
async def test_what_is_missing_on_a_page_is_no_bug_only_once_the_app_has_ended(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (_, app):
        assert not app._is_cut_short(NoMatches("a part that is not there"))
    # As a terminal that is closed ends it, and a test: `exit` was never called.
    assert not app.has_exited
    assert app.survives(NoMatches("a part that is not there"))
    assert not app._is_cut_short(ValueError("a bug"))
    assert app._exception is None


@pytest.mark.needs(Part.CRASH_RECOVERY)
async def test_work_that_misses_a_part_of_a_page_once_the_app_has_ended_is_no_bug(desktop: Desktop) -> None:
    async def work(app: StoryEngineApp) -> None:
        while app.is_running:  # noqa: ASYNC110 - nothing tells of it, and one step later the work is ended
            await asyncio.sleep(0)
        raise NoMatches("a part that is not there")

    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        await pilot.press("f1")  # What is in front is closed first.
        app.chapter.run_worker(work(app), exit_on_error=False)
    assert app._exception is None


async def until_set(app: StoryEngineApp) -> None:
    """Wait for the first moment in which the app runs."""
    while not app._running:  # noqa: ASYNC110 - nothing tells of it, and one step later is another test
        await asyncio.sleep(0)


@pytest.mark.needs(Part.CRASH_RECOVERY)
async def test_work_that_quitting_ends_before_it_began_leaves_no_warning(desktop: Desktop) -> None:
    async def work() -> None:
        raise AssertionError("it is ended before")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        async with desktop.window() as (pilot, app):
            app.do(work(), group="ended")
            app.run_worker(work(), group="ended", exit_on_error=False)
            app.workers.cancel_group(app, "ended")
            await pilot.pause()
        gc.collect(1)
    assert not [str(warning.message) for warning in said if "never awaited" in str(warning.message)]


async def test_a_chapter_that_is_left_before_its_pages_are_filled_leaves_no_warning(desktop: Desktop) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        async with desktop.window(make_active) as (pilot, app):
            assert app.session is not None
            with app.session.listen() as listener:
                app.chapter._begin_others(app.session, listener)
                app.workers.cancel_group(app.chapter, "attach")
                await pilot.pause()
        gc.collect(1)
    assert not [str(warning.message) for warning in said if "never awaited" in str(warning.message)]
