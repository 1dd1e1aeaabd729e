"""Pictures of tab 2 where characters are away, have no words, or were silent for long."""

from functools import wraps

import pytest

from core.domain.audience import EVERYONE
from core.domain.slot import Slot
from core.providers.scripted.script import Entry, Script, ScriptMatch
from storyengine_tui.screens.play.scene.stage_modals import AwayModal, HintModal, ReasonModal, SilenceModal
from tests.tui.engine_app import Desktop, make_active
from tests.tui.rooms.play_table import Table
from tests.tui.screens.play.conftest import Act, TableMatches

Shown = TableMatches
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
REPLIES = (
    "[action] turns the lamp down, [b]slowly[/b]",
    "[silent]\n[why] She knows who cut the rope, and does not trust the others with it yet.",
)


@pytest.fixture
def shown(desktop: Desktop, table_matches: TableMatches) -> Shown:
    """Compare pictures after acts with the accepted ones: an action and a silence were played."""
    match = ScriptMatch(schema="text")
    desktop.script = Script(
        reply=tuple(Entry(match=match, text=text, calls=(n,)) for n, text in enumerate(REPLIES, start=1))
    )
    desktop.prepare_now(make_active)

    def compare(*acts: Act) -> bool:
        @wraps(acts[0])
        async def after_play(table: Table) -> None:
            await table.session.scene.set_silence(EVERYONE)
            for slot, text in ((RED, "The rope is cut. What do you do?"), (RED, "Who was it?")):
                await table.session.wait(await table.session.submit_prompt(slot, text))
            await table.until(lambda: table.transcript.text.endswith("Mira says nothing."))
            await acts[0](table)

        return table_matches(after_play, *acts[1:])

    return compare


def test_the_panel_of_one_that_is_away(shown: Shown) -> None:
    async def act(table: Table) -> None:
        await table.session.scene.set_away({ORANGE: 0})
        await table.pilot.press("alt+2")
        await table.send("Where are you?")
        await table.until(lambda: table.text(ORANGE))

    assert shown(act)


def test_why_one_has_no_words_who_may_be_silent_when_that_is_pointed_out_and_who_is_away(
    shown: Shown,
) -> None:
    async def reason(table: Table) -> None:
        table.transcript.focus()
        await table.pilot.press("w")
        await table.until(lambda: isinstance(table.app.screen, ReasonModal))

    async def silence(table: Table) -> None:
        await table.pilot.press("escape")
        table.area(table.slot()).focus()
        await table.open("let_be_silent", SilenceModal)

    async def hint(table: Table) -> None:
        await table.pilot.press("escape")
        await table.open("hint_after", HintModal)
        await table.type("9")

    async def away(table: Table) -> None:
        await table.pilot.press("escape")
        await table.session.scene.set_away({YELLOW: 12})
        await table.open("choose_away", AwayModal)
        await table.pilot.press("down")

    async def noted(table: Table) -> None:
        await table.pilot.press("escape")
        await table.session.scene.set_hint(2)
        await table.until(lambda: table.pane.view.stage.notes.keys() == {ORANGE, YELLOW})  # type: ignore[union-attr]
        await table.pilot.press("alt+2")

    assert shown(reason, silence, hint, away, noted)
