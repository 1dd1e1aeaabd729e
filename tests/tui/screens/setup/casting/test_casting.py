"""Characters of the library on tab 1: taken into a slot, kept from one, compared."""

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import DataTable, Input, Static

from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.library.cards.card_file import CardFormat
from core.library.cards.png import plain_picture
from core.library.characters.character import LibraryCharacter
from storyengine_tui.screens.setup.cast_panels import CharacterPanel
from storyengine_tui.screens.setup.casting.casting import PickScreen
from storyengine_tui.screens.setup.casting.compare_screen import CompareScreen, ShortenModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.theme import colour_of
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, opened, screen_text, until

LAMP = "{{char}} keeps the lamp, and tells nobody why. [/x]"
OLDER = "Joss owes money, and has left the island."


async def make_cast(engine: Engine) -> None:
    """Store two characters in the library, and a chapter with one of them as it was before."""
    characters = engine.library.characters
    kara = await characters.create("Kara [/x]", LAMP)
    await characters.save(replace(kara, short_description="The keeper.", group="Lamp", aliases=("Kay",)))
    await characters.create("Joss", "A sailor who owes money.\n\nHe has a boat.")
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(
        Tab1Edit(world="A cold sea.", names={Slot.ORANGE: "joss"}, identities={Slot.ORANGE: OLDER})
    )
    await session.aclose()


async def panel_of(pilot: Pilot[Any], app: StoryEngineApp, slot: Slot) -> CharacterPanel:
    """Show the panel of a slot."""
    for _ in range(slot.value - 1):
        await pilot.press("ctrl+n")
    await until(pilot, lambda: (panel := app.shown_character) is not None and panel.slot is slot)
    panel = app.shown_character
    assert panel is not None
    return panel


async def shown(pilot: Pilot[Any], app: StoryEngineApp, kind: type[Screen[Any]]) -> Any:
    await until(pilot, lambda: isinstance(app.screen, kind))
    if isinstance(app.screen, PickScreen | CompareScreen):
        await until(pilot, lambda: app.screen.query_one(DataTable).row_count > 0)
    return app.screen


async def taken(pilot: Pilot[Any], app: StoryEngineApp, *keys: str) -> CompareScreen:
    """Choose a character of the list by these keys, for a slot that it is compared with."""
    app.action_take_character()
    await shown(pilot, app, PickScreen)
    await pilot.press(*keys)
    screen = await shown(pilot, app, CompareScreen)
    assert isinstance(screen, CompareScreen)
    return screen


async def take_shortened(pilot: Pilot[Any], modal: ShortenModal) -> None:
    """Take what is left of a text once it fits."""
    await until(pilot, lambda: not modal.query_one("#add").disabled)
    modal.query_one("#add").focus()
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, CompareScreen))


async def kept(app: StoryEngineApp) -> dict[str, LibraryCharacter]:
    assert app.engine is not None
    return {one.name: one for one in await app.engine.library.characters.listed()}


def cells(screen: Any) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(row)] for row in range(table.row_count)]


def told_of(panel: CharacterPanel) -> str:
    """Return what the panel says of a character of the library."""
    line = panel.query_one(".profile", Static)
    return str(line.content) if line.display else ""


def titles(app: StoryEngineApp) -> set[str]:
    return {command.title for command in app.get_system_commands(app.screen)}


