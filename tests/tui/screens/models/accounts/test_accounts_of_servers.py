"""A server that was found on this machine is an account once one of its models was taken."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from core.config.sections import AccountSettings
from core.config.settings import load_settings
from storyengine_tui.screens.models.accounts.typed_account import account_of_server
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.screens.models.models_here_screen import ModelsHereScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from tests.tui.engine_app import Desktop, until
from tests.tui.screens.models.test_connection import configuration
from tests.tui.screens.models.test_models_here_screen import OLLAMA, Machine, listed, on_the_screen
from tests.tui.screens.models.test_models_here_screen import machine as machine

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def model_taken(desktop: Desktop, machine: Machine) -> AsyncIterator[tuple[Pilot[Any], StoryEngineApp]]:
    """Take the model of a server that runs here."""
    machine.servers = [OLLAMA]
    async with on_the_screen(desktop) as (pilot, app):
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        yield pilot, app


async def test_a_server_whose_model_is_taken_becomes_an_account_that_a_character_can_use(
    desktop: Desktop, machine: Machine
) -> None:
    async with model_taken(desktop, machine) as (pilot, app):
        said = app.screen.query_one("#result", Banner)
        await until(pilot, lambda: "ollama is an account now" in str(said.content))
        await pilot.press("escape")
        await until(pilot, lambda: "ollama" in app.configuration.settings.accounts)
        # Nothing was connected: the local model answers, and a character can have one of the server's.
        assert app.configuration.settings.active().provider == "local"
        account, model = app.configuration.accounts.split("ollama:llama3.2:3b")
        assert (account.base_url, account.address, model) == (OLLAMA.address, None, "llama3.2:3b")
        await until(pilot, lambda: app.screen is app.chapter and app.session is not None)
    assert load_settings(desktop.paths.config_file).accounts["ollama"].model == OLLAMA.models[0]


async def test_what_is_connected_at_once_keeps_the_account_and_a_second_take_adds_none(
    desktop: Desktop, machine: Machine
) -> None:
    async with model_taken(desktop, machine) as (pilot, app):
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, ModelsHereScreen) and listed(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await pilot.press("f9")
        await until(pilot, lambda: app.configuration.settings.active().provider == "openai")
        await until(pilot, lambda: app.screen is app.chapter and app.session is not None)
    stored = load_settings(desktop.paths.config_file)
    assert set(stored.accounts) == {"ollama"} == set(app.configuration.settings.accounts)
    assert stored.active().base_url == OLLAMA.address


@pytest.mark.parametrize(
    ("kind", "existing", "name"),
    [
        ("Ollama", {}, "ollama"),
        ("LM Studio", {}, "lm_studio"),
        ("llama.cpp", {"llama_cpp": "http://127.0.0.1:1/v1"}, "llama_cpp_2"),
        (
            "a server",
            {"a_server": "http://127.0.0.1:1/v1", "a_server_2": "http://127.0.0.1:2/v1"},
            "a_server_3",
        ),
        ("7 of 9", {}, "server"),
        ("local", {}, "server"),
        ("Ollama", {"mine": OLLAMA.address + "/"}, None),
    ],
)
def test_a_found_server_is_named_after_its_kind_and_never_replaces_an_account(
    tmp_path: Path, kind: str, existing: dict[str, str], name: str | None
) -> None:
    accounts = {known: AccountSettings(base_url=address) for known, address in existing.items()}
    typed = account_of_server(kind, OLLAMA.address, "m", configuration(tmp_path, accounts=accounts))
    assert (typed and typed.name) == name
