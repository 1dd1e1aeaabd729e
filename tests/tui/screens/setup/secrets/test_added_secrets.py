"""A secret that is added to a chapter that is played: the GM is told, and it is in view."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.widgets import OptionList

from core.domain.audience import EVERYONE
from core.domain.story.secret import Secret
from core.engine.engine import Engine
from tests.tui.engine_app import Desktop, make_active, make_draft, screen_text, until
from tests.tui.screens.setup.secrets.test_secrets import cell_of, make_played, rows, secret_begun

pytestmark = pytest.mark.anyio


async def make_full(engine: Engine) -> None:
    """Store a draft with as many secrets as the list has rows: with one more it stays as high."""
    secrets = tuple(
        Secret(number=number, text=f"Secret number {number}", known_by=EVERYONE) for number in range(1, 7)
    )
    session = await engine.open(await make_draft(engine))
    await session.scene.edit_secrets(secrets)
    await session.wait(await session.lock())
    await session.aclose()


@pytest.mark.parametrize(("made", "number"), [(make_active, 1), (make_played, 3), (make_full, 7)])
async def test_an_added_secret_is_told_and_shown_in_a_small_terminal(
    desktop: Desktop, made: Callable[[Engine], Any], number: int
) -> None:
    async with desktop.window(made) as (pilot, app):
        await pilot.press("f2")
        page = app.chapter.query_one("#page")
        await secret_begun(pilot, app)
        await pilot.press(*"It burns")
        await pilot.click("#add")
        await until(pilot, lambda: app.screen is app.chapter and len(rows(app)) == number)
        assert cell_of(app).query_one(OptionList).highlighted == number - 1
        told = [one.message for one in app._notifications]
        assert told == [f"Secret {number} is added: “It burns”."]
        await until(pilot, lambda: page.region.contains_region(cell_of(app).region))
        await until(pilot, lambda: "It burns" in screen_text(app))
