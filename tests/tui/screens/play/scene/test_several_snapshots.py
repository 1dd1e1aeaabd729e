"""Pictures of tab 2 where several characters answer one prompt."""

import pytest

from core.domain.slot import Slot
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.play.scene.slot_modals import AddersModal, CalledModal
from tests.tui.engine_app import Desktop, make_active
from tests.tui.rooms.play_table import SCRIPT, Table
from tests.tui.screens.play.conftest import Act, TableMatches

Shown = TableMatches
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
YELLOW_FAILS = Entry(match=ScriptMatch(schema="text", anywhere="Slot: 3 ("), fault=Fault.SERVER_ERROR)


@pytest.fixture
def shown(desktop: Desktop, table_matches: TableMatches) -> Shown:
    """Compare a picture after `act`, on a chapter in which the third character does not answer."""

    def compare(*acts: Act) -> bool:
        desktop.script = Script(reply=(YELLOW_FAILS, *SCRIPT.reply))
        desktop.prepare_now(lambda engine: make_active(engine, 1))

        return table_matches(*acts)

    return compare


async def _listed(table: Table) -> None:
    await table.pilot.press("alt+s")
    await table.until(lambda: isinstance(table.app.screen, CalledModal))


def test_who_answers_and_who_may_add_something(shown: Shown) -> None:
    async def answers(table: Table) -> None:
        await table.session.scene.set_present({ORANGE, YELLOW})
        await _listed(table)
        await table.pilot.press("down", "space", "up", "space")

    async def may_add(table: Table) -> None:
        await table.pilot.press("escape")
        await table.session.scene.set_present({RED, ORANGE, YELLOW})
        await table.session.afterthoughts.choose_speakers((RED, YELLOW))
        await table.pane.run_action("let_add")
        await table.until(lambda: isinstance(table.app.screen, AddersModal))

    assert shown(answers, may_add)


def test_one_of_several_did_not_answer(shown: Shown) -> None:
    async def act(table: Table) -> None:
        await table.session.wait(await table.session.submit_prompt(ORANGE, "Who lit it?", then=(RED, YELLOW)))
        await table.session.wait_idle()
        await table.until(lambda: table.banner())
        await _listed(table)
        await table.pilot.press("a", "p")
        await table.until(lambda: not isinstance(table.app.screen, CalledModal))
        await table.type("And now")

    assert shown(act)
