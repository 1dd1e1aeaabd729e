"""What lies over the chapter closes itself alone and once, whatever keys come in one moment."""

import asyncio
from typing import Any

import pytest
from rich.style import Style
from textual.events import Click, Key, ScreenResume
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, OptionList, Select

from core.domain.slot import Slot
from storyengine_tui.screens.play.play_pane import PlayPane
from storyengine_tui.screens.setup.setup_pane import SetupPane
from storyengine_tui.screens.system.help_screen import HelpScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette import StoryPalette
from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, screen_text, until

pytestmark = pytest.mark.anyio


def click_on(widget: Widget, style: Style) -> Click:
    at = {"delta_x": 0, "delta_y": 0, "button": 1, "shift": False, "meta": False, "ctrl": False}
    return Click(widget, 0, 0, **at, screen_x=0, screen_y=0, style=style)  # type: ignore[arg-type]  # of both kinds


@pytest.mark.needs(Part.COMMAND_PALETTE)
async def test_keys_that_come_twice_in_the_palette_run_one_command(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_draft)
    opened_screens: list[None] = []
    monkeypatch.setattr(StoryEngineApp, "action_model", lambda self: opened_screens.append(None))
    async with desktop.window() as (pilot, app):
        for keys in ("enter enter", "down enter enter", "enter enter enter enter"):
            opened_screens.clear()
            await pilot.press("ctrl+p", *"model")
            await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 1)
            for key in keys.split():  # In one write, as from a slow line.
                app.post_message(Key(key, None))
            await until(pilot, lambda: app.screen is app.chapter)
            await until(pilot, lambda: opened_screens)
            await pilot.pause()
            assert len(opened_screens) == 1, keys


