"""A model is asked what a character lacks while the list of the cast shows something else."""

import pytest

from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.widgets.banner import Banner
from tests.tui.engine_app import Desktop, until
from tests.tui.rooms.one_page import Gate
from tests.tui.rooms.one_page import gate as gate
from tests.tui.screens.library.proposals.test_proposals_screen import cast, heading, make_cast


@pytest.mark.anyio
async def test_the_archive_keeps_its_heading_where_the_call_fails(desktop: Desktop, gate: Gate) -> None:
    asked = Entry(match=ScriptMatch(schema="gaps"), fault=Fault.WRONG_SHAPE, between_tokens=1)
    desktop.script = Script(reply=(asked,))
    async with desktop.window(make_cast) as (pilot, app):
        screen = await cast(pilot, app)
        await pilot.press("g")
        await until(pilot, lambda: app.session is not None and bool(app.session.snapshot.background))
        await pilot.press("v")
        await until(pilot, lambda: heading(screen).startswith("Archived"))
        gate.open()
        await until(pilot, lambda: screen.query_one(Banner).is_shown)
        assert heading(screen).startswith("Archived")
