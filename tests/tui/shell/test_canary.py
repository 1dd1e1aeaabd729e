"""A key is on no screen: each that could show one is photographed while a planted key is used and echoed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from textual.pilot import Pilot
from textual.widgets import DataTable, Input

from core.config.settings import Settings
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.providers.factory import make_provider
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.calls.inputs.call_screen import CallScreen
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.screens.system.bug_screen import BugScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from tests.http_faults import FaultServer, error_reply
from tests.tui.engine_app import Desktop, make_active, opened, until

pytestmark = pytest.mark.anyio

KEY = "sk-canary-77aa66bb"
PIECES = (KEY, KEY[3:], KEY[10:])


class Album:
    """Every picture that was taken; a key can be in the styles of none of them either."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self._pilot = pilot
        self.pictures: dict[str, str] = {}

    async def take(self, name: str) -> None:
        """Photograph what shows."""
        await self._pilot.pause()
        self.pictures[name] = self._pilot.app.export_screenshot()

    @property
    def guilty(self) -> list[str]:
        """The pictures that show a part of the key."""
        return [name for name, picture in self.pictures.items() if any(piece in picture for piece in PIECES)]


def engine_of(desktop: Desktop) -> Any:
    """Return how the program starts its engine, with the model that the settings name."""

    @asynccontextmanager
    async def start(configuration: Configuration) -> AsyncIterator[Engine]:
        store = await desktop.open_store()
        provider = make_provider(configuration.accounts.own, configuration.paths, configuration.choices)
        engine = Engine(store, provider, configuration.choices, label="canary", clock=desktop.clock)
        try:
            yield engine
        finally:
            await provider.aclose()
            await engine.aclose()

    return start


def holding(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]


def shows_trouble(app: StoryEngineApp) -> bool:
    return any(banner.is_shown for banner in app.screen.query(Banner))


async def test_no_screen_shows_a_key(desktop: Desktop, tmp_path: Path) -> None:
    await desktop.prepare(make_active)
    async with FaultServer() as server:
        settings = Settings(
            provider="openai", base_url=server.base_url, api_key=SecretStr(KEY), _env_file=None
        )
        configuration = Configuration(desktop.paths, settings)
        app = StoryEngineApp(engine_of(desktop), configuration)
        async with app.run_test(size=(120, 40)) as pilot:
            album = Album(pilot)
            await opened(pilot)
            assert app.session is not None
            for status in (401, 403, 400):
                server.script(error_reply(status, f"Incorrect API key provided: {KEY} (Bearer {KEY})"))
                await app.session.wait(await app.session.submit_prompt(Slot.RED, f"Are you {status}?"))
                await until(pilot, lambda: shows_trouble(app))
                await album.take(f"a prompt that failed with {status}")
            await pilot.press("f7")
            await until(pilot, lambda: isinstance(app.screen, CallsScreen))
            await until(pilot, lambda: app.screen.query_one(DataTable).row_count > 2)
            await album.take("calls")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, CallScreen))
            await album.take("a call")
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.screen is app.chapter)
            await pilot.press("f6")
            await until(pilot, lambda: isinstance(app.screen, ModelScreen))
            await album.take("model")
            app.screen.query_one("#key", Input).value = KEY
            server.script(error_reply(401, f"Incorrect API key provided: {KEY}"))
            await pilot.press("f8")
            await until(pilot, lambda: shows_trouble(app))
            await album.take("model, a key typed and refused")
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)
            app.show_bug(RuntimeError(f"bug in {configuration!r} with {settings.active()!r}"))
            await until(pilot, lambda: isinstance(app.screen, BugScreen))
            await album.take("bug")
            await app.close_everything()
        assert {sent.headers["authorization"] for sent in server.requests} == {f"Bearer {KEY}"}
    assert len(album.pictures) == 8
    assert all("<svg" in picture for picture in album.pictures.values())
    assert album.guilty == []
    assert holding(tmp_path) == []
