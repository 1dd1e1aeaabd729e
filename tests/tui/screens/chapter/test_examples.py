"""An example is opened with everything that can be set up before it is played."""

import pytest

from core.domain.audience import Audience
from core.domain.slot import Slot
from storyengine_tui.screens.system.example_chapters import find_examples
from tests.tui.engine_app import Desktop

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