@pytest.mark.anyio
async def test_a_character_is_taken_into_an_empty_slot_as_a_copy_that_can_be_undone(desktop: Desktop) -> None:
    async with desktop.window(make_cast) as (pilot, app):
        panel = await panel_of(pilot, app, Slot.RED)
        before = await kept(app)
        app.action_take_character()
        screen = await shown(pilot, app, PickScreen)
        assert [row[0] for row in cells(screen)] == ["Joss", "Kara [/x]"]
        await pilot.press(*"keeper")
        await until(pilot, lambda: [row[0] for row in cells(screen)] == ["Kara [/x]"])
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter)
        told = "Kara [/x] keeps the lamp, and tells nobody why. [/x]"
        assert (panel.character_name, panel.identity) == ("Kara [/x]", told)
        assert app.session is not None
        session = app.session
        await until(pilot, lambda: session.snapshot.session.names.get(Slot.RED) == "Kara [/x]")
        assert session.snapshot.tab1.identities[Slot.RED] == told
        assert session.snapshot.tab1.profile_of(Slot.RED) == before["Kara [/x]"].profile
        assert told_of(panel) == "From the library · also Kay · The keeper. · group Lamp"
        assert await kept(app) == before
        panel.fields[1].focus()
        await pilot.press("ctrl+z")
        await until(pilot, lambda: panel.identity == "")
        panel.focus_name()
        await pilot.press("ctrl+z")
        await until(pilot, lambda: not session.snapshot.tab1.profiles)
        await pilot.press(*"Bo")
        await until(pilot, lambda: session.snapshot.session.names.get(Slot.RED) == "Bo")
        assert not session.snapshot.tab1.profiles
        assert told_of(panel) == ""


@pytest.mark.anyio
@pytest.mark.parametrize("beside", [False, True])
async def test_for_a_chapter_that_was_left_meanwhile_no_character_is_taken(
    desktop: Desktop, beside: bool
) -> None:
    async with desktop.window(make_cast) as (pilot, app):
        await panel_of(pilot, app, Slot.ORANGE if beside else Slot.RED)
        if beside:
            await taken(pilot, app, "enter")
        else:
            app.action_take_character()
            await shown(pilot, app, PickScreen)
        await app.workspace.open(await app.workspace.require_engine().create())
        await pilot.press("t" if beside else "enter", "escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.session is not None
        await app.chapter.flush()
        assert app.session.snapshot.tab1.is_blank
        assert not app.session.snapshot.session.names


@pytest.mark.anyio
async def test_each_field_is_taken_over_alone_and_either_way(desktop: Desktop) -> None:
    async with desktop.window(make_cast) as (pilot, app):
        panel = await panel_of(pilot, app, Slot.ORANGE)
        app.action_keep_character()
        screen = await shown(pilot, app, CompareScreen)
        assert [row[3] for row in cells(screen)] == ["", ""]
        await pilot.press("t")
        await until(pilot, lambda: cells(screen)[0][3] == "the same")
        assert (panel.character_name, panel.identity) == ("Joss", OLDER)
        assert str(screen.query_one("#heading", Static).content).startswith("Joss in this chapter")
        await pilot.press("t")  # The same: there is nothing to take.
        await pilot.press("down", "p")
        question = await shown(pilot, app, ConfirmModal)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert (await kept(app))["Joss"].identity.startswith("A sailor")
        assert app.engine is not None
        await app.engine.library.characters.pause((await kept(app))["Joss"])
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal) and app.screen is not question)
        await pilot.press("right", "enter")
        await until(pilot, lambda: [row[3] for row in cells(screen)] == ["the same", "the same"])
        joss = (await kept(app))["Joss"]
        # What was changed of it elsewhere while both sides were shown stays.
        assert (joss.identity, joss.is_paused) == (OLDER, True)
        assert panel.identity == OLDER
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)


@pytest.mark.anyio
async def test_beside_another_character_nothing_is_taken_unasked_and_each_field_goes_either_way(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_cast) as (pilot, app):
        panel = await panel_of(pilot, app, Slot.ORANGE)
        screen = await taken(pilot, app, "down", "enter")
        assert (panel.character_name, panel.identity) == ("joss", OLDER)
        await pilot.press("down", "t")
        await until(pilot, lambda: panel.identity.startswith("joss keeps the lamp"))
        assert panel.character_name == "joss"
        assert cells(screen)[1][3] == "the same"
        # So does what the library says besides.
        assert [row[0] for row in cells(screen)] == [
            "Name",
            "Identity",
            "Short description",
            "Other names",
            "Group",
        ]
        assert [row[2] for row in cells(screen)][2:] == ["The keeper.", "Kay", "Lamp"]
        await pilot.press("down", "down", "down", "t")
        await until(pilot, lambda: cells(screen)[4][3] == "the same")
        kara = (await kept(app))["Kara [/x]"]
        assert panel.profile == Profile(character_id=kara.id, group="Lamp")
        assert app.session is not None
        session = app.session
        await until(pilot, lambda: session.snapshot.tab1.profile_of(Slot.ORANGE) == panel.profile)
        await pilot.press("up", "p")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: "Other names" not in [row[0] for row in cells(screen)])
        assert (await kept(app))["Kara [/x]"].aliases == ()


