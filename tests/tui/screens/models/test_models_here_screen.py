"""The models of this machine: what runs is shown and connected, what fits is fetched and used."""

import html
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Select, Static

from core.config.files import machine_memory
from core.config.files.machine_memory import MachineMemory
from core.config.settings import Settings, load_settings
from core.providers import discovery
from core.providers.discovery import FoundServer
from core.providers.local import catalogue, fetch, weights
from core.providers.local.partial_file import PartialFile
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.screens.models.models_here_screen import ModelsHereScreen
from storyengine_tui.screens.models.permission.fetch_modal import FetchModal
from storyengine_tui.screens.system.welcome_modal import WelcomeModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from tests.bad_text import KINDS, acts
from tests.tui.conftest import PicturesMatch, settled
from tests.tui.engine_app import Desktop, make_draft, opened, screen_text, until

pytestmark = pytest.mark.anyio
OLLAMA = FoundServer(
    "Ollama", "http://127.0.0.1:11434/v1", ("llama3.2:3b", "hf.co/somebody/Mistral-7B:Q4_K_M")
)
JAN = FoundServer("Jan", "http://127.0.0.1:1337/v1", wants_key=True)
EMPTY = FoundServer("vLLM", "http://[::1]:8000/v1")
QWEN = "Qwen2.5 Coder 1.5B Instruct"


