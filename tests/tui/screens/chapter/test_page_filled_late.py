"""What is stored while a page is being filled is on the page once it shows."""

import asyncio
from typing import Any

import pytest

from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.screens.system.example_chapters import find_examples
from tests.tui.engine_app import Desktop, until

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