@pytest.mark.anyio
async def test_a_character_of_a_slot_is_kept_once_and_the_model_of_one_that_is_taken_is_said(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_cast) as (pilot, app):
        panel = await panel_of(pilot, app, Slot.YELLOW)
        panel.focus_name()
        await pilot.press(*"Pell", "tab", *"Afraid.")
        app.action_keep_character()
        found: dict[str, LibraryCharacter] = {}
        while "Pell" not in found:
            await pilot.pause()
            found = await kept(app)
        assert found["Pell"].identity == "Afraid."
        assert panel.profile == found["Pell"].profile
        assert app.engine is not None
        card = await app.engine.library.characters.export(found["Pell"], CardFormat.PNG)
        assert card.content.startswith(plain_picture(colour_of(Slot.YELLOW))[:-12])
        panel.focus_name()
        await pilot.press("end", "s")  # It is known by where it was kept, also under another name.
        app.action_keep_character()
        screen = await shown(pilot, app, CompareScreen)
        assert [row[3] for row in cells(screen)] == ["", "the same"]
        assert len(await kept(app)) == 3
        # The model that a character is meant for is said when it is taken.
        await app.engine.library.characters.save(replace((await kept(app))["Joss"], model="far:dear [/x]"))
        await pilot.press("escape", "ctrl+n")
        await until(pilot, lambda: (at := app.shown_character) is not None and at.slot is Slot.RED)
        app.action_take_character()
        await shown(pilot, app, PickScreen)
        await pilot.press("enter")
        await until(
            pilot, lambda: any("the model far:dear [/x]:" in one.message for one in app._notifications)
        )


@pytest.mark.anyio
async def test_of_an_identity_or_a_name_that_is_too_long_the_gm_chooses_what_goes(desktop: Desktop) -> None:
    name = "Seraphina, the Guardian of the Glade in the Great Forest"

    async def make(engine: Engine) -> None:
        await engine.library.characters.create("Kara", "x" * 6_000)
        await engine.library.characters.create(name, "You guard the glade.")
        await engine.create()

    async with desktop.window(make) as (pilot, app):
        panel = await panel_of(pilot, app, Slot.RED)
        await taken(pilot, app, "enter")
        await pilot.press("down", "t")
        modal = await shown(pilot, app, ShortenModal)
        area = modal.query_one(CappedTextArea)
        assert area.length == 6_000
        area.replace("", (0, 5_000), area.document.end)
        await take_shortened(pilot, modal)
        assert panel.identity == "x" * 5_000
        assert (await kept(app))["Kara"].identity == "x" * 6_000
        await pilot.press("escape", "ctrl+n")
        await until(pilot, lambda: (at := app.shown_character) is not None and at.slot is Slot.ORANGE)
        await taken(pilot, app, "down", "enter")
        assert "…" in screen_text(app).splitlines()[0], "the heading is one line"
        await pilot.press("t")
        modal = await shown(pilot, app, ShortenModal)
        area = modal.query_one(CappedTextArea)
        area.replace("\n", (0, 9), area.document.end)
        await take_shortened(pilot, modal)
        assert app.shown_character is not None
        assert app.shown_character.character_name == "Seraphina"
        assert set(await kept(app)) == {"Kara", name}


