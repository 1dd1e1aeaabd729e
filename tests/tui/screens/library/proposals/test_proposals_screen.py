"""Proposals on screen: asked for from the list of the cast and on tab 3, read, taken, dropped, undone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from core.domain.proposal import Proposal
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.proposals.proposals_screen import ProposalsScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, make_active, screen_text, until
from tests.tui.rooms.one_page import Gate
from tests.tui.rooms.one_page import gate as gate
from tests.tui.shell.test_shell_snapshots import Shown
from tests.tui.shell.test_shell_snapshots import shown as shown

BAD = "\x1b[31mred\x1b]0;owned\x07 [/x] [bold]"
PLAIN = "red [/x] [bold]"
GAPS: dict[str, object] = {
    "short_description": f"The last one {BAD}",
    "traits": [{"name": f"Watchful {BAD}", "description": "She counts ships.", "strength": 0.75}],
}
CHANGES: dict[str, object] = {
    "changes": [
        {
            "prompt": 1,
            "quote": "took my brother",
            "about": "identity",
            "name": "",
            "text": f"She lost her brother to the sea. {BAD}",
            "value": 0,
            "why": "He is gone for good.",
        },
        {
            "prompt": 1,
            "quote": "the sea took my brother",
            "about": "topic",
            "name": "The sea",
            "text": "It is a thief, and it has never given anything back.",
            "value": -0.75,
            "why": "She blames it.",
        },
    ]
}
SCRIPT = Script(
    reply=(
        Entry(match=ScriptMatch(schema="gaps"), payload=GAPS),
        Entry(match=ScriptMatch(schema="changes"), payload=CHANGES),
        Entry(match=ScriptMatch(schema="text"), text="I fear it: the sea took my brother."),
    )
)


async def make_cast(engine: Engine) -> None:
    """Store two characters in the library, one of them of the cast, and a chapter that is being set up."""
    characters = engine.library.characters
    mira = await characters.create("Mira", "Mira keeps the lamp.")
    topics = Topic(name="The sea", exposure_now=0.5), Topic(name="Bread"), Topic(name="Oil")
    await characters.save(replace(mira, topics=topics, traits=(Trait(name="Patient"), Trait(name="Proud"))))
    await characters.create("Stattler", "Stattler sits.")
    await engine.create()


async def make_ended(engine: Engine) -> None:
    """Store that, with a chapter that has ended."""
    await make_cast(engine)
    session = await engine.open(await make_active(engine))
    await session.wait(await session.submit_prompt(Slot.RED, "What do you know of the sea?"))
    await session.end_chapter()
    await session.wait_idle()
    await session.aclose()


async def cast(pilot: Pilot[Any], app: StoryEngineApp) -> CastScreen:
    app.action_library("cast")
    await until(pilot, lambda: isinstance(app.screen, CastScreen))
    await until(pilot, lambda: app.screen.query_one(DataTable).row_count == 2)
    assert isinstance(app.screen, CastScreen)
    return app.screen


async def proposals(pilot: Pilot[Any], app: StoryEngineApp, count: int) -> ProposalsScreen:
    await until(pilot, lambda: isinstance(app.screen, ProposalsScreen))
    await until(pilot, lambda: app.screen.query_one(DataTable).row_count == count)
    assert isinstance(app.screen, ProposalsScreen)
    return app.screen


def cells(screen: Any) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(row)] for row in range(table.row_count)]


def sides(screen: ProposalsScreen) -> tuple[str, str]:
    there, proposed = (screen.query_one(f"#{name}", CappedTextArea).text for name in ("there", "proposed"))
    return there, proposed


def heading(screen: Any) -> str:
    return str(screen.query_one("#heading", Static).content)


async def mira(app: StoryEngineApp) -> LibraryCharacter:
    assert app.engine is not None
    return await app.engine.library.characters.find("Mira")


@pytest.mark.anyio
async def test_what_a_character_lacks_is_asked_from_the_cast_and_decided_one_by_one(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_cast) as (pilot, app):
        # A chapter that goes on offers nothing of what it changed.
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert not titles & {"Hold the ceremony", "What this chapter changed", "Proposals"}
        # What a character lacks is asked from the cast and decided one by one.
        listed = await cast(pilot, app)
        assert "proposed" not in screen_text(app)
        await pilot.press("g")
        screen = await proposals(pilot, app, 2)
        assert cells(screen) == [
            ["Short description", "to fill a gap", ""],
            [f"New trait “Watchful {PLAIN}”", "to fill a gap", ""],
        ]
        assert sides(screen) == ("—", f"The last one {PLAIN}")
        before = await mira(app)
        await pilot.press("t")
        await until(pilot, lambda: screen.query_one(DataTable).row_count == 1)
        assert heading(screen) == "Taken; u undoes it: Short description"
        assert (await mira(app)).short_description == f"The last one {PLAIN}"
        await pilot.press("u")
        await until(pilot, lambda: screen.query_one(DataTable).row_count == 2)
        assert replace(await mira(app), version=before.version, updated_at=before.updated_at) == before
        await pilot.press("d")
        await until(pilot, lambda: screen.query_one(DataTable).row_count == 1)
        assert (await mira(app)).short_description == ""
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is listed)
        await until(pilot, lambda: cells(listed)[0][2].startswith("1 proposed (c) · "))
        await pilot.press("c")
        await proposals(pilot, app, 1)


@pytest.mark.anyio
async def test_proposals_do_not_come_over_words_that_are_looked_for_in_the_cast(
    desktop: Desktop, gate: Gate
) -> None:
    asked = Entry(match=ScriptMatch(schema="gaps"), payload=GAPS, between_tokens=1)
    desktop.script = Script(reply=(asked,))
    async with desktop.window(make_cast) as (pilot, app):
        screen = await cast(pilot, app)
        await pilot.press("g")
        await until(pilot, lambda: app.session is not None and bool(app.session.snapshot.background))
        await pilot.press("slash", "m")
        gate.open()
        await until(pilot, lambda: heading(screen) == "2 proposed for “Mira”: c shows what is proposed")
        await pilot.press(*"tad")
        assert app.screen is screen
        assert app.engine is not None
        assert len(await app.engine.library.proposals.offered()) == 2


@pytest.mark.anyio
async def test_all_are_taken_after_a_question_and_what_no_longer_fits_stays(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_cast) as (pilot, app):
        await cast(pilot, app)
        await pilot.press("g")
        screen = await proposals(pilot, app, 2)
        assert app.engine is not None
        characters = app.engine.library.characters
        await characters.save(replace(await mira(app), short_description="My own words."))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("tab", "enter")
        await until(pilot, lambda: len(cells(screen)) == 1)
        assert cells(screen) == [["Short description", "to fill a gap", "outdated"]]
        assert heading(screen) == "Taken: 1; 1 outdated"
        assert "t Take" not in screen_text(app).splitlines()[-1].replace("a Take all", "")
        kept = await mira(app)
        assert (kept.short_description, kept.traits[-1].name) == ("My own words.", f"Watchful {PLAIN}")


@pytest.mark.anyio
async def test_a_proposal_that_another_window_decided_leaves_the_list_with_the_refusal(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_cast) as (pilot, app):
        await cast(pilot, app)
        await pilot.press("g")
        screen = await proposals(pilot, app, 2)
        assert app.engine is not None
        await app.engine.library.proposals.accept(screen.rows[0].proposal)
        await pilot.press("d")
        await until(pilot, lambda: len(cells(screen)) == 1)
        assert "decided elsewhere" in screen_text(app)
        assert (await mira(app)).short_description == f"The last one {PLAIN}"
        await pilot.press("t")
        await until(pilot, lambda: heading(screen).startswith("Taken"))
        assert not screen.query_one(Banner).is_shown


@pytest.mark.anyio
async def test_proposals_that_are_decided_faster_than_they_are_stored_are_each_decided_once(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_cast) as (pilot, app):
        await cast(pilot, app)
        await pilot.press("g")
        screen = await proposals(pilot, app, 2)
        assert app.engine is not None
        characters, is_open = app.engine.library.proposals._store.characters, asyncio.Event()

        async def slow(**more: Any) -> Sequence[LibraryCharacter]:
            found = await characters(**more)
            await is_open.wait()
            return found

        before = await mira(app)
        monkeypatch.setattr(app.engine.library.proposals._store, "characters", slow)
        await pilot.press("t", "t", "down", "t")
        is_open.set()
        await until(pilot, lambda: not cells(screen))
        assert not screen.query_one(Banner).is_shown
        assert len((await mira(app)).traits) == len(before.traits) + 1
        is_open.clear()
        await pilot.press("u", "u")
        is_open.set()
        await until(pilot, lambda: len(cells(screen)) == 2)
        assert not screen.query_one(Banner).is_shown
        assert replace(await mira(app), version=before.version, updated_at=before.updated_at) == before


@pytest.mark.anyio
async def test_undo_undoes_the_decision_before_it_also_where_that_is_not_stored_yet(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_cast) as (pilot, app):
        shelf = await cast(pilot, app)
        for keys in (("g",), ("down", "g")):
            await pilot.press(*keys)
            await proposals(pilot, app, 2)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is shelf)
        assert app.engine is not None
        library = app.engine.library.proposals
        app.push_screen(ProposalsScreen(library))
        screen = await proposals(pilot, app, 4)
        await pilot.press("t")
        await until(pilot, lambda: [row[0] for row in cells(screen)] == ["Mira", "Stattler", "Stattler"])
        accept, is_open = library.accept, asyncio.Event()

        async def slow(proposal: Proposal) -> LibraryCharacter:
            await is_open.wait()
            return await accept(proposal)

        monkeypatch.setattr(library, "accept", slow)
        await pilot.press("down", "t", "u")
        is_open.set()
        await until(pilot, lambda: heading(screen).startswith("Open again"))
        assert [row[0] for row in cells(screen)] == ["Mira", "Stattler", "Stattler"]


@pytest.mark.anyio
async def test_a_call_that_fails_is_said_and_nothing_is_proposed(desktop: Desktop) -> None:
    desktop.script = Script(reply=(Entry(match=ScriptMatch(schema="gaps"), fault=Fault.WRONG_SHAPE),))
    async with desktop.window(make_cast) as (pilot, app):
        screen = await cast(pilot, app)
        await pilot.press("g")
        await until(pilot, lambda: screen.query_one(Banner).is_shown)
        assert app.screen is screen
        assert app.engine is not None
        assert not await app.engine.library.proposals.offered()


@pytest.mark.anyio
async def test_what_a_chapter_changed_is_in_the_palette_once_it_has_ended_and_asked_again_once_decided(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_ended) as (pilot, app):
        await until(pilot, lambda: app.session is not None and app.session.snapshot.session.prompt_index)
        found = {command.title: command for command in app.get_system_commands(app.screen)}
        found["Hold the ceremony"].callback()
        screen = await proposals(pilot, app, 3)
        assert [row[:3] for row in cells(screen)] == [
            ["Mira", "Topic “The sea”", "counted in the chapter"],
            ["Mira", "More of the identity", "from the chapter, prompt 1"],
            ["Mira", "Topic “The sea”", "from the chapter, prompt 1"],
        ]
        await pilot.press("down")
        told = f"She lost her brother to the sea. {PLAIN}"
        await until(pilot, lambda: sides(screen)[1] == told)
        assert "Because: “took my brother” He is gone for good." in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        found["Proposals"].callback()
        await proposals(pilot, app, 3)
        await until(pilot, lambda: "From “The relief boat is late.”." in screen_text(app))
        # It is asked again after a question once all is decided.
        await pilot.press("d", "d", "d")
        await proposals(pilot, app, 0)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        app.action_look_back(False)
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        assert "1 question was answered before" in screen_text(app)
        await pilot.press("right", "enter")
        await proposals(pilot, app, 2)


@pytest.mark.anyio
async def test_proposals_do_not_come_over_a_text_that_is_typed_meanwhile(
    desktop: Desktop, gate: Gate
) -> None:
    asked = Entry(match=ScriptMatch(schema="changes"), payload=CHANGES, between_tokens=1)
    desktop.script = Script(reply=(asked, *SCRIPT.reply[2:]))
    async with desktop.window(make_ended) as (pilot, app):
        await until(pilot, lambda: isinstance(app.focused, CappedTextArea))
        app.action_look_back(False)
        await until(pilot, lambda: app.session is not None and bool(app.session.snapshot.background))
        await pilot.press("d")
        gate.open()
        await until(pilot, lambda: any("F5, 3, then c" in one.message for one in app._notifications))
        await pilot.press("t")
        area = app.focused
        assert isinstance(area, CappedTextArea)
        await until(pilot, lambda: area.text == "dt")
        assert app.screen is app.chapter


def test_picture_of_proposals(shown: Shown, desktop: Desktop) -> None:
    desktop.script = SCRIPT

    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await until(pilot, lambda: app.session is not None and app.session.snapshot.session.prompt_index)
        app.action_look_back(False)
        screen = await proposals(pilot, app, 3)
        await pilot.press("down", "down")
        await until(pilot, lambda: "It is a thief" in sides(screen)[1])
        app.clear_notifications()

    assert shown(act, prepare=make_ended)
