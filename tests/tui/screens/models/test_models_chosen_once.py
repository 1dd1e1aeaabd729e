"""Enter that comes twice in the lists of models opens one dialog."""

import pytest
from textual.events import Key

from storyengine_tui.screens.models.models_here_screen import ModelsHereScreen
from storyengine_tui.screens.models.permission.fetch_modal import FetchModal
from tests.tui.engine_app import Desktop, until
from tests.tui.screens.models.test_models_here_screen import (
    OLLAMA,
    QWEN,
    Machine,
    highlight,
    offered,
    on_the_screen,
    welcomed,
)
from tests.tui.screens.models.test_models_here_screen import machine as machine

pytestmark = pytest.mark.anyio


async def test_one_question_comes_before_a_model_is_fetched(desktop: Desktop, machine: Machine) -> None:
    async with on_the_screen(desktop) as (pilot, app):
        await highlight(pilot, app, QWEN)
        for _ in range(2):
            app.post_message(Key("enter", "\r"))
        await until(pilot, lambda: isinstance(app.screen, FetchModal))
        await pilot.pause()
        assert sum(isinstance(one, FetchModal) for one in app.screen_stack) == 1


async def test_one_list_of_models_comes_over_the_welcome(desktop: Desktop, machine: Machine) -> None:
    machine.servers = [OLLAMA]
    async with desktop.app().run_test() as pilot:
        app = await welcomed(pilot, machine)
        await until(pilot, lambda: "Ollama" in offered(app))
        await pilot.press("end")
        for _ in range(2):
            app.post_message(Key("enter", "\r"))
        await until(pilot, lambda: isinstance(app.screen, ModelsHereScreen))
        await pilot.pause()
        assert sum(isinstance(one, ModelsHereScreen) for one in app.screen_stack) == 1
        await app.close_everything()
