"""Who answers: shown, tried out, and connected with consent; a key is never shown and never in a file."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Select, Static

from core.config.sections import AgentSettings, Profiles, ProfileSettings
from core.config.settings import Settings, load_settings
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.slot import Slot
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.connection import Connection, connect, connection_of
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.screens.models.permission.consent_modal import ConsentModal
from storyengine_tui.screens.models.trying_screen import NOTHING_SENT
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.themed_app import ThemedApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from tests.core.config.models.test_keys import Memory
from tests.http_faults import FaultServer, error_reply, text_reply
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import PATIENCE, Desktop, make_active, opened, screen_text, until
from tests.tui.rooms.widget_app import WIDGET_STYLES
from tests.tui.screens.models.test_connection import REMOTE, configuration
from tests.tui.screens.models.test_connection import ring as ring
from tests.tui.shell.test_canary import engine_of

pytestmark = pytest.mark.anyio
KEY = "sk-secret-1234567890"


# The screen, on its own


class ModelApp(ThemedApp):
    CSS_PATH = WIDGET_STYLES

    def __init__(self, configuration: Configuration, names: Mapping[Slot, str] | None = None) -> None:
        super().__init__()
        self.configuration = configuration
        self.names = names
        self.results: list[Configuration | None] = []

    def on_mount(self) -> None:
        self.push_screen(ModelScreen(self.configuration, self.names or {}), self.results.append)


class Page:
    """The model screen as its user sees it."""

    def __init__(self, pilot: Pilot[None], app: ModelApp) -> None:
        self.pilot = pilot
        self.app = app
        screen = app.screen
        assert isinstance(screen, ModelScreen)
        self.screen = screen

    def said(self, name: str) -> str:
        return str(self.screen.query_one(f"#{name}", Static).content)

    @property
    def result(self) -> str:
        content = self.screen.query_one("#result", Banner).content
        return f"{content.sentence} {content.hint}".strip() if content else ""

    def shows(self, name: str) -> bool:
        return self.screen.query_one(f"#{name}").region.height > 0


@asynccontextmanager
async def page_of(
    configuration: Configuration, size: tuple[int, int] = (80, 24), names: Mapping[Slot, str] | None = None
) -> AsyncIterator[Page]:
    app = ModelApp(configuration, names)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        yield Page(pilot, app)


async def test_each_provider_shows_what_it_needs_by_keyboard_alone(tmp_path: Path) -> None:
    async with page_of(configuration(tmp_path)) as page:
        assert page.said("models").startswith("smollm2-135m-instruct plays every character,")
        assert not page.shows("address")
        await page.pilot.press("enter", "down", "enter")
        await until(page.pilot, lambda: page.shows("address"))
        assert page.screen.query_one("#address", Input).value == "https://api.openai.com/v1"
        assert page.screen.query_one("#model-narrative", Input).placeholder == "gpt-5.2 (default)"
        assert page.screen.query_one("#model-character", Input).placeholder == "o4-mini (default)"
        assert page.said("consent").startswith("No text may go there yet")
        await until(page.pilot, lambda: page.said("key-source") == "Key: none found.")
        reached = set()
        for _ in range(45):
            await page.pilot.press("tab")
            assert page.app.focused is not None
            reached.add(page.app.focused.id)
            await until(page.pilot, partial(_is_in_sight, page.screen, page.app.focused), "out of sight")
        assert {"provider", "address", "key", "model-character", "model-slot-7", "test", "connect"} <= reached
        page.screen.query_one("#address", Input).value = "ftp://x"
        await until(page.pilot, lambda: "does not begin with http" in page.said("consent"))
        await page.pilot.press("escape")
        assert page.app.results == [None]


async def test_a_service_without_consent_is_sent_nothing_and_its_fields_say_what_they_stand_for(
    tmp_path: Path,
) -> None:
    settings = configuration(tmp_path, provider="openai", base_url=REMOTE)
    async with page_of(settings, names={Slot.ORANGE: "Jonas [/x]"}) as page:
        # An empty field shows whose model is taken, and names are those of the chapter.
        shown = screen_text(page.app)
        assert "1 Red" in shown
        assert "2 Jonas [/x]" in shown
        assert shown.count("o4-mini (as all)") == len(Slot)
        page.screen.query_one("#model-character", Input).value = "mine"
        await until(page.pilot, lambda: screen_text(page.app).count("mine (as all)") == len(Slot))
        # Nothing is sent or changed before consent is given.
        for key in ("f8", "f9"):
            await page.pilot.press(key)
            await until(page.pilot, lambda: isinstance(page.app.screen, ConsentModal))
            assert str(page.app.screen.query_one("#address", Static).content) == REMOTE
            await page.pilot.press("escape")
            await until(page.pilot, lambda: page.result == NOTHING_SENT)
        assert not settings.paths.config.exists()
        # An invalid address is reported after a change of provider too.
        page.screen.query_one("#address", Input).value = "nonsense"
        page.screen.query_one("#provider", Select).value = "local"
        await until(page.pilot, lambda: not page.shows("address"))
        page.screen.query_one("#provider", Select).value = "openai"
        await until(page.pilot, lambda: page.shows("address"))
        assert "does not begin with http" in page.said("consent")


async def test_going_back_to_a_service_finds_what_was_connected_before(tmp_path: Path) -> None:
    first = Connection(
        provider="openai",
        base_url=REMOTE,
        models={AgentRole.NARRATIVE: "big"},
        characters={Slot.VIOLET: "own"},
    )
    served, _ = connect(first, configuration(tmp_path))
    local, _ = connect(Connection(provider="local", base_url=""), served)
    local.consent.grant(REMOTE)
    async with page_of(local) as page:
        page.screen.query_one("#provider", Select).value = "openai"
        await until(page.pilot, lambda: page.shows("address"))
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.app.results)
        [connected] = page.app.results
    assert connected is not None
    assert connection_of(connected) == first


async def test_a_test_call_says_what_came_back_and_how_fast_and_a_failure_why(tmp_path: Path) -> None:
    async with FaultServer() as server:
        server.script(text_reply("rea", "dy [/x]"), error_reply(401))
        settings = configuration(tmp_path, provider="openai", base_url=server.base_url)
        async with page_of(settings) as page:
            assert page.said("consent").startswith("That is this machine")
            page.screen.query_one("#key", Input).value = KEY
            await page.pilot.press("f8")
            await until(page.pilot, lambda: page.result)
            found = re.match(
                r"test-model answered “ready \[/x\]” in (\S+) s, first word after (\S+) s", page.result
            )
            assert found
            assert 0 <= float(found[2]) <= float(found[1]) < PATIENCE
            assert "11 tokens in, 7 out." in page.result
            [call] = server.requests
            assert call.headers["authorization"] == f"Bearer {KEY}"
            assert call.body["model"] == "o4-mini"
            assert len(str(call.body["messages"])) < 100, "one tiny call"
            await page.pilot.click("#test")
            await until(page.pilot, lambda: page.result.startswith(ErrorCode.LLM_AUTH_ERROR.sentence))
            assert not settings.paths.config_file.exists(), "a test stores nothing"


async def test_a_test_says_what_the_service_does_not_take(tmp_path: Path) -> None:
    async with FaultServer() as server:
        server.refuse("temperature")
        character = AgentSettings(model="m", temperature=0.7)
        profiles = Profiles(
            local=ProfileSettings(provider="openai", base_url=server.base_url, character=character)
        )
        settings = Configuration(configuration(tmp_path).paths, Settings(_env_file=None, profiles=profiles))
        async with page_of(settings) as page:
            await page.pilot.press("f8")
            await until(page.pilot, lambda: page.result)
            assert "It does not take temperature; calls leave that out." in page.result
        assert [("temperature" in body) for body in server.bodies] == [True, False]


async def test_connecting_stores_settings_consent_and_key_each_where_it_belongs(
    tmp_path: Path, ring: Memory
) -> None:
    settings = configuration(tmp_path)
    async with page_of(settings) as page:
        page.screen.query_one("#provider", Select).value = "openai"
        await until(page.pilot, lambda: page.shows("address"))
        page.screen.query_one("#address", Input).value = REMOTE
        page.screen.query_one("#model-narrative", Input).value = "big"
        page.screen.query_one("#key", Input).focus()
        await page.pilot.press(*KEY)
        assert KEY not in page.app.export_screenshot()
        await page.pilot.press("f9")
        await until(page.pilot, lambda: isinstance(page.app.screen, ConsentModal))
        await page.pilot.press("tab", "enter")
        await until(page.pilot, lambda: page.app.results)
        [connected] = page.app.results
        assert connected is not None
        assert connection_of(connected) == Connection(
            provider="openai", base_url=REMOTE, models={AgentRole.NARRATIVE: "big"}
        )
    assert ring.get_password("storyengine", "production") == KEY
    assert settings.consent.granted() == {REMOTE}
    assert all(KEY not in file.read_text() for file in _files(tmp_path))
    assert load_settings(settings.paths.config_file).active().narrative.model == "big"
    async with page_of(connected) as page:
        assert page.said("consent").startswith("Text may go there")
        await until(page.pilot, lambda: page.said("key-source").startswith("Key: from the keyring"))


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


async def test_the_program_goes_on_with_the_model_at_once_in_the_same_chapter(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        assert app.session is not None
        session = app.session
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        app.screen.query_one("#provider", Select).value = "local"
        await pilot.pause()
        await pilot.press("f9")
        await until(pilot, lambda: app.screen is app.chapter and app.session not in (None, session))
        assert app.session is not None
        assert app.session.id == session.id
        assert app.configuration.settings.active().provider == "local"
        assert app.chapter.configuration is app.configuration
        assert desktop.windows == 2


async def test_a_character_is_asked_with_the_model_that_the_screen_gave_it(desktop: Desktop) -> None:
    await desktop.prepare(make_active)
    async with FaultServer() as server:
        desktop.settings = Settings(provider="openai", base_url=server.base_url, _env_file=None)
        app = StoryEngineApp(engine_of(desktop), Configuration(desktop.paths, desktop.settings))
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            session = app.session
            await pilot.press("f6")
            await until(pilot, lambda: isinstance(app.screen, ModelScreen))
            assert "2 Jonas" in screen_text(app)
            app.screen.query_one("#model-slot-2", Input).focus()
            await pilot.press(*"big", "f9")
            await until(pilot, lambda: app.screen is app.chapter and app.session not in (None, session))
            assert app.session is not None
            for slot in (Slot.RED, Slot.ORANGE):
                await app.session.wait(await app.session.submit_prompt(slot, "Who are you?"))
            await app.close_everything()
        # The server says the same to everyone, so the second character is asked once more.
        assert [call.body["model"] for call in server.requests] == ["o4-mini", "big", "big"]


# Pictures


def picture(pictures_match: PicturesMatch, configuration: Configuration, act: Any) -> bool:
    return pictures_match(ModelApp(configuration), run_before=act)


def test_picture_of_a_service(pictures_match: PicturesMatch, tmp_path: Path) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: str(pilot.app.screen.query_one("#key-source", Static).content))
        pilot.app.screen.query_one("#key", Input).value = KEY

    settings = configuration(tmp_path, provider="openai", base_url=REMOTE, model="[/x] model")
    assert picture(pictures_match, settings, act)


def test_picture_of_models_of_their_own(pictures_match: PicturesMatch, tmp_path: Path) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: str(pilot.app.screen.query_one("#key-source", Static).content))
        pilot.app.screen.query_one("#model-slot-3", Input).focus()
        await pilot.press(*"odd [/x]")

    own = {2: AgentSettings(model="a-model-of-its-own")}
    profiles = Profiles(local=ProfileSettings(provider="openai", base_url=REMOTE, characters=own))
    app = ModelApp(
        configuration(tmp_path, profiles=profiles),
        {Slot.RED: "Mira", Slot.GREEN: "Somebody with a long name", Slot.VIOLET: "[/x]"},
    )
    assert pictures_match(app, run_before=act)


def test_picture_of_the_local_model(pictures_match: PicturesMatch, tmp_path: Path) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await pilot.pause()

    assert picture(pictures_match, configuration(tmp_path), act)


def test_picture_of_a_test_that_runs(
    pictures_match: PicturesMatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("storyengine_tui.screens.models.model_screen.run_test_call", never)
    monkeypatch.setattr("storyengine_tui.widgets.busy_line.elapsed_text", lambda _: "0:03")

    async def act(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: str(pilot.app.screen.query_one("#key-source", Static).content))
        await pilot.press("f8")
        await until(pilot, lambda: pilot.app.screen.query_one("#trying", BusyLine).is_busy)

    settings = configuration(tmp_path, provider="openai", base_url="http://localhost:11434/v1")
    assert picture(pictures_match, settings, act)


def test_picture_of_a_test_that_failed(pictures_match: PicturesMatch, tmp_path: Path) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        async with FaultServer() as server:
            server.script(error_reply(401))
            # The address shows, and its port is another one each time.
            pilot.app.screen.query_one("#address", Input).value = server.base_url
            await pilot.press("f8")
            banner = pilot.app.screen.query_one("#result", Banner)
            await until(pilot, lambda: banner.is_shown)
            pilot.app.screen.query_one("#address", Input).value = "http://localhost:11434/v1"
            await pilot.pause()

    settings = configuration(tmp_path, provider="openai", base_url="http://localhost:11434/v1")
    assert picture(pictures_match, settings, act)


def _is_in_sight(screen: Screen[Any], widget: Widget) -> bool:
    """Whether a page that scrolls with the next frame shows a widget as a whole."""
    return screen.region.contains_region(widget.region)


async def test_what_was_connected_holds_also_where_the_note_about_it_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYENGINE_PROVIDER", "scripted")
    settings = configuration(tmp_path)
    settings.consent.grant(REMOTE)
    async with page_of(settings) as page:
        page.screen.query_one("#provider", Select).value = "openai"
        await until(page.pilot, lambda: page.shows("address"))
        page.screen.query_one("#address", Input).value = REMOTE
        await page.pilot.press("f9")
        await until(page.pilot, lambda: "overrides config.toml" in page.result)
        await page.pilot.press("escape")
        await until(page.pilot, lambda: page.app.results)
        [connected] = page.app.results
    assert connected is not None
    assert connection_of(connected).base_url == REMOTE
