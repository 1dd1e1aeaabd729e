"""Traits and topics of a character of the library, on the list of the cast."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Static

from core.domain.ids import CharacterId
from core.engine.engine import Engine
from core.library.characters.character import Topic, Trait
from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.cast.nature_screen import NatureModal, NatureScreen
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.one_line import LineField
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, in_front, opened, until
from tests.tui.screens.library.cast.test_details import joss
from tests.tui.screens.library.shelf.test_shelves import cells, make_library, shelf

pytestmark = pytest.mark.anyio
PROUD = Trait(name="Proud [/x]", description="Of his boat.\nAnd of her.", strength=0.75)
SEA = Topic(name="The sea", perspective="It owes him.", sentiment=-0.5)


async def with_nature(engine: Engine) -> None:
    await make_library(engine)
    one = (await engine.library.characters.listed())[0]
    await engine.library.characters.save(replace(one, traits=(PROUD,), topics=(SEA,)))


async def nature(pilot: Pilot[Any]) -> NatureScreen:
    await shelf(pilot, "3", CastScreen)
    await pilot.press("e")
    await until(pilot, lambda: isinstance(pilot.app.screen, NatureScreen) and pilot.app.screen.is_active)
    screen = pilot.app.screen
    assert isinstance(screen, NatureScreen)
    await until(pilot, lambda: bool(cells(screen)) or screen.query_one("#empty").display)
    return screen


async def form(pilot: Pilot[Any], key: str) -> NatureModal:
    await pilot.press(key)
    return await in_front(pilot, NatureModal, LineField)


async def test_a_trait_and_a_topic_are_written_with_all_of_their_fields(desktop: Desktop) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await nature(pilot)
        await form(pilot, "n")
        await pilot.press(*"Proud", "tab", *"Of it", "ctrl+s")
        await until(pilot, lambda: app.screen is screen and len(cells(screen)) == 1)
        topic = await form(pilot, "t")
        for field, text in (
            ("name", "The sea"),
            ("perspective", "A thief"),
            ("approach", "Rows"),
            ("personal_stake", "His brother"),
            ("sentiment", "-0,5"),
            ("exposure_now", "0.25"),
            ("exposure_desired", "1"),
        ):
            topic.query_one(f"#{field}", LineField).load_text(text)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is screen and len(cells(screen)) == 2)
        kept = await joss(app)
        assert kept.traits == (Trait(name="Proud", description="Of it"),)
        assert kept.topics == (
            Topic(
                name="The sea",
                perspective="A thief",
                approach="Rows",
                personal_stake="His brother",
                sentiment=-0.5,
                exposure_now=0.25,
                exposure_desired=1,
            ),
        )


async def test_what_else_changed_meanwhile_stays_and_the_same_trait_is_not_written_over(
    desktop: Desktop,
) -> None:
    async with desktop.window(with_nature) as (pilot, app):
        assert app.engine is not None
        screen, characters = await nature(pilot), app.engine.library.characters
        edited = await form(pilot, "enter")
        await characters.save(replace(await joss(app), short_description="A sailor."))
        edited.query_one("#strength", LineField).load_text("0.5")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is screen and "str 0.5" in cells(screen)[0][2])
        assert (await joss(app)).short_description == "A sailor."
        edited = await form(pilot, "enter")
        await characters.save(replace(await joss(app), traits=()))
        edited.query_one("#strength", LineField).load_text("1")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: edited.query_one("#refused").display)
        assert (await joss(app)).traits == ()
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))


def test_traits_and_topics_of_a_character_and_a_topic_as_fields(
    desktop: Desktop, pictures_match: PicturesMatch
) -> None:
    desktop.prepare_now(with_nature)

    async def listed(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await nature(pilot)

    async def fields(pilot: Pilot[Any]) -> None:
        await pilot.press("down")
        await form(pilot, "enter")

    assert pictures_match(desktop.app(), {"listed": listed, "fields": fields})


async def test_a_trait_is_stored_once_for_ctrl_s_that_comes_twice(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        assert app.engine is not None
        characters, may_store, told = app.engine.library.characters, asyncio.Event(), list[object]()
        change = characters.change

        async def slowly(character_id: CharacterId, how: Any) -> Any:
            told.append(how)
            await may_store.wait()
            return await change(character_id, how)

        monkeypatch.setattr(characters, "change", slowly)
        screen = await nature(pilot)
        await form(pilot, "n")
        await pilot.press(*"Proud", "ctrl+s", "ctrl+s")
        await until(pilot, lambda: bool(told))
        may_store.set()
        await until(pilot, lambda: app.screen is screen and len(cells(screen)) == 1)
        assert len(told) == 1


async def test_one_form_opens_for_enter_that_comes_twice_and_a_trait_is_edited_within_bounds_and_deleted(
    desktop: Desktop,
) -> None:
    async with desktop.window(with_nature) as (pilot, app):
        # One form opens for Enter that comes twice.
        screen = await nature(pilot)
        for _ in range(2):
            app.post_message(Key("enter", "\r"))
        await until(pilot, lambda: isinstance(app.screen, NatureModal))
        await pilot.pause()
        assert sum(isinstance(one, NatureModal) for one in app.screen_stack) == 1
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        # A number outside of its bounds is refused and what was typed stays.
        edited = await form(pilot, "enter")
        edited.query_one("#strength", LineField).load_text("2")
        await pilot.press("ctrl+s")
        refused = edited.query_one("#refused", Static)
        await until(pilot, lambda: refused.display)
        assert "A trait has a strength from 0 to 1" in str(refused.content)
        edited.query_one("#strength", LineField).load_text("0.5")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is screen and "str 0.5" in cells(screen)[0][2])
        # Its description of two lines was shown on one, and not edited.
        assert (await joss(app)).traits == (replace(PROUD, strength=0.5),)
        # One is deleted after a question.
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert len(cells(screen)) == 2
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is screen and len(cells(screen)) == 1)
        kept = await joss(app)
        assert (kept.traits, kept.topics) == ((), (SEA,))
