"""What holds in front of a dialog and behind it: help, the row of keys, the focus, the chapter."""

import asyncio
from typing import Any

import pytest
from textual.events import AppBlur, AppFocus
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Button

from core.library.characters.character import Trait
from core.library.characters.nature import Nature
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.library.cast.nature_screen import NatureModal
from storyengine_tui.screens.play.actions.take_modals import ReplyModal
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.screens.system.help_screen import HelpScreen, key_lines
from storyengine_tui.screens.system.welcome_modal import WelcomeModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.key_line import KeyLine
from tests.tui.conftest import settled
from tests.tui.engine_app import Desktop, make_active, make_draft, until
from tests.tui.frames import rendered
from tests.tui.rooms.one_page import Gate
from tests.tui.rooms.one_page import gate as gate
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = pytest.mark.anyio


def shown_keys(app: StoryEngineApp) -> str:
    return app.chapter.query_one(KeyLine).render().plain


def rows(app: StoryEngineApp) -> list[str]:
    """What stands on the terminal, row by row."""
    return ["".join(segment.text for segment in strip) for strip in rendered(app)]


async def ask_to_end(pilot: Pilot[Any]) -> None:
    await pilot.press("f3", "f8")
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmModal))


async def test_help_opens_over_a_dialog_by_either_key_and_closes_by_it(desktop: Desktop) -> None:
    async with desktop.window() as (pilot, app):
        await until(pilot, lambda: isinstance(app.screen, WelcomeModal))
        for key in ("f1", "question_mark"):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, HelpScreen))
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, WelcomeModal))


async def test_the_help_of_a_question_says_how_to_answer_it(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await ask_to_end(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert "and Enter gives the one" in "\n".join(rows(app))


def test_what_a_key_does_stays_in_its_column_where_it_is_long() -> None:
    keys = [("arrows, Home, End, PageUp, PageDown", "move"), ("F12", "Memory as the next character sees it")]
    first, *lines = key_lines(keys)
    column = first.index("move")
    assert len(lines) == 2
    assert all(line[column] != " " and line[column - 1] == " " for line in lines)
    assert " ".join(line[column:] for line in lines) == keys[1][1]


async def test_below_a_dialog_stand_the_keys_of_the_dialog(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await until(pilot, lambda: "Send" in shown_keys(app))
        await ask_to_end(pilot)
        await until(pilot, lambda: "Cancel" in shown_keys(app))
        assert not {"Chapters", "Tabs", "Send"} & set(shown_keys(app).split())
        assert "F1 Help" in shown_keys(app)
        assert "palette" not in shown_keys(app)
        await pilot.press("escape")
        await until(pilot, lambda: "Send" in shown_keys(app) and "palette" in shown_keys(app))


async def test_no_way_leads_from_a_question_to_another_chapter(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await ask_to_end(pilot)
        question = app.screen
        await pilot.press("ctrl+p", "f5", "f6", "f7")
        await pilot.pause()
        assert app.screen is question


@pytest.mark.paints  # The button loses the focus in the frames without it, while the lock runs.
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_lock_that_was_begun_by_its_button_and_failed_is_seen_and_mended_by_keys(
    desktop: Desktop, gate: Gate, size: tuple[int, int]
) -> None:
    wanted = ScriptMatch(schema="world_chapter_lock")
    refused = Entry(match=wanted, fault=Fault.AUTH, times=1, first_token=1)
    desktop.script = Script(reply=(refused,))
    async with desktop.window(make_draft, size=size) as (pilot, app):
        button = app.chapter.query_one("#go-on")
        button.focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.chapter.focused is not button)
        gate.open()
        await until(pilot, lambda: app.screen is app.chapter and app.focused is not None)
        await settled(pilot)
        assert any("refused the key" in row for row in rows(app))
        assert any("Retry (Ctrl+R)" in row for row in rows(app))
        assert app.focused is app.chapter.query_one("#world")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.chapter.active_tab == "play")


async def test_every_deed_of_a_tab_that_is_possible_is_in_the_palette_and_is_done_from_there(
    desktop: Desktop,
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        offered = {command.title: command for command in app.get_system_commands(app.screen)}
        assert {"End Chapter", "Reset Chapter", "Set aside (Archive)"} <= offered.keys()
        assert not {"Retry", "Stop", "Build Narrative", "Download Chapter"} & offered.keys()
        offered["Reset Chapter"].callback()
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        assert app.chapter.active_tab == "setup"
        await pilot.press("escape")
        first = app.session
        offered["Set aside (Archive)"].callback()
        await until(pilot, lambda: app.session is not None and app.session is not first)
        assert first is not None
        assert first.snapshot.session.archived_at is not None


async def test_a_dialog_that_came_while_nobody_looked_has_the_focus_once_somebody_does(
    desktop: Desktop,
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        app.post_message(AppBlur())
        await until(pilot, lambda: app.focused is None)
        app.chapter.query_one("#end-chapter", Button).press()
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        app.post_message(AppFocus())
        await until(pilot, lambda: app.focused is app.screen.query_one("#cancel"))
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is not None and app.screen is app.chapter)


async def test_a_chapter_that_opened_while_nobody_looked_is_written_in_once_somebody_does(
    desktop: Desktop,
) -> None:
    await desktop.prepare(make_draft)
    app = desktop.app()
    async with app.run_test() as pilot:
        app.post_message(AppBlur())
        await until(pilot, lambda: app.session is not None and app.chapter.is_open)
        app.post_message(AppFocus())
        await until(pilot, lambda: app.focused is app.chapter.query_one("#world"))
        await app.close_everything()


@pytest.mark.parametrize("kind", ["text", "form"])
async def test_a_text_whose_storing_met_a_bug_can_be_stored_again(kind: str) -> None:
    stored: list[str] = []

    async def store(made: str | Nature) -> None:
        stored.append(made if isinstance(made, str) else made.name)
        if len(stored) == 1:
            raise ZeroDivisionError("a bug in the store")

    dialog: Screen[bool] = (
        ReplyModal(store, 100) if kind == "text" else NatureModal(Trait(name=""), store, is_new=True)
    )
    app = WidgetApp(list)
    async with app.run_test() as pilot:
        app.push_screen(dialog)
        await pilot.pause()
        await pilot.press(*"ab")
        for number in (1, 2):
            dialog.query(".action").first(Button).press()
            await settled(pilot)
            assert len(stored) == number
            await pilot.press("c")
        assert stored == ["ab", "abc"]
        assert app.screen is not dialog


@pytest.mark.parametrize("kind", ["text", "form"])
async def test_esc_does_not_offer_to_discard_a_text_that_is_being_stored(kind: str) -> None:
    gate = asyncio.Event()

    async def store(_: str | Nature) -> None:
        await gate.wait()

    dialog: Screen[bool] = (
        ReplyModal(store, 100) if kind == "text" else NatureModal(Trait(name=""), store, is_new=True)
    )
    app = WidgetApp(list)
    async with app.run_test() as pilot:
        app.push_screen(dialog)
        await pilot.pause()
        await pilot.press(*"ab")
        dialog.query(".action").first(Button).press()
        await settled(pilot)
        await pilot.press("escape")
        assert app.screen is dialog
        gate.set()
        await until(pilot, lambda: app.screen is not dialog)


async def test_a_dialog_that_is_looked_at_before_its_frame_is_over_its_page_and_stays_so(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        app.push_screen(ConfirmModal("Leave?"))
        await settled(pilot)
        before = rows(app)
        app.screen.refresh()
        assert rows(app) == before
        await settled(pilot)
        assert rows(app) == before
        assert any("End Chapter" in row for row in before)
