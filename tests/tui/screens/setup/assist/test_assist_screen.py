"""Help with a text: a proposal beside it, which is taken or dropped; nothing of the GM's is overwritten."""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Static

from core.domain.errors import ErrorCode, StorageError
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.setup.assist.assist_screen import AssistScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.shell.way_back import AT_WORK
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, screen_text, until
from tests.tui.rooms.chapter_page import SCRIPT as OF_CHAPTER
from tests.tui.rooms.chapter_page import make_ended
from tests.tui.rooms.one_page import Gate
from tests.tui.rooms.one_page import gate as gate

pytestmark = pytest.mark.anyio
WORLD = "A lighthouse on a rock."
ANSWER = "The [b]sea[/b] is loud, and the lamp [/x] is out."


def script(text: str = ANSWER, **values: Any) -> Script:
    """Answer what is asked about a text; the first entries come before that."""
    first = Entry(match=ScriptMatch(last="GM_TEXT"), **{"times": 1, **values}) if values else None
    then = Entry(match=ScriptMatch(last="GM_TEXT"), text=text)
    return Script(reply=(*([first] if first else []), then, *OF_CHAPTER.reply))


async def helped(pilot: Pilot[Any]) -> AssistScreen:
    """Open the help with the text in focus."""
    await pilot.press("alt+a")
    await until(pilot, lambda: isinstance(pilot.app.screen, AssistScreen) and pilot.app.focused)
    screen = pilot.app.screen
    assert isinstance(screen, AssistScreen)
    return screen


async def written(pilot: Pilot[Any]) -> AssistScreen:
    """Open the help with the text in focus, and wait until a proposal is being written."""
    screen = await helped(pilot)
    await pilot.press("c")
    await until(pilot, lambda: proposed(screen))
    return screen


def proposed(screen: AssistScreen) -> str:
    return screen.query_one("#proposed", CappedTextArea).text


def can_take(screen: AssistScreen) -> bool:
    return not screen.query_one("#take", Button).disabled


def said(screen: AssistScreen) -> str:
    return str(screen.query_one("#said", Static).render())


def world_of(app: StoryEngineApp) -> CappedTextArea:
    return app.chapter.query_one("#world", CappedTextArea)


