"""A secret for those who see a group: the choice that ticks them, where characters have groups."""

import pytest

from core.domain.audience import EVERYONE
from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from tests.tui.engine_app import Desktop, until
from tests.tui.screens.setup.test_secrets import JONAS, MIRA, make_secrets, part, secret_opened, session_of

pytestmark = pytest.mark.anyio


async def make_grouped(engine: Engine) -> None:
    """Store a chapter in which Mira and Jonas see a group of their own."""
    await make_secrets(engine)
    session = await engine.open((await engine.sessions())[0].id)
    harbour = Profile(group="Harbour [/x]", groups_visible=())
    guest = Profile(groups_visible=("General", "Harbour [/x]"))
    await session.edit_tab1(Tab1Edit(profiles={Slot.RED: harbour, Slot.ORANGE: guest}))
    await session.aclose()


async def test_a_group_ticks_those_who_see_it(desktop: Desktop) -> None:
    async with desktop.window(make_grouped) as (pilot, app):
        screen = await secret_opened(pilot, app, 1)
        chosen = screen.query_one("#group", GuardedSelect)
        assert part(screen, "known-by").audience == MIRA
        chosen.focus()
        await pilot.press("enter", "end", "enter")
        await until(pilot, lambda: session_of(app).snapshot.secrets[0].known_by == MIRA | JONAS)
        assert part(screen, "known-by").audience == MIRA | JONAS
        await until(pilot, lambda: chosen.selection is None)
        chosen.focus()
        await pilot.press(
            "enter", "home", "down", "enter"
        )  # General: Jonas, and the third, who was made by hand.
        await until(pilot, lambda: session_of(app).snapshot.secrets[0].known_by == EVERYONE)


async def test_without_groups_there_is_none_to_choose(desktop: Desktop) -> None:
    async with desktop.window(make_secrets) as (pilot, app):
        screen = await secret_opened(pilot, app, 1)
        assert not screen.query("#group")