@pytest.mark.anyio
async def test_a_shortened_text_is_as_it_was_before_the_program_was_killed(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await engine.library.characters.create("Kara", "x" * 6_000)
        await engine.create()

    async def shortens(pilot: Pilot[Any], app: StoryEngineApp) -> ShortenModal:
        await panel_of(pilot, app, Slot.RED)
        await taken(pilot, app, "enter")
        await pilot.press("down", "t")
        modal = await shown(pilot, app, ShortenModal)
        assert isinstance(modal, ShortenModal)
        return modal

    async with desktop.window(make) as (pilot, app):
        area = (await shortens(pilot, app)).query_one(CappedTextArea)
        area.replace("", (0, 4_000), area.document.end)
        await until(pilot, lambda: any(desktop.paths.data.glob("shorten.identity.*")))
    async with desktop.window() as (pilot, app):
        modal = await shortens(pilot, app)
        assert modal.query_one(CappedTextArea).text == "x" * 4_000
        assert not modal.unsaved
        await take_shortened(pilot, modal)
        panel = await panel_of(pilot, app, Slot.RED)
        assert panel.identity == "x" * 4_000
        assert not any(desktop.paths.data.glob("shorten.identity.*"))


@pytest.mark.anyio
async def test_once_the_cast_is_locked_nothing_is_taken_into_it(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await make_cast(engine)
        session = await engine.open((await engine.sessions())[0].id)
        await session.wait(await session.lock())
        await session.aclose()

    async with desktop.window(make) as (pilot, app):
        assert not {"Take a character from the library", "Keep this character in the library"} & titles(app)
        await pilot.press("f2")
        panel = await panel_of(pilot, app, Slot.ORANGE)
        assert "Take a character from the library" not in titles(app)
        assert "Keep this character in the library" in titles(app)
        app.action_keep_character()
        await shown(pilot, app, CompareScreen)
        await pilot.press("t", "down", "t")
        assert (panel.character_name, panel.identity) == ("joss", OLDER)


@pytest.mark.anyio
async def test_without_a_character_in_the_library_it_says_how_one_gets_there(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await engine.create()

    async with desktop.window(make) as (pilot, app):
        await panel_of(pilot, app, Slot.RED)
        app.action_take_character()
        await until(pilot, lambda: any("no character yet" in one.message for one in app._notifications))
        assert app.screen is app.chapter


def test_pictures_of_taking_and_comparing_characters(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_cast)

    async def can_be_taken(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        await panel_of(pilot, app, Slot.RED)
        app.action_take_character()
        screen = await shown(pilot, app, PickScreen)
        screen.query_one(Input).cursor_blink = False

    async def beside_the_library(pilot: Pilot[Any]) -> None:
        await pilot.press("escape")
        app = await opened(pilot)
        await panel_of(pilot, app, Slot.ORANGE)
        app.action_keep_character()
        screen = await shown(pilot, app, CompareScreen)
        await pilot.press("down")
        title = screen.query_one("#library-title", Static)
        await until(pilot, lambda: str(title.content).endswith("/5,000"))

    async def beside_another(pilot: Pilot[Any]) -> None:
        await pilot.press("escape")
        app = await opened(pilot)
        screen = await taken(pilot, app, "down", "enter")
        await pilot.press("down", "down", "down")
        title = screen.query_one("#library-title", Static)
        await until(pilot, lambda: str(title.content).endswith("/2,000"))

    acts = (can_be_taken, beside_the_library, beside_another)
    assert pictures_match(desktop.app(), {act.__name__: act for act in acts})


def test_what_the_library_says_of_a_character_on_tab_1(
    desktop: Desktop, pictures_match: PicturesMatch
) -> None:
    desktop.prepare_now(make_cast)

    async def run_before(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        panel = await panel_of(pilot, app, Slot.RED)
        app.action_take_character()
        await shown(pilot, app, PickScreen)
        await pilot.press(*"keeper", "enter")
        await until(pilot, lambda: app.screen is app.chapter and told_of(panel))
        assert app.session is not None
        session = app.session
        await until(pilot, lambda: session.snapshot.tab1.profiles)
        app.screen.query_one("#page").scroll_end(animate=False)

    assert pictures_match(desktop.app(), run_before)