class Machine:
    """What this machine has, for the time of a test."""

    def __init__(self, desktop: Desktop) -> None:
        self.servers: list[FoundServer] = []
        self.memory = MachineMemory(16_000, 9_000)
        self.room = 10**12
        self.looks = 0
        self._folder = desktop.paths.models

    async def find_servers(self) -> list[FoundServer]:
        self.looks += 1
        return self.servers

    def put(self, entry: catalogue.CatalogueEntry) -> Path:
        """Store a file that looks like the model, with holes in place of its content."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._folder / entry.file_name
        with file.open("wb") as out:
            out.write(b"GGUF")
            out.truncate(entry.bytes)
        return file


@pytest.fixture
def machine(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(desktop)
    monkeypatch.setattr(discovery, "find_servers", made.find_servers)
    monkeypatch.setattr(machine_memory, "memory_of_machine", lambda: made.memory)
    monkeypatch.setattr(fetch, "free_disk", lambda _: made.room)
    bundled = catalogue.bundled().model_copy(update={"package": "no_such_package_of_weights"})
    shipped = (bundled, *catalogue.catalogue()[1:])
    monkeypatch.setattr(catalogue, "catalogue", lambda: shipped)
    for module in (catalogue, weights):
        monkeypatch.setattr(module, "bundled", lambda: bundled)
    made.put(bundled)
    desktop.settings = Settings(provider="local", _env_file=None)
    return made


@asynccontextmanager
async def on_the_screen(desktop: Desktop) -> AsyncIterator[tuple[Pilot[Any], StoryEngineApp]]:
    """Open the page through F6 and F4, and wait until it has looked."""
    async with desktop.window(make_draft) as (pilot, app):
        await models_here(pilot, app)
        yield pilot, app


async def models_here(pilot: Pilot[Any], app: StoryEngineApp) -> None:
    """Open the page through F6 and F4, and wait until it has looked."""
    await pilot.press("f6")
    await until(pilot, lambda: isinstance(app.screen, ModelScreen))
    await pilot.press("f4")
    await until(pilot, lambda: isinstance(app.screen, ModelsHereScreen))
    await until(pilot, lambda: listed(app))


def listed(app: StoryEngineApp) -> list[str]:
    """The lines of the list, without their blanks."""
    options = app.screen.query_one(OptionList).options
    return [" ".join(str(option.prompt).split()) for option in options]


async def highlight(pilot: Pilot[Any], app: StoryEngineApp, text: str) -> None:
    lines = listed(app)
    wanted = next(number for number, line in enumerate(lines) if text in line)
    app.screen.query_one(OptionList).highlighted = wanted
    await pilot.pause()


async def test_what_is_found_or_can_be_fetched_is_listed_fetched_after_a_question_and_filled_in(
    desktop: Desktop, machine: Machine
) -> None:
    async with on_the_screen(desktop) as (pilot, app):
        # Look again finds what was started meanwhile.
        assert "No server answers here" in listed(app)[1]
        machine.servers = [OLLAMA]
        await pilot.press("r")
        await until(pilot, lambda: "llama3.2:3b" in listed(app)[1])
        assert machine.looks == 2
        # What was found and what can be fetched is listed.
        machine.servers = [OLLAMA, JAN, EMPTY]
        await pilot.press("r")
        await until(pilot, lambda: any("wants a key" in line for line in listed(app)))
        assert listed(app) == [
            "Found on this machine",
            "llama3.2:3b Ollama http://127.0.0.1:11434/v1",
            "hf.co/somebody/Mistral-7B:Q4_… Ollama http://127.0.0.1:11434/v1",
            "wants a key Jan http://127.0.0.1:1337/v1",
            "no model is loaded vLLM http://[::1]:8000/v1",
            "",
            "Models to fetch, which then answer here without a server and without a key",
            "SmolLM2 135M Instruct 98 MB 700 MB memory Apache-2.0 in use",
            f"{QWEN} 1.1 GB 2.5 GB memory Apache-2.0 fits",
        ]
        # A model that is not here is fetched after a question.
        await highlight(pilot, app, QWEN)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FetchModal))
        said = str(app.screen.query_one("#text", Static).content)
        assert "1,117 MB come from the package registry that this Python is set up for" in said
        assert "2,500 MB of memory" in said
        assert "Apache-2.0" in said
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModelsHereScreen))
        assert not desktop.paths.config_file.exists()
        # The cursor stays on its model when others come before it.
        machine.servers = [OLLAMA]
        await pilot.press("r")
        await until(pilot, lambda: not any("wants a key" in line for line in listed(app)))
        for wanted, servers in ((OLLAMA.models[1], [JAN, EMPTY, OLLAMA]), (QWEN, [OLLAMA]), (QWEN, [])):
            await highlight(pilot, app, wanted[:20])
            machine.servers = servers
            before = machine.looks
            await pilot.press("r")
            await until(pilot, lambda: machine.looks > before)  # noqa: B023 - awaited here
            await settled(pilot)
            option = app.screen.query_one(OptionList).highlighted_option
            assert option is not None
            assert wanted[:20] in str(option.prompt)
        # Enter on a found model fills in the model page.
        machine.servers = [OLLAMA]
        await pilot.press("r")
        await until(pilot, lambda: "llama3.2:3b" in listed(app)[1])
        await highlight(pilot, app, "Mistral-7B")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        assert app.screen.query_one("#provider", Select).value == "openai"
        assert app.screen.query_one("#address", Input).value == OLLAMA.address
        for role in ("world_lock", "character", "context_summary", "narrative"):
            assert app.screen.query_one(f"#model-{role}", Input).value == OLLAMA.models[1]
        consent = app.screen.query_one("#consent", Static)
        await until(pilot, lambda: "no consent is needed" in str(consent.content))


async def test_a_model_that_is_here_is_under_the_cursor_and_used_and_the_bundled_one_ends_that(
    desktop: Desktop, machine: Machine
) -> None:
    file = machine.put(catalogue.find_entry("qwen"))
    async with on_the_screen(desktop) as (pilot, app):
        # The cursor begins at the first model that does not answer yet.
        highlighted = app.screen.query_one(OptionList).highlighted_option
        assert highlighted is not None
        assert QWEN in str(highlighted.prompt)
        # A model that is here is used, and the bundled one ends that.
        await pilot.press("enter")
        await until(pilot, lambda: app.configuration.settings.active().model_path == file)
        assert load_settings(desktop.paths.config_file).active().model_path == file
        await until(pilot, lambda: app.screen is app.chapter and app.session is not None)
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        answers = str(app.screen.query_one("#models", Static).content)
        assert answers.startswith("qwen2.5-coder-1.5b-instruct-q4_k_m plays every character")
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, ModelsHereScreen) and listed(app))
        assert listed(app)[-1].endswith("in use")
        await highlight(pilot, app, "SmolLM2")
        await pilot.press("enter")
        await until(pilot, lambda: app.configuration.settings.active().model_path is None)
        assert load_settings(desktop.paths.config_file).active().model_path is None
        await until(pilot, lambda: app.screen is app.chapter and app.session is not None)


async def test_after_the_fetch_the_model_answers(
    desktop: Desktop, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = catalogue.find_entry("qwen")

    async def fetched(wanted: object, *_: object) -> Path:
        assert wanted == entry
        return machine.put(entry)

    monkeypatch.setattr(fetch, "fetch", fetched)
    async with on_the_screen(desktop) as (pilot, app):
        await highlight(pilot, app, QWEN)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FetchModal) and app.focused is not None)
        await pilot.press("enter")
        await until(pilot, lambda: app.configuration.settings.active().model_path is not None)
        await until(pilot, lambda: app.screen is app.chapter and app.session is not None)


async def test_what_cannot_be_carried_is_refused_what_has_arrived_needs_no_room_and_names_are_text(
    desktop: Desktop, machine: Machine
) -> None:
    async def refuse(pilot: Pilot[Any], app: StoryEngineApp, words: str) -> None:
        await highlight(pilot, app, QWEN)
        await pilot.press("enter")
        banner = app.screen.query_one("#result", Banner)
        await until(pilot, lambda: words in str(banner.content))

    machine.memory, machine.room = MachineMemory(2_000, 2_000), 10**12
    async with on_the_screen(desktop) as (pilot, app):
        assert listed(app)[-1].endswith("too large")
        await refuse(pilot, app, "needs 2.5 GB of memory")
        machine.memory, machine.room = MachineMemory(16_000, 9_000), 10**9
        await pilot.press("r")
        await until(pilot, lambda: listed(app)[-1].endswith("disk full"))
        await refuse(pilot, app, "The disk has no room")
        entry = catalogue.catalogue()[1]
        PartialFile(desktop.paths.models, entry).append(b"GGUF")
        os.truncate(next(desktop.paths.models.glob(".*.part")), entry.bytes - 1_000)
        machine.room = 1_000 + max(part.bytes for part in entry.parts)
        await pilot.press("r")
        await until(pilot, lambda: listed(app)[-1].endswith("fits"))
        # Discovery lets no such names of servers and models through; the page does not depend on that.
        bad = tuple(kind.text for kind in KINDS if acts(kind.text) or "[" in kind.text)
        machine.servers = [FoundServer("[red]Ollama[/x]", "http://127.0.0.1:11434/v1", bad)]
        await pilot.press("r", "home")
        await until(pilot, lambda: "[red]Ollama[/x]" in screen_text(app))
        for _ in bad:
            await pilot.press("down")
            picture = app.export_screenshot()
            assert not acts(picture.replace("\r", ""))
            shown = html.unescape(" ".join(re.findall(r"<text [^>]*>(.*?)</text>", picture, re.S)))
            assert "Before" in shown


def offered(app: StoryEngineApp) -> str:
    return str(app.screen.query_one(OptionList).options[-1].prompt)


async def welcomed(pilot: Pilot[Any], machine: Machine) -> StoryEngineApp:
    app = await opened(pilot)
    await until(pilot, lambda: isinstance(app.screen, WelcomeModal) and machine.looks)
    await settled(pilot)
    return app


async def test_the_welcome_offers_a_better_model_and_welcomes_again_with_it(
    desktop: Desktop, machine: Machine
) -> None:
    file = machine.put(catalogue.find_entry("qwen"))
    async with desktop.app().run_test() as pilot:
        app = await welcomed(pilot, machine)
        await until(pilot, lambda: offered(app) == f"Use a better local model: {QWEN} (1.1 GB)")
        await pilot.press("end", "enter")
        await until(pilot, lambda: isinstance(app.screen, ModelsHereScreen) and listed(app))
        await highlight(pilot, app, QWEN)
        await pilot.press("enter")
        await until(pilot, lambda: app.configuration.settings.active().model_path == file)
        await until(pilot, lambda: isinstance(app.screen, WelcomeModal))
        assert "qwen2.5-coder-1.5b" in screen_text(app)
        await app.close_everything()


async def test_the_welcome_leads_a_found_model_to_the_model_page(desktop: Desktop, machine: Machine) -> None:
    machine.servers = [EMPTY, OLLAMA]
    async with desktop.app().run_test() as pilot:
        app = await welcomed(pilot, machine)
        await until(pilot, lambda: offered(app) == "Use a model of Ollama on this machine (2 found)")
        await pilot.press("end", "enter")
        await until(pilot, lambda: isinstance(app.screen, ModelsHereScreen) and listed(app))
        await highlight(pilot, app, "llama3.2:3b")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        assert app.screen.query_one("#model-character", Input).value == "llama3.2:3b"
        await app.close_everything()


async def test_the_welcome_is_as_ever_where_nothing_is_found_and_nothing_fits(
    desktop: Desktop, machine: Machine
) -> None:
    machine.servers, machine.memory = [EMPTY, JAN], MachineMemory(16_000, 2_000)
    async with desktop.app().run_test() as pilot:
        app = await welcomed(pilot, machine)
        assert offered(app) == "Connect a model", "too little memory now"
        for lacks, memory, room in (("memory", 2_000, 10**12), ("room", 16_000, 10**9)):
            machine.memory, machine.room = MachineMemory(memory, memory), room
            machine.looks = 0
            await app.push_screen(WelcomeModal(app.configuration))
            await welcomed(pilot, machine)
            assert offered(app) == "Connect a model", lacks
        await app.close_everything()


async def test_the_welcome_looks_for_nothing_where_a_service_answers(
    desktop: Desktop, machine: Machine
) -> None:
    desktop.settings = Settings(provider="scripted", _env_file=None)
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        await until(pilot, lambda: isinstance(app.screen, WelcomeModal))
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 6)
        await settled(pilot)
        assert machine.looks == 0
        await app.close_everything()


def test_pictures_of_models_here_and_of_the_question_before_one_is_fetched(
    desktop: Desktop, machine: Machine, pictures_match: PicturesMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = "/home/mira/.local/share/storyengine/models"
    monkeypatch.setattr(
        "storyengine_tui.screens.models.permission.fetch_modal.shown_folder", lambda _: models
    )
    desktop.prepare_now(make_draft)
    app = desktop.app()

    async def none(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await settled(pilot)
        await models_here(pilot, app)

    async def question(pilot: Pilot[Any]) -> None:
        await highlight(pilot, app, QWEN)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FetchModal) and app.focused is not None)

    async def some(pilot: Pilot[Any]) -> None:
        await pilot.press("escape", "escape", "escape")
        await until(pilot, lambda: app.screen is app.chapter)
        machine.servers = [OLLAMA, JAN]
        await models_here(pilot, app)

    assert pictures_match(app, {"none": none, "question": question, "some": some})


def test_picture_of_the_welcome(desktop: Desktop, machine: Machine, pictures_match: PicturesMatch) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        app = await welcomed(pilot, machine)
        await until(pilot, lambda: "better" in offered(app))

    assert pictures_match(desktop.app(), run_before=act)
