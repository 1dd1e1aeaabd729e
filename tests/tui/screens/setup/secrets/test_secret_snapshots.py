"""Pictures of secrets: the cell of tab 1, the screen of one, and the lock dialog."""

from typing import Any

from textual.pilot import Pilot
from textual.widgets import Button, OptionList, Static

from storyengine_tui.screens.setup.lock_modal import LockModal
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, opened, until
from tests.tui.screens.setup.secrets.test_secrets import (
    cell_of,
    make_played,
    make_secrets,
    part,
    secret_begun,
    secret_opened,
)


def test_secrets_below_the_cast_and_in_the_lock_dialog(
    desktop: Desktop, pictures_match: PicturesMatch
) -> None:
    desktop.prepare_now(make_secrets)

    async def lock_dialog(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(pilot.app.screen, LockModal))

    async def below_the_cast(pilot: Pilot[Any]) -> None:
        await pilot.press("escape")
        app = await opened(pilot)
        app.chapter.set_focus(cell_of(app).query_one(OptionList), scroll_visible=True)

    assert pictures_match(desktop.app(), {"lock_dialog": lock_dialog, "below_the_cast": below_the_cast})


def test_a_secret_while_it_is_edited(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_secrets)

    async def run_before(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        screen = await secret_opened(pilot, app, 2)
        part(screen, "reveal-to").focus()
        await pilot.press("2")
        await until(pilot, lambda: str(screen.query_one("#saved", Static).content) == "stored")

    assert pictures_match(desktop.app(), run_before)


def test_a_new_secret_of_a_played_chapter(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_played)

    async def run_before(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        screen = await secret_begun(pilot, app)
        await pilot.press(*"It burns")
        assert not screen.query_one("#add", Button).disabled

    assert pictures_match(desktop.app(), run_before)
