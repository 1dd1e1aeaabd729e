"""The memory bank of a chapter is switched on and off in the palette, and what that means is said."""

from functools import partial

import pytest

from core.domain.session.language import Language
from storyengine_tui.screens.chapter.bank_switch import KEPT, STOPPED, TOLD_IN, UNREAD, LanguageModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.fields.one_line import LineField
from tests.tui.engine_app import Desktop, make_active, screen_text, until
from tests.tui.shell.test_app import make_played

pytestmark = pytest.mark.anyio
KEEP, STOP = "Keep a memory bank", "Stop the memory bank"
LANGUAGE = "Language of the story"


def offered(app: StoryEngineApp) -> list[str]:
    return [one.title for one in commands_of(app, lambda: None) if one.title in (KEEP, STOP, LANGUAGE)]


def choose(app: StoryEngineApp, title: str) -> None:
    next(one for one in commands_of(app, lambda: None) if one.title == title).callback()


def says(app: StoryEngineApp, text: str) -> bool:
    return any(note.message == text for note in app._notifications)


async def test_a_new_chapter_keeps_no_bank_until_the_gm_says_so(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (pilot, app):
        assert app.session is not None
        assert not app.session.snapshot.session.keeps_bank
        assert offered(app) == [KEEP]
        choose(app, KEEP)
        await until(pilot, partial(says, app, KEPT))
        assert app.session.snapshot.session.keeps_bank
        assert offered(app) == [STOP, LANGUAGE]
        choose(app, STOP)
        await until(pilot, partial(says, app, STOPPED))
        assert not app.session.snapshot.session.keeps_bank


async def test_how_much_is_read_first_is_said(desktop: Desktop) -> None:
    async with desktop.window(make_played) as (pilot, app):
        choose(app, KEEP)
        await until(pilot, lambda: says(app, UNREAD.format("1 part")) or says(app, KEPT))
        assert app.session is not None
        blocks = [one for one in app.session.snapshot.blocks if one.last]
        assert says(app, UNREAD.format("1 part")) is bool(blocks)


async def test_the_language_of_the_story_is_typed_and_one_that_there_is_not_is_refused(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        assert app.session is not None
        choose(app, KEEP)
        await until(pilot, partial(says, app, KEPT))
        choose(app, LANGUAGE)
        await until(pilot, lambda: isinstance(app.screen, LanguageModal))
        field = app.screen.query_one(LineField)
        for key in ("enter", "ctrl+s"):
            field.text = "Kling[/]on"
            await pilot.press(key)
            await until(pilot, lambda: "“Kling[/]on” is not among" in screen_text(app))
            assert field.has_focus
            assert field.text == "Kling[/]on"
            field.text = ""
            await pilot.press(key)
            await until(pilot, lambda: "“” is not among" in screen_text(app))
        assert app.session.snapshot.session.language.value == "english"
        field.text = "German"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: not isinstance(app.screen, LanguageModal))
        await until(pilot, partial(says, app, TOLD_IN.format("German")))
        assert app.session.snapshot.session.language is Language.GERMAN
        texts = [one.help for one in commands_of(app, lambda: None) if one.title == LANGUAGE]
        assert texts == ["German now; recall and search know the forms of its words"]
