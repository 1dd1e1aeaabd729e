"""A secret for those who see a group: the choice of a group, where characters have groups."""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.domain.story.secret import Secret
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from storyengine_tui.screens.setup.secrets.secret_screen import SecretScreen
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from tests.tui.engine_app import Desktop, until
from tests.tui.screens.setup.secrets.test_secrets import MIRA, make_secrets, part, secret_opened, session_of

pytestmark = pytest.mark.anyio


async def make_grouped(engine: Engine) -> None:
    """Store a chapter in which Mira and Jonas see a group of their own."""
    await make_secrets(engine)
    session = await engine.open((await engine.sessions())[0].id)
    harbour = Profile(group="Harbour [/x]", groups_visible=())
    guest = Profile(groups_visible=("General", "Harbour [/x]"))
    await session.edits.edit_tab1(Tab1Edit(profiles={Slot.RED: harbour, Slot.ORANGE: guest}))
    await session.aclose()


async def choose(pilot: Pilot[Any], screen: SecretScreen, *keys: str) -> None:
    """Choose a group by its place in the list."""
    chosen = screen.query_one("#group", GuardedSelect)
    chosen.focus()
    await pilot.press("enter", *keys, "enter")
    await until(pilot, lambda: chosen.selection is None)


async def test_a_secret_is_for_those_who_see_a_group_whoever_that_is(desktop: Desktop) -> None:
    def stored() -> Secret:
        return session_of(app).snapshot.secrets[0]

    async with desktop.window(make_grouped) as (pilot, app):
        screen = await secret_opened(pilot, app, 1)
        seeing = screen.query_one("#seeing", Static)
        assert (part(screen, "known-by").audience, seeing.display) == (MIRA, False)
        await choose(pilot, screen, "end")
        await until(pilot, lambda: stored().groups == ("Harbour [/x]",))
        assert stored().known_by == MIRA, "the group is kept, and nobody is ticked"
        assert str(seeing.content) == "And those who see Harbour [/x]; now: Mira, Jonas [/x]"
        await choose(pilot, screen, "home", "down")
        await until(pilot, lambda: stored().groups == ("Harbour [/x]", "General"))
        await choose(pilot, screen, "end")
        await until(pilot, lambda: stored().groups == ("General",))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        rows = app.chapter.query_one("#secret-list", OptionList)
        first = str(rows.get_option_at_index(0).prompt)
        assert "those who see General are among them" in first
        await session_of(app).edits.edit_tab1(
            Tab1Edit(profiles={Slot.ORANGE: Profile(group="Far", groups_visible=())})
        )
        await until(pilot, lambda: first != str(rows.get_option_at_index(0).prompt))


async def test_without_groups_there_is_none_to_choose(desktop: Desktop) -> None:
    async with desktop.window(make_secrets) as (pilot, app):
        screen = await secret_opened(pilot, app, 1)
        assert not screen.query("#group")
