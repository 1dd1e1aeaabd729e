"""What was typed into a lorebook is there again after the program was killed before it was stored."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from storyengine_tui.screens.library.lore.lorebook_screen import LorebookScreen
from storyengine_tui.shell.app import StoryEngineApp
from tests.tui.engine_app import Desktop, until
from tests.tui.screens.library.lore.lore_screens import (
    edit_elsewhere,
    engine_of,
    entry_shown,
    lorebook_shown,
    make_lore,
    names,
    stored,
    text_of,
)

pytestmark = pytest.mark.anyio

EDITOR = "storyengine_tui.screens.library.lore.lorebook_editor.LorebookEditor"


@asynccontextmanager
async def killed(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Pilot[None], StoryEngineApp, LorebookScreen]]:
    """Show a lorebook in a window that stores nothing more and then is gone."""

    async def never(*_: Any) -> None:
        """Store nothing, as a program that is killed before."""

    with monkeypatch.context() as patched:
        patched.setattr(f"{EDITOR}._save", never)
        patched.setattr(f"{EDITOR}._say_saved", lambda _: None)
        patched.setattr(f"{EDITOR}.forget", lambda _: None)
        async with desktop.window(make_lore) as (pilot, app):
            yield pilot, app, await lorebook_shown(pilot)


async def test_what_was_typed_is_there_again_after_the_program_was_killed(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with killed(desktop, monkeypatch) as (pilot, _, _):
        await entry_shown(pilot)
        await pilot.press(*" Lost?")
    async with desktop.window() as (pilot, app):
        screen = await lorebook_shown(pilot)
        assert "What you last typed in “The lamp” is here again" in text_of(screen, "#heading")
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        assert (await stored(engine_of(app))).entries[0].content == "It was lit in 1871. Lost?"
    assert not list(desktop.paths.data.glob("lore-*"))


async def test_every_entry_that_was_not_stored_is_there_again_and_not_the_last_alone(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with killed(desktop, monkeypatch) as (pilot, _, screen):
        await entry_shown(pilot)
        await pilot.press(*" Lost?", "escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("down")
        await entry_shown(pilot)
        await pilot.press(*" Mine.")
    async with desktop.window() as (pilot, app):
        screen = await lorebook_shown(pilot)
        assert "typed in “The lamp”, “Harbour” is here again" in text_of(screen, "#heading")
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        lamp, harbour, *_ = (await stored(engine_of(app))).entries
        assert lamp.content == "It was lit in 1871. Lost?"
        assert harbour.content == "Deep, and never warm. Mine."


async def test_an_entry_that_was_edited_elsewhere_after_the_kill_keeps_that_text_too(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with killed(desktop, monkeypatch) as (pilot, app, _):
        await entry_shown(pilot)
        await pilot.press(*" Lost?")
        await edit_elsewhere(engine_of(app), "0", "It is new.")
    async with desktop.window() as (pilot, app):
        screen = await lorebook_shown(pilot)
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        assert names(screen).count("The lamp") == 2
        first, *_, last = (await stored(engine_of(app))).entries
        assert (first.content, last.content) == ("It is new.", "It was lit in 1871. Lost?")
