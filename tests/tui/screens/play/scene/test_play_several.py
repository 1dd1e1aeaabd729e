"""Tab 2: several characters answer one prompt, in the order that the GM chose (design 17)."""

import pytest
from textual.widgets import Button

from core.domain.audience import NOBODY, Audience
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.play.composer.prompt_queue import PromptQueue
from storyengine_tui.screens.play.scene.slot_modals import CalledModal
from storyengine_tui.shell.palette_commands import commands_of
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import SCRIPT, Gate, Table, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
YELLOW_FAILS = Script(
    reply=(
        Entry(match=ScriptMatch(schema="text", anywhere="Slot: 3 ("), fault=Fault.SERVER_ERROR, times=1),
        *SCRIPT.reply,
    )
)


async def choose(table: Table, *keys: str) -> None:
    """Press Alt+S, then these keys in the list, and wait until it has closed."""
    await table.choose("alt+s", CalledModal, *keys)


async def answered(table: Table, index: int = 1) -> list[Slot | None]:
    events = await table.events()
    return [one.slot for one in events if one.prompt_index == index and one.role is Role.AGENT]


def is_settled(table: Table) -> bool:
    return not table.snapshot.open_requests and not table.is_streaming


async def test_the_gm_ticks_who_answers_in_their_order_and_the_title_says_so(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.type("Well?")
        await choose(table, "down", "space", "up", "space", "p")
        assert table.title() == r"To 1 Mira, then 3 Agent Yellow, 2 Jonas \[/x]"
        assert table.text(RED) == "Well?"
        await table.pilot.press("enter")
        await table.until(lambda: table.stored.prompt_index == 1 and is_settled(table))
        assert await answered(table) == [RED, YELLOW, ORANGE]
        assert table.title(RED) == "To 1 Mira", "it holds for one prompt"
        assert table.transcript.text.count("1) Well?") == 1
        assert table.transcript.text.count("I see.") == 3
        assert table.slot() is YELLOW, "the one after the last that answered"


async def test_all_present_answer_in_turn_or_one_alone_or_nothing_changes(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.session.scene.set_present({RED, YELLOW})
        await choose(table, "a", "p")
        assert table.title().startswith("To 1 Mira, then 3 Agent Yellow · ")
        await choose(table, "o")
        assert table.title().startswith("To 1 Mira · ")
        await choose(table, "a", "escape")
        assert table.title().startswith("To 1 Mira · ")


async def test_a_whisper_to_several_is_heard_by_those_alone(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.type("Psst.")
        await table.pilot.press("ctrl+l", "w")
        await table.until(lambda: table.area(RED).heard_by == NOBODY or table.title().endswith("whisper"))
        await choose(table, "space", "p")
        await table.until(lambda: "then" in table.title())
        await table.pilot.press("enter")
        await table.until(lambda: table.stored.prompt_index == 1 and is_settled(table))
        assert {one.audience for one in await table.events()} == {Audience.of({RED, ORANGE})}


async def test_one_that_fails_is_retried_from_the_banner(desktop: Desktop) -> None:
    desktop.script = YELLOW_FAILS
    async with at_table(desktop) as table:
        await choose(table, "down", "space", "up", "space", "p")
        await table.send("Well?")
        await table.until(lambda: "3 Agent Yellow did not answer" in table.banner())
        assert "The replies before it are kept." in table.banner()
        assert "would answer next" in table.banner()
        assert table.text(RED) == "", "the prompt stands in the transcript"
        assert table.pane.view is not None
        assert table.pane.view.actions["retry"]
        await table.pilot.press("ctrl+r")
        await table.until(lambda: is_settled(table) and not table.banner())
        assert await answered(table) == [RED, YELLOW, ORANGE]


@pytest.mark.parametrize(
    ("action", "slots"), [("leave-out", [RED, ORANGE]), ("leave-rest", [RED]), ("palette", [RED, ORANGE])]
)
async def test_one_that_fails_is_left_out_from_the_banner(
    desktop: Desktop, action: str, slots: list[Slot]
) -> None:
    desktop.script = YELLOW_FAILS
    async with at_table(desktop) as table:
        await choose(table, "down", "space", "up", "space", "p")
        await table.send("Well?")
        await table.until(lambda: table.banner())
        if action == "palette":
            assert table.pane.check_action("leave_out", ())
            await table.pane.run_action("leave_out")
        else:
            buttons = {one.name: one for one in table.pane.query_one("#reply-failed").query(Button)}
            buttons[action].press()
        await table.until(lambda: is_settled(table) and not table.snapshot.requests)
        assert await answered(table) == slots
        await table.until(lambda: not table.banner())


async def test_the_line_says_who_writes_and_who_comes_next(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await choose(table, "a", "p")
        await table.send("HOLD the line")
        await table.until(lambda: "Mira is writing, then 2 more" in table.busy)
        await table.send("And on")
        await table.until(lambda: len(table.queued) == 1)
        gate.open()
        await table.until(lambda: table.stored.prompt_index == 2 and is_settled(table))
        assert len(await answered(table, 1)) == 3
        assert len(await answered(table, 2)) == 1


async def test_a_queued_prompt_says_whom_it_calls_and_comes_back_with_them(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.send("HOLD the line")
        await table.until(lambda: table.busy)
        slot = table.slot()
        await choose(table, "space", "p")
        called = table.title()
        await table.queue("Both of you")
        assert table.queued[0].startswith("To 2 Jonas [/x], then 3 Agent Yellow, waits its turn")
        assert table.pane.query_one(PromptQueue).display
        await table.pilot.press("ctrl+t")
        await table.until(lambda: table.text(slot) == "Both of you")
        assert table.title(slot) == called
        gate.open()
        await table.until(lambda: is_settled(table))


async def test_an_undone_prompt_is_back_with_all_whom_it_called(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await choose(table, "a", "p")
        called = table.title()
        await table.send("All of you")
        await table.until(lambda: table.stored.prompt_index == 1 and is_settled(table))
        await table.pilot.press("ctrl+o")
        await table.until(lambda: table.text(RED) == "All of you")
        assert table.title(RED) == called
        await table.pilot.press("enter")
        await table.until(lambda: table.stored.prompt_index == 1 and is_settled(table))
        assert await answered(table) == [RED, ORANGE, YELLOW]


async def test_another_take_of_several_replaces_them_one_after_the_other(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await choose(table, "a", "p")
        await table.send("All of you")
        await table.until(lambda: table.stored.prompt_index == 1 and is_settled(table))
        await table.pilot.press("f9")
        await table.until(lambda: table.snapshot.take_count(1) == 2 and is_settled(table))
        assert table.transcript.text.count("I see.") == 3
        assert await answered(table) == [RED, ORANGE, YELLOW]


async def test_the_palette_offers_it_only_where_there_is_a_choice(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        names = [command.title for command in commands_of(table.app, lambda: None)]  # type: ignore[arg-type]
        assert "Choose who answers" in names
        assert "Leave the reply out" not in names
