"""Pictures of tab 2 where not everyone hears everything."""

from functools import wraps

import pytest

from core.domain.audience import NOBODY, Audience
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from core.domain.story.secret import Secret
from storyengine_tui.screens.calls.inputs.next_input_screen import NextInputScreen
from storyengine_tui.screens.play.scene.line_modals import AddedLineModal
from storyengine_tui.screens.play.scene.slot_modals import HearersModal
from storyengine_tui.screens.play.scene.viewpoint_line import ViewpointLine
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.tui.engine_app import Desktop, make_active
from tests.tui.rooms.play_table import SCRIPT, Table
from tests.tui.screens.play.conftest import Act, TableMatches

Shown = TableMatches
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW


@pytest.fixture
def shown(desktop: Desktop, table_matches: TableMatches) -> Shown:
    """Compare pictures after acts, on a chapter with whisper, line and roll, with the accepted ones."""

    def compare(*acts: Act) -> bool:
        desktop.script = SCRIPT
        desktop.prepare_now(lambda engine: make_active(engine, 1))

        @wraps(acts[0])
        async def after_play(table: Table) -> None:
            session, scene = table.session, table.session.scene
            scene.draw = lambda sides: sides // 2
            await scene.narrate("The lamp goes out.\nFor a moment nobody moves.")
            await session.wait(await session.submit_prompt(ORANGE, "Come closer.", heard_by=NOBODY))
            await scene.roll("2d6+1", hearers={RED, YELLOW})
            known = Audience.of({RED})
            await scene.edit_secrets(
                [
                    Secret(number=1, text="The [b]key[/b] is in the boat, under the nets.", known_by=known),
                    Secret(number=2, text="Mira lit the lamp herself. " * 4, known_by=known),
                ]
            )
            await table.until(lambda: "[Roll" in table.transcript.text)
            await acts[0](table)

        return table_matches(after_play, *acts[1:])

    return compare


def test_who_hears(shown: Shown) -> None:
    async def act(table: Table) -> None:
        await table.session.scene.set_present({RED, YELLOW})
        await table.open("choose_hearers", HearersModal)
        await table.pilot.press("down")

    assert shown(act)


def test_as_a_character_sees_it_a_line_no_dice_a_secret_what_is_given_next_and_a_whisper(
    shown: Shown,
) -> None:
    async def as_a_character(table: Table) -> None:
        await table.pilot.press("f12", "f12")
        await table.until(lambda: table.pane.query_one(ViewpointLine).content[0].startswith("2"))

    async def line(table: Table) -> None:
        await table.pilot.press("f12", "f12")
        await table.open("add_line", AddedLineModal)
        await table.type("A bell rings.")

    async def no_dice(table: Table) -> None:
        await table.pilot.press("escape")
        await table.open("roll_dice", AddedLineModal)
        await table.type("[x]")
        await table.pilot.press("enter")
        await table.until(lambda: table.app.screen.query_one("#refused").display)

    async def secret(table: Table) -> None:
        await table.pilot.press("escape")
        await table.open("reveal", AddedLineModal)
        await table.pilot.press("down", "tab")

    async def given_next(table: Table) -> None:
        await table.pilot.press("escape")
        await table.type("And now?")
        await table.open("next_input", NextInputScreen)
        await table.until(lambda: table.app.screen.query_one(PassageView).lines.paragraphs)

    async def whisper(table: Table) -> None:
        await table.pilot.press("escape", "ctrl+u")
        await table.type("Not so loud")
        await table.pilot.press("ctrl+l")
        await table.until(lambda: isinstance(table.app.screen, HearersModal))
        await table.pilot.press("w")
        await table.until(lambda: not isinstance(table.app.screen, HearersModal))

    assert shown(as_a_character, line, no_dice, secret, given_next, whisper)


def test_lines_with_a_sign_and_a_new_scene(desktop: Desktop, table_matches: TableMatches) -> None:
    desktop.script = SCRIPT
    desktop.prepare_now(lambda engine: make_active(engine, 1))

    async def act(table: Table) -> None:
        session, scene = table.session, table.session.scene
        await session.wait(await session.submit_prompt(ORANGE, "Come closer.", heard_by=NOBODY))
        first = session.snapshot.recent
        await scene.begin_scene("Later, at the [b]mill[/b].")
        await scene.set_status([event for event in first if event.ordinal == 1], ContextStatus.NEVER)
        await scene.set_status([event for event in first if event.ordinal == 0], ContextStatus.ALWAYS)
        await table.until(lambda: table.transcript.text.count(" sent⟩") == 4)
        table.transcript.focus()
        await table.pilot.press("v", "up")

    assert table_matches(act)