@pytest.mark.needs(Part.COMMAND_PALETTE)
async def test_enter_right_behind_the_words_runs_what_these_find_and_nothing_else(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[None] = []
    monkeypatch.setattr(StoryEngineApp, "action_model", lambda self: ran.append(None))
    async with desktop.window(make_draft) as (pilot, app):
        for words in ("model", "zzz"):
            await pilot.press("ctrl+p")
            await until(pilot, lambda: app.screen.query_one(OptionList).option_count)
            for key in (*words, "enter"):  # In one write, as from a slow line.
                app.post_message(Key(key, key if len(key) == 1 else None))
            if words == "model":
                await until(pilot, lambda: app.screen is app.chapter)
            else:
                await until(pilot, lambda: "No matches found" in screen_text(app))
                assert isinstance(app.screen, StoryPalette)
            await pilot.pause()
            assert len(ran) == 1, words


@pytest.mark.needs(Part.COMMAND_PALETTE, Part.OPTION_LISTS)
async def test_keys_and_clicks_that_come_faster_than_the_palette_end_nothing(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # Keys that come faster than the palette end nothing.
        for sent in (
            "ctrl+p escape ctrl+p",
            "ctrl+p escape",
            "ctrl+p pagedown",
            "ctrl+p down",
            "ctrl+p enter",
            "ctrl+p x pagedown",
            "ctrl+p w backspace pageup",
            "ctrl+p w escape",
        ):
            for key in sent.split():  # In one write, as from a slow line.
                app.post_message(Key(key, key if len(key) == 1 else None))
            await pilot.pause()
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.screen is app.chapter, sent)
        # A click on a palette that is not laid out or has lost its commands ends nothing.
        app.action_command_palette()
        early = app.screen
        early.post_message(click_on(early, Style()))
        await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("ctrl+p")
        commands = app.screen.query_one(OptionList)
        await until(pilot, lambda: commands.option_count)
        commands.post_message(click_on(commands, Style.from_meta({"option": commands.option_count})))
        await pilot.pause()


@pytest.mark.needs(Part.OPTION_LISTS)
async def test_a_choice_or_a_list_of_commands_turns_a_page_only_where_it_is_laid_out(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # A choice takes a page key in the moment in which it opens.
        choice = app.screen.query_one("#character-count", Select)
        choice.expanded = True
        choice.query_one(OptionList).highlighted = 0
        choice.query_one(OptionList)._move_page(1)
        choice.query_one(OptionList)._move_page(-1)
        await pilot.pause()
        await pilot.press("escape")
        await until(pilot, lambda: not choice.expanded)
        # A page is turned only in a list of commands that is laid out.
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count)
        for size in ((80, 24), (80, 2)):
            await pilot.resize_terminal(*size)
            commands = app.screen.query_one(OptionList)
            options = list(commands.options)
            commands.clear_options().add_options(options)
            commands.display = False
            commands.highlighted = 0
            await pilot.press("pagedown", "pageup")
        assert app.bug is None
        await pilot.press("escape")


async def test_a_palette_that_closes_looks_for_nothing_and_opens_again(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # What is typed into a palette that closes looks for nothing.
        await pilot.press("ctrl+p")
        palette = app.screen
        field = palette.query_one(Input)
        palette.dismiss()
        palette.post_message(Input.Changed(field, "late"))
        await until(pilot, lambda: not palette.is_attached)
        await pilot.pause()
        # The palette opens again while the one before is removed.
        await pilot.press("ctrl+p")
        first = app.screen
        first.dismiss()
        app.action_command_palette()
        await until(pilot, lambda: not first.is_attached)
        assert isinstance(app.screen, StoryPalette)


async def help_over_a_question(
    pilot: Pilot[Any], app: StoryEngineApp
) -> tuple[ConfirmModal, list[bool | None]]:
    """Ask something, and ask for help over it; return the dialog, and its answers so far."""
    results: list[bool | None] = []
    dialog = ConfirmModal("Sure?", "It is a question.", confirm="Yes")
    app.push_screen(dialog, results.append)
    await until(pilot, lambda: app.screen is dialog)
    await pilot.press("f1")
    return dialog, results


async def test_a_dialog_under_or_over_another_closes_itself_alone_and_answers_once(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # A dialog that is done under the help closes itself alone.
        dialog, results = await help_over_a_question(pilot, app)
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        dialog.dismiss(True)
        dialog.dismiss(False)
        assert isinstance(app.screen_stack[-1], HelpScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await until(pilot, lambda: results)
        assert results == [True]
        # The first result counts, also where another one comes as soon as the dialog is in front.
        dialog, results = await help_over_a_question(pilot, app)
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        dialog.dismiss(True)
        app.screen.dismiss()
        dialog.dismiss(False)
        await until(pilot, lambda: results)
        assert results == [True]
        # A dialog that waits to close takes no other screen with it and answers once.
        dialog, results = await help_over_a_question(pilot, app)
        first = app.screen
        assert isinstance(first, HelpScreen)
        dialog.dismiss(True)
        # The help closes, and opens again before the dialog hears that it was in front.
        first.dismiss()
        second = HelpScreen.of(app.screen)
        app.push_screen(second)
        await until(pilot, lambda: second.is_mounted)
        await pilot.pause()
        assert app.screen_stack[-1] is second
        assert results == []
        second.dismiss()
        await until(pilot, lambda: results == [True])
        await until(pilot, lambda: app.screen is app.chapter)
        # A dialog that comes to the front twice at once closes itself alone.
        below, dialog = (ConfirmModal("Sure?", "It is a question.", confirm="Yes") for _ in range(2))
        results = []
        app.push_screen(below, results.append)
        app.push_screen(dialog, results.append)
        await until(pilot, lambda: app.screen is dialog and dialog.is_mounted)
        app.push_screen(HelpScreen.of(app.screen))
        dialog.dismiss(True)
        for _ in range(2):
            dialog.post_message(ScreenResume())
        app.screen.dismiss()
        await until(pilot, lambda: results == [True])
        await pilot.pause()
        assert app.screen is below


async def test_a_panel_or_a_help_that_is_not_there_yet_ends_nothing(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # A panel that is made while the chapter closes ends nothing.
        page = app.screen.query_one(SetupPane)
        making = asyncio.create_task(page._show_panel(Slot.ORANGE))
        await asyncio.sleep(0)
        session = page.session
        page.detach()
        await making
        await page.attach(session)
        # The help takes a key in the moment in which it opens.
        screen = HelpScreen.of(app.screen)
        app.push_screen(screen)
        screen.action_scroll(1)
        await until(pilot, lambda: screen.is_mounted)


async def test_a_question_opens_again_while_the_one_before_is_removed_and_only_once(desktop: Desktop) -> None:
    await desktop.prepare(make_active)
    app = desktop.app()
    async with app.run_test() as pilot:
        await opened(pilot)
        pane = app.chapter.query_one(PlayPane)
        pane.ending.action_end_chapter()
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        app.screen.dismiss(False)
        pane.ending.action_end_chapter()
        pane.ending.action_end_chapter()
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal) and app.screen.is_mounted)
        assert len(app.screen_stack) == 2
        app.screen.dismiss(False)
        await app.close_everything()
