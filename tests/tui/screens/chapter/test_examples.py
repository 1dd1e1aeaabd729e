"""An example is opened with everything that can be set up before it is played."""

import pytest

from core.domain.audience import Audience
from core.domain.slot import Slot
from storyengine_tui.screens.system.example_chapters import find_examples
from storyengine_tui.screens.system.welcome_modal import WelcomeModal
from tests.tui.engine_app import Desktop, make_active, until

pytestmark = pytest.mark.anyio


async def test_an_example_with_secrets_is_opened_with_them(desktop: Desktop) -> None:
    [mystery] = [example for example in find_examples() if example.script.secrets]
    async with desktop.window() as (_, app):
        await app.workspace.open_example(mystery)
        assert app.session is not None
        secrets = app.session.snapshot.secrets
        assert secrets == mystery.script.secrets
        assert secrets[0].known_by == Audience.of([Slot.YELLOW, Slot.GREEN])
        assert mystery.cast == "7 characters"


async def test_escape_closes_the_list_of_examples_and_leaves_the_open_chapter_open(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        assert app.session is not None
        before = app.session.id
        app.action_welcome()
        await until(pilot, lambda: isinstance(app.screen, WelcomeModal) and app.screen.focused is not None)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await until(pilot, lambda: all(one.is_finished for one in app.workers if one.group == "workspace"))
        assert app.session.id == before
