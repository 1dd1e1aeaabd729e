"""Save slots from the chapter list: shown, restored into a new chapter, saved under a name, deleted."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, DataTable, Input, Static

from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.domain.story.save_point import SavePoint
from core.engine.engine import Engine
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.chapters.save_points_screen import (
    NONE_SINCE,
    WHY_NOT_DELETED,
    SavePointsScreen,
)
from storyengine_tui.screens.library.shelf.title_modal import NO_NAME, SavePointNameModal
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.key_line import KeyLine
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, screen_text, until

pytestmark = pytest.mark.anyio


class Gate:
    """A command that waits until the gate is open, and counts its calls."""

    def __init__(self, command: Callable[..., Awaitable[Any]]) -> None:
        self._command = command
        self.is_open = asyncio.Event()
        self.calls = 0

    async def __call__(self, *arguments: Any, **more: Any) -> Any:
        self.calls += 1
        await self.is_open.wait()
        return await self._command(*arguments, **more)


async def make_played(engine: Engine, prompts: int) -> SessionId:
    """Store a chapter, closed after its lock: an automatic slot is saved in the background, maybe later."""
    session_id = await make_active(engine)
    session = await engine.open(session_id)
    for number in range(1, prompts + 1):
        await session.wait(await session.submit_prompt(Slot.RED, f"Prompt number {number}."))
    await session.aclose()
    return session_id


async def make_saved(engine: Engine) -> None:
    """Store a chapter of eight prompts with slots of both kinds."""
    session_id = await make_played(engine, 8)
    await engine.retitle(session_id, "The [/x] Light")
    await engine.save_points.keep(session_id, "Before the [/x] storm")


async def make_kept(engine: Engine) -> None:
    """Store a chapter with slots of both kinds, each taken while nothing else runs."""
    session_id = await make_played(engine, 2)
    await engine.retitle(session_id, "The [/x] Light")
    await engine.save_points.keep(session_id, "Before the [/x] storm, and the long night that came after it")
    await engine.save_points.create(session_id, "before the chapter was reset")


async def shown(pilot: Pilot[Any]) -> SavePointsScreen:
    await opened(pilot)
    await pilot.press("f5")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChaptersScreen))
    await until(pilot, lambda: pilot.app.screen.query_one(DataTable).row_count)
    await pilot.press("s")
    await until(pilot, lambda: isinstance(pilot.app.screen, SavePointsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, SavePointsScreen)
    return screen


def rows(screen: SavePointsScreen) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(row)] for row in range(table.row_count)]


def names(screen: SavePointsScreen) -> list[str]:
    return [row[1] for row in rows(screen)]


def choose_named(screen: SavePointsScreen) -> SavePoint:
    """Put the cursor on the slot that the GM named, and return it."""
    [seen] = [slot for slot in screen.rows if slot.is_named]
    screen.query_one(DataTable).move_cursor(row=screen.rows.index(seen))
    return seen


async def replace_with(engine: Engine, seen: SavePoint, name: str) -> None:
    """Delete a slot, and save the chapter under another name and the same number, as another window may."""
    await engine.save_points.drop(seen.session_id, seen.number)
    assert (await engine.save_points.keep(seen.session_id, name)).number == seen.number


async def test_it_lists_the_newest_first_and_restores_one_into_a_new_chapter(desktop: Desktop) -> None:
    await desktop.prepare(make_saved)
    async with desktop.app().run_test() as pilot:
        screen = await shown(pilot)
        await until(pilot, lambda: len(rows(screen)) == 3)
        assert names(screen) == ["Before the [/x] storm", "summary of prompts 1–7", "the chapter was locked"]
        assert rows(screen)[0][:1] + rows(screen)[0][2:4] == ["10", "being played", "8"]
        app = await opened(pilot)
        assert app.session is not None
        before = app.session.id
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: app.screen is app.chapter and app.session and app.session.id != before)
        session = app.session
        assert session.snapshot.session.prompt_index == 0
        assert session.snapshot.session.title.endswith("(the chapter was locked)")
        await app.close_everything()


async def test_a_slot_is_restored_once_however_often_enter_is_pressed(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_kept)
    async with desktop.app().run_test() as pilot:
        screen = await shown(pilot)
        app = await opened(pilot)
        points = app.workspace.require_engine().save_points
        await until(pilot, lambda: rows(screen))
        # A slot that a newer one has replaced since the list was read is not restored in its place.
        before = screen.rows
        screen.rows = [replace(slot, prompt_index=0, label="an older one") for slot in before]
        await pilot.press("enter")
        await until(pilot, lambda: screen.query_one("#trouble", Banner).is_shown)
        assert screen.rows == before
        gate = Gate(points.restore)
        monkeypatch.setattr(points, "restore", gate)
        await pilot.press("enter", "enter", "r")
        gate.is_open.set()
        await until(pilot, lambda: app.screen is app.chapter)
        await until(pilot, lambda: any(page.has_session for page in app.chapter.query(SessionTab)))
        assert gate.calls == 1
        await app.close_everything()


async def test_a_slot_that_a_newer_one_replaces_while_the_gm_is_asked_is_not_restored(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_kept) as (pilot, app):
        screen = await shown(pilot)
        engine = app.workspace.require_engine()
        await until(pilot, lambda: rows(screen))
        seen = choose_named(screen)
        monkeypatch.setattr(app.workspace, "ask_to_leave", lambda: replace_with(engine, seen, "a newer one"))
        await pilot.press("enter")
        await until(pilot, lambda: screen.query_one("#trouble", Banner).is_shown)
        assert len(await engine.sessions()) == 1


async def test_a_chapter_is_opened_although_the_list_that_asked_for_it_is_closed(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        engine = app.workspace.require_engine()
        other = await engine.create()
        gate = Gate(engine.open)
        monkeypatch.setattr(engine, "open", gate)
        asked = asyncio.create_task(app.workspace.open(other))
        await until(pilot, lambda: gate.calls)
        asked.cancel()
        gate.is_open.set()
        await until(pilot, lambda: app.session is not None and app.session.id == other)
        await until(pilot, lambda: any(page.has_session for page in app.chapter.query(SessionTab)))
        # Also the one that follows a chapter that is archived.
        gate = Gate(engine.sessions)
        monkeypatch.setattr(engine, "sessions", gate)
        asked = asyncio.create_task(app.workspace.archive(other))
        await until(pilot, lambda: gate.calls)
        asked.cancel()
        gate.is_open.set()
        await until(pilot, lambda: app.session is not None and app.session.id != other)
        await until(pilot, lambda: app.chapter.is_open)


async def test_saving_a_slot_stores_what_was_just_typed(desktop: Desktop) -> None:
    async with desktop.window(make_saved) as (pilot, app):
        await pilot.press("f3", *"Quick")
        screen = await shown(pilot)
        await until(pilot, lambda: rows(screen))
        await pilot.press("down", "k")
        await until(pilot, lambda: isinstance(app.screen, SavePointNameModal))
        await pilot.press(*"New", "enter")
        await until(pilot, lambda: "New" in names(screen))
        assert app.session is not None
        listed = await app.workspace.require_engine().save_points.listed(app.session.id)
        [new] = [slot for slot in listed if slot.label == "New"]
        assert "Quick" in str(new.document["unsent"])


async def test_a_slot_is_saved_and_what_is_refused_is_told_although_the_list_is_left_at_once(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_saved) as (pilot, app):
        points = app.workspace.require_engine().save_points
        stored = points.keep

        async def keep(session_id: SessionId, label: str) -> SavePoint:
            if label == "Bad":
                raise IllegalCommandError("That name is refused.")
            kept.append(await stored(session_id, label))
            return kept[-1]

        gate, kept = Gate(keep), list[SavePoint]()
        monkeypatch.setattr(points, "keep", gate)
        for label in ("Bad", "New"):
            screen = await shown(pilot)
            await until(pilot, lambda: rows(screen))  # noqa: B023
            await pilot.press("down", "k")
            await until(pilot, lambda: isinstance(app.screen, SavePointNameModal))
            await pilot.press("ctrl+u", *label, "enter")
            await until(pilot, lambda: app.screen is screen)  # noqa: B023
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.screen is app.chapter)
        gate.is_open.set()
        await until(pilot, lambda: any("name is refused" in one.message for one in app._notifications))
        await until(pilot, lambda: kept)
        assert app.session is not None
        assert "New" in [slot.label for slot in await points.listed(app.session.id)]


async def test_only_a_slot_that_the_gm_named_can_be_deleted(desktop: Desktop) -> None:
    await desktop.prepare(make_saved)
    async with desktop.app().run_test() as pilot:
        screen = await shown(pilot)
        await until(pilot, lambda: len(rows(screen)) == 3)
        await pilot.press("d", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmModal))
        assert len(rows(screen)) == 3, "it asks first"
        pilot.app.screen.query_one("#confirm", Button).press()
        await until(pilot, lambda: len(rows(screen)) == 2)
        assert screen.check_action("drop", ()) is False
        assert "Let go" not in str(screen.query_one(KeyLine).render())
        await pilot.press("d")
        assert len(rows(screen)) == 2
        assert [note.message for note in pilot.app._notifications] == [WHY_NOT_DELETED]
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChaptersScreen))
        await pilot.app.close_everything()  # type: ignore[attr-defined]  # ours


async def test_a_slot_that_was_just_saved_has_the_cursor_and_is_what_enter_restores(desktop: Desktop) -> None:
    async with desktop.window(make_kept) as (pilot, app):
        screen = await shown(pilot)
        await until(pilot, lambda: rows(screen))
        await pilot.press("down", "k")
        await until(pilot, lambda: isinstance(app.screen, SavePointNameModal))
        await pilot.press("ctrl+u", *"Now", "enter")
        await until(pilot, lambda: "Now" in names(screen))
        assert screen.chosen is not None
        assert screen.chosen.label == "Now"


async def test_a_slot_saved_elsewhere_under_the_same_number_is_not_deleted(desktop: Desktop) -> None:
    async with desktop.window(make_kept) as (pilot, app):
        screen = await shown(pilot)
        await until(pilot, lambda: rows(screen))
        seen = choose_named(screen)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await replace_with(app.workspace.require_engine(), seen, "After the storm")
        app.screen.query_one("#confirm", Button).press()
        await until(pilot, lambda: screen.query_one("#trouble", Banner).is_shown)
        assert "After the storm" in names(screen)


async def test_a_chapter_without_slots_says_when_the_first_is_taken(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        screen = await shown(pilot)
        assert "when the chapter is locked" in str(screen.query_one("#empty", Static).content)
        assert screen.check_action("restore", ()) is False
        app = await opened(pilot)
        await pilot.press("k")
        await until(pilot, lambda: isinstance(app.screen, SavePointNameModal))
        await pilot.press("enter")
        await until(pilot, lambda: NO_NAME in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await app.close_everything()


async def test_a_locked_chapter_without_slots_is_not_told_to_wait_for_its_lock(desktop: Desktop) -> None:
    async def make_copy(engine: Engine) -> None:
        await engine.branch(await make_played(engine, 1), 1)

    await desktop.prepare(make_copy)
    async with desktop.app().run_test() as pilot:
        screen = await shown(pilot)
        await until(pilot, lambda: screen.query_one("#empty").display)
        assert "branch" in str(screen.query_one("#heading", Static).content)
        assert str(screen.query_one("#empty", Static).content) == NONE_SINCE
        await (await opened(pilot)).close_everything()


def test_pictures_of_the_save_slots_and_of_a_name_that_is_asked_for(
    pictures_match: PicturesMatch, desktop: Desktop
) -> None:
    desktop.prepare_now(make_kept)

    async def slots(pilot: Pilot[Any]) -> None:
        screen = await shown(pilot)
        await until(pilot, lambda: len(rows(screen)) == 3)

    async def name(pilot: Pilot[Any]) -> None:
        await pilot.press("down", "k")
        await until(pilot, lambda: isinstance(pilot.app.screen, SavePointNameModal))
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await pilot.press("ctrl+u", *"Before the storm")

    assert pictures_match(desktop.app(), {"slots": slots, "name": name})


def test_picture_without_save_slots(pictures_match: PicturesMatch, desktop: Desktop) -> None:
    desktop.prepare_now(make_draft)

    async def act(pilot: Pilot[Any]) -> None:
        screen = await shown(pilot)
        await until(pilot, lambda: screen.query_one("#empty").display)

    assert pictures_match(desktop.app(), run_before=act)