async def test_a_proposal_is_dropped_or_taken_behind_the_text_or_in_its_place_and_undone(
    desktop: Desktop,
) -> None:
    desktop.script = script()
    async with desktop.window(make_draft) as (pilot, app):
        # A rewrite needs a note and replaces the text when it is taken.
        screen = await helped(pilot)
        await pilot.press("w")
        await until(pilot, lambda: "Say in the note how" in said(screen))
        screen.query_one("#note").focus()
        await pilot.press(*"As a storm", "enter", "w")
        await until(pilot, lambda: can_take(screen))
        screen.query_one("#take", Button).press()
        await until(pilot, lambda: app.screen is app.chapter)
        assert world_of(app).text == ANSWER
        assert app.session is not None
        [call] = [
            one for one in await app.session.reads.artifacts() if one.prompt_version.startswith("assist/")
        ]
        [manifest] = (await app.session.reads.contents([call.input_ref])).values()
        assert '"NOTE"' in manifest
        await pilot.press("ctrl+z")
        assert world_of(app).text == WORLD
        # A proposal that is dropped changes nothing.
        screen = await helped(pilot)
        await pilot.press("s")
        await until(pilot, lambda: can_take(screen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert world_of(app).text == WORLD
        assert app.focused is world_of(app)
        # A proposal goes behind the text when it is taken and Ctrl+Z undoes that.
        screen = await helped(pilot)
        assert screen.query_one("#own", CappedTextArea).text == WORLD
        await pilot.press("enter")
        await until(pilot, lambda: can_take(screen))
        assert proposed(screen) == ANSWER
        assert world_of(app).text == WORLD, "nothing changes until it is taken"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert world_of(app).text == f"{WORLD} {ANSWER}"
        session = app.session
        await until(pilot, lambda: session.snapshot.tab1.world == f"{WORLD} {ANSWER}", "it is stored")
        await pilot.press("ctrl+z")
        assert world_of(app).text == WORLD
        # Letters in the note are no keys.
        screen = await helped(pilot)
        screen.query_one("#note").focus()
        await pilot.press(*"cwts")
        assert screen.query_one("#note", CappedTextArea).text == "cwts"
        assert not screen.query_one(BusyLine).is_busy


async def test_esc_stops_a_call_and_it_is_on_record(
    desktop: Desktop, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = script(text=ANSWER, between_tokens=1)
    async with desktop.window(make_draft) as (pilot, app):
        screen = await written(pilot)
        assert "writes a proposal" in screen_text(app)
        assert not can_take(screen)
        assert app.session is not None

        async def fail(_: object) -> None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, "The database is away.")

        with monkeypatch.context() as patch:
            patch.setattr(app.session.assist, "stop", fail)
            await pilot.press("escape")
            await until(pilot, lambda: any("is away" in one.message for one in app._notifications))
        await pilot.press("escape")
        await until(pilot, lambda: "The call was stopped" in said(screen))
        assert app.screen is screen
        [call] = await app.session.reads.artifacts()
        assert call.error_code == "LLM_CANCELLED"
        gate.open()
        await pilot.press("ctrl+r")
        await until(pilot, lambda: can_take(screen))
        # A text that is another one by now is not written over, which is said.
        world_of(app).load_text("A ship.")
        screen.query_one("#take", Button).press()
        await until(pilot, lambda: any("was not put into it" in one.message for one in app._notifications))
        assert world_of(app).text == "A ship."


async def test_one_that_failed_is_tried_again_nothing_of_it_acts_and_one_of_no_use_is_no_proposal(
    desktop: Desktop,
) -> None:
    asked = ScriptMatch(last="GM_TEXT")
    bad = "Calm \x1b[2J\x1b]52;c;b3duZWQ=\x07sea. [bold]No[/bold] wind."
    first = (Entry(match=asked, fault=Fault.AUTH, times=1), Entry(match=asked, text=bad, times=1))
    desktop.script = Script(reply=(*first, *script(WORLD).reply))
    async with desktop.window(make_draft) as (pilot, app):
        screen = await helped(pilot)
        await pilot.press("c")
        await until(pilot, lambda: "Ctrl+R tries again." in said(screen))
        assert proposed(screen) == ""
        await pilot.press("ctrl+r")
        await until(pilot, lambda: can_take(screen))
        assert app.session is not None
        assert [call.attempt for call in await app.session.reads.artifacts()] == [1, 2]
        # What could act on a terminal is gone from a proposal.
        assert proposed(screen) == "Calm sea. [bold]No[/bold] wind."
        assert "[bold]No[/bold]" in screen_text(app)
        # An answer of no use is no proposal.
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        screen = await helped(pilot)
        await pilot.press("c")
        await until(pilot, lambda: "The proposal is empty" in said(screen))
        assert not can_take(screen)


async def test_where_what_a_call_lacks_cannot_be_stored_that_is_said(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> bool:
        raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, "Your consent could not be stored.")

    monkeypatch.setattr("storyengine_tui.screens.setup.assist.assist_screen.repair_after_failure", fail)
    desktop.script = script(fault=Fault.REQUEST_ERROR)
    async with desktop.window(make_draft) as (pilot, _):
        screen = await helped(pilot)
        await pilot.press("c")
        await until(pilot, lambda: "Your consent could not be stored." in said(screen))


async def test_a_prompt_is_helped_with_in_its_panel(desktop: Desktop) -> None:
    desktop.script = script()
    async with desktop.window(make_active) as (pilot, app):
        await pilot.press(*"The bell")
        screen = await helped(pilot)
        assert "Prompt to Mira" in screen_text(app)
        await pilot.press("c")
        await until(pilot, lambda: can_take(screen))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.session is not None
        session = app.session
        await until(pilot, lambda: session.snapshot.unsent.get(Slot.RED) == f"The bell {ANSWER}")


async def test_the_wishes_for_the_chapter_are_helped_with(desktop: Desktop) -> None:
    desktop.script = script()
    async with desktop.window(make_ended) as (pilot, app):
        area = app.chapter.query_one("#definition", CappedTextArea)
        app.chapter.set_focus(area)
        screen = await helped(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: can_take(screen))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert area.text == ANSWER


async def test_help_is_offered_for_a_text_in_focus_that_can_be_changed(desktop: Desktop) -> None:
    def offered(app: StoryEngineApp) -> bool:
        return "Help with this text" in [command.title for command in commands_of(app, lambda: None)]

    async with desktop.window(make_active) as (pilot, app):
        assert offered(app)
        await pilot.press("f2")
        assert not offered(app), "tab 1 is locked"
        await pilot.press("alt+a")
        await pilot.pause()
        assert app.screen is app.chapter


async def make_long(engine: Engine) -> None:
    session = await engine.open(await make_draft(engine))

    text = "The lighthouse [/b] is on a rock, and nobody has seen its keeper since the storm. " * 12
    await session.edits.edit_tab1(Tab1Edit(world=text))
    await session.aclose()


def test_picture_of_a_proposal(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.script = script(text="The sea is loud [/x]. The lamp is out. " * 8)
    desktop.prepare_now(make_long)

    async def show(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        screen = await helped(pilot)
        await pilot.press("s")
        await until(pilot, lambda: can_take(screen))

    assert pictures_match(desktop.app(), run_before=show)


def test_picture_of_a_proposal_that_failed(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.script = script(fault=Fault.AUTH)
    desktop.prepare_now(make_draft)

    async def show(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        screen = await helped(pilot)
        await pilot.press("c")
        await until(pilot, lambda: "tries again" in said(screen))

    assert pictures_match(desktop.app(), run_before=show)


async def test_enter_that_comes_twice_asks_once_and_drops_nothing(desktop: Desktop, gate: Gate) -> None:
    desktop.script = script(text=ANSWER, between_tokens=1)
    async with desktop.window(make_draft) as (pilot, app):
        screen = await helped(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: proposed(screen))
        await pilot.press("enter")
        assert app.screen is screen
        assert screen.query_one(BusyLine).is_busy
        gate.open()
        await until(pilot, lambda: can_take(screen))
        assert screen.focused is screen.query_one("#take")


async def test_a_command_of_the_palette_does_not_drop_a_proposal_that_is_being_written(
    desktop: Desktop, gate: Gate
) -> None:
    desktop.script = script(text=ANSWER, between_tokens=1)
    async with desktop.window(make_draft) as (pilot, app):
        screen = await written(pilot)
        await pilot.press("ctrl+p", *"add a secret", "enter")
        await until(pilot, lambda: any(AT_WORK in one.message for one in app._notifications))
        assert app.screen is screen
        gate.open()
        await until(pilot, lambda: can_take(screen))
