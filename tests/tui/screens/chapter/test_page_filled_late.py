"""A page that is filled late has what was stored meanwhile, and takes nothing from the page that shows."""

import asyncio
from typing import Any

import pytest

from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.screens.system.example_chapters import find_examples
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.engine_app import Desktop, filled, make_active, until

pytestmark = pytest.mark.anyio


async def test_the_wishes_of_an_example_that_is_opened_while_tab_3_is_filled_are_there_and_stay_stored(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, gate = asyncio.Event(), asyncio.Event()
    show = NarrativePane._show_drafts

    async def show_late(self: NarrativePane, session: Any) -> None:
        began.set()
        await gate.wait()
        await show(self, session)

    monkeypatch.setattr(NarrativePane, "_show_drafts", show_late)
    example = next(one for one in find_examples() if one.script.definition)
    async with desktop.window() as (pilot, app):
        app.chapter.action_tab("narrative")
        await until(pilot, began.is_set)
        opening = asyncio.create_task(app.workspace.open_example(example))
        await until(pilot, lambda: app.session is not None and app.session.snapshot.session.definition != "")
        gate.set()
        await opening
        session = app.session
        assert session is not None
        await until(pilot, lambda: app.chapter._pages.get_page("narrative"))
        assert app.chapter.query_one(DefinitionCell).area.text == example.script.definition
        await app.chapter.flush()
        assert session.snapshot.session.definition == example.script.definition


@pytest.mark.parametrize("tab", ["setup", "narrative"])
async def test_what_is_selected_in_the_transcript_can_still_be_copied_once_another_page_is_filled(
    desktop: Desktop, tab: str
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 2)) as (pilot, app):
        await pilot.press("shift+tab", "ctrl+a")
        assert isinstance(app.focused, TranscriptView)
        await filled(pilot, tab)
        await pilot.press("c")
        await until(pilot, lambda: app.clipboard.startswith("1) Prompt number 1."))


async def test_what_is_selected_in_the_transcript_is_no_longer_once_the_gm_writes(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 2)) as (pilot, app):
        await pilot.press("shift+tab", "ctrl+a")
        assert app.screen.selections
        await pilot.press("tab", "x")
        await until(pilot, lambda: not app.screen.selections)
