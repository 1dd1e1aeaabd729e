"""Letters typed while a chapter is being left are stored there, and nowhere else (design 10)."""

import asyncio

import pytest

from core.domain.ids import SessionId
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, filled, until
from tests.tui.screens.library.prompt_blocks.test_prompt_blocks_screen import session_of

pytestmark = pytest.mark.anyio


async def worlds(engine: Engine) -> dict[SessionId, str]:
    found: dict[SessionId, str] = {}
    for summary in await engine.sessions():
        session = await engine.open(summary.id)
        found[summary.id] = session.snapshot.tab1.world
        await session.aclose()
    return found


async def test_a_letter_of_the_last_moment_is_stored_in_the_chapter_that_is_left(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, is_held, calls = asyncio.Event(), asyncio.Event(), 0
    flush = NarrativePane.flush

    async def held_flush(self: NarrativePane) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:  # The ones before are of the questions whether the chapter can be left.
            is_held.set()
            await gate.wait()
        await flush(self)

    async with desktop.window(lambda engine: engine.create()) as (pilot, app):
        first, engine = session_of(app).id, app.workspace.require_engine()
        await filled(pilot, "narrative")
        other = await engine.create()
        session = await engine.open(other)
        await session.edits.edit_tab1(Tab1Edit(world="A second world."))
        await session.aclose()
        world = app.chapter.query_one("SetupPane #world", CappedTextArea)
        world.focus()
        monkeypatch.setattr(NarrativePane, "flush", held_flush)
        leaving = asyncio.create_task(app.workspace.open(other))
        await until(pilot, is_held.is_set)
        await pilot.press(*"Sea")
        assert world.text == "Sea"
        gate.set()
        await leaving
        assert world.text == "A second world."
    async with desktop.engine() as engine:
        assert await worlds(engine) == {first: "Sea", other: "A second world."}
