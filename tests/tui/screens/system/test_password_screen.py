"""The password screen: nothing of a chapter shows or starts before the password is right."""

import asyncio
import json
import time
from functools import cache
from typing import Any

import pytest
from pydantic import SecretStr
from textual.pilot import Pilot
from textual.widgets import Input, Static

from core.config.password import PasswordGate, hash_password
from core.config.settings import Settings
from core.engine.engine import Engine
from storyengine_tui.bootstrap import Configuration, Unread
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.screens.system.password_screen import PasswordScreen
from storyengine_tui.shell.app import StoryEngineApp
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, opened, until

pytestmark = pytest.mark.anyio

PASSWORD = "open sesame"


@cache
def kept() -> str:
    """The hash of that password; it takes a while by design."""
    return hash_password(SecretStr(PASSWORD))


@pytest.fixture
def locked(desktop: Desktop) -> Desktop:
    """A machine with a chapter behind a password."""
    desktop.settings = Settings(provider="scripted", password_hash=SecretStr(kept()), _env_file=None)
    return desktop


async def make_secret(engine: Engine) -> None:
    await engine.retitle(await make_active(engine, 1), "The secret chapter")


def said(pilot: Pilot[Any]) -> str:
    return str(pilot.app.screen.query_one("#said", Static).content)


async def asked(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, PasswordScreen) and pilot.app.focused)


async def test_nothing_shows_and_nothing_starts_before_the_password_is_right(locked: Desktop) -> None:
    await locked.prepare(make_secret)
    app = locked.app()
    async with app.run_test() as pilot:
        await asked(pilot)
        for key in ("f2", "f3", "f4", "f5", "f6", "f7", "escape", "tab", "ctrl+r"):
            await pilot.press(key)
        assert isinstance(app.screen, PasswordScreen)
        assert (app.engine, app.session, locked.windows) == (None, None, 0)
        assert "secret" not in app.export_screenshot()
        await pilot.press(*"wrong")
        assert "wrong" not in app.export_screenshot()
        await pilot.press("enter")
        await until(pilot, lambda: "not the password" in said(pilot))
        assert locked.windows == 0
        locked.paths.tries_file.write_text(json.dumps({"wrong": 10, "at": time.time()}))
        await pilot.press(*PASSWORD, "enter")
        await until(pilot, lambda: "try again" in said(pilot))
        assert locked.windows == 0, "too soon, though it is the right one"
        locked.paths.tries_file.unlink()
        await pilot.press(*PASSWORD, "enter")
        await opened(pilot)
        assert locked.windows == 1
        await app.close_everything()


async def test_tries_at_the_screen_and_at_the_command_line_are_counted_together(locked: Desktop) -> None:
    async with locked.app().run_test() as pilot:
        await asked(pilot)
        await pilot.press("x", "enter")
        await until(pilot, lambda: "not the password" in said(pilot))
        noted = json.loads(locked.paths.tries_file.read_text())
        gate = PasswordGate(SecretStr(kept()), locked.paths.tries_file, clock=lambda: noted["at"])
        assert (noted["wrong"], gate.wait) == (1, 1.0)
        await pilot.press("enter")
        assert pilot.app.screen.query_one("#password", Input).value == ""


async def test_a_try_that_ends_with_an_error_of_the_program_is_followed_by_the_next_one(
    locked: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("no room for the hash")

    app = locked.app()
    async with app.run_test() as pilot:
        await asked(pilot)
        screen = app.screen
        assert isinstance(screen, PasswordScreen)
        await pilot.press("x")
        with monkeypatch.context() as patched:
            patched.setattr(PasswordGate, "check", fail)
            with pytest.raises(MemoryError):
                await screen._try()
        await pilot.press(*PASSWORD, "enter")
        await opened(pilot)
        await app.close_everything()


async def test_without_a_password_no_password_is_asked_for(desktop: Desktop) -> None:
    app = desktop.app()
    async with app.run_test() as pilot:
        await opened(pilot)
        assert not any(isinstance(screen, PasswordScreen) for screen in app.screen_stack)
        await app.close_everything()


def test_picture_of_the_gate(pictures_match: PicturesMatch, locked: Desktop) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await asked(pilot)
        pilot.app.screen.query_one("#password", Input).cursor_blink = False
        await pilot.press(*"guess")

    assert pictures_match(locked.app(), run_before=act)


async def test_what_is_typed_before_the_gate_shows_is_of_the_password_and_no_text_of_the_story(
    locked: Desktop,
) -> None:
    may_read = asyncio.Event()

    async def read() -> Configuration:
        await may_read.wait()
        return Configuration(locked.paths, locked.settings)

    await locked.prepare(make_secret)
    app = StoryEngineApp(locked.start, Unread(locked.paths, read))
    async with app.run_test() as pilot:
        await pilot.press(*PASSWORD[:4])
        may_read.set()
        await asked(pilot)
        await pilot.press(*PASSWORD[4:], "enter")
        await opened(pilot)
        assert isinstance(app.focused, PromptArea)
        assert app.focused.text == ""
        assert not locked.paths.early_text.exists()
        await app.close_everything()
