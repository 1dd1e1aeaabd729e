"""Tab 2: a character adds something unasked while the GM is idle, and the GM strikes it (design 17)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.audience import Audience
from core.domain.slot import Slot
from core.providers.scripted.script import Entry, Script, ScriptMatch
from storyengine_tui.screens.play.scene.slot_modals import AddersModal
from tests.core.rooms.idle_hours import IdleHours
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import SCRIPT, Gate, Table, at_table
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio
RED, ORANGE = Slot.RED, Slot.ORANGE
ADDS = "adds something of its own accord"
ADDING = Script(
    reply=(
        Entry(match=ScriptMatch(schema="afterthought"), payload={"reason": "CANARY", "speaks": True}),
        Entry(
            match=ScriptMatch(schema="text", last=ADDS),
            text="And then I let go.",
            between_tokens=1,
            times=1,
        ),
        Entry(match=ScriptMatch(schema="text", last=ADDS), text="One more."),
        *SCRIPT.reply,
    )
)


@pytest.fixture
def hours() -> IdleHours:
    """The clock by which the engine waits."""
    return IdleHours()


@asynccontextmanager
async def night(desktop: Desktop, hours: IdleHours) -> AsyncIterator[Table]:
    desktop.script = ADDING
    desktop.idle = hours.clock
    async with at_table(desktop) as table:
        await table.session.afterthoughts.choose_speakers((RED, ORANGE))
        yield table


async def wait(table: Table, hours: IdleHours, seconds: float) -> None:
    await hours.begun()
    await hours.pass_by(seconds, lambda: None)


async def test_the_addition_streams_below_the_reply_and_the_panel_stays(
    desktop: Desktop, hours: IdleHours, gate: Gate
) -> None:
    async with night(desktop, hours) as table:
        await table.play("Who is there?")
        slot = table.slot()
        await wait(table, hours, 10)
        await table.until(lambda: "Mira: And" in table.transcript.text)
        assert "CANARY" not in table.transcript.text, "the decision is not shown"
        assert not table.busy
        gate.open()
        await table.until(lambda: any(event.is_afterthought for event in table.snapshot.recent))
        await table.until(lambda: not table.is_streaming)
        assert "Mira: And then I let go." in table.transcript.text
        assert table.transcript.text.count("1) Who is there?") == 1
        assert table.slot() is slot


async def test_a_key_stops_what_is_being_said_and_nothing_of_it_stays(
    desktop: Desktop, hours: IdleHours, gate: Gate
) -> None:
    async with night(desktop, hours) as table:
        await table.play("Who is there?")
        await wait(table, hours, 10)
        await table.until(lambda: "Mira: And" in table.transcript.text)
        await table.type("N")
        await table.until(lambda: not table.is_streaming and not table.snapshot.background)
        assert "Mira: And" not in table.transcript.text
        assert not table.banner()
        assert not any(event.is_afterthought for event in await table.events())
        await wait(table, hours, 9)
        assert not table.snapshot.background, "the timers start over with the key"


async def test_what_was_added_is_struck_from_the_palette(
    desktop: Desktop, hours: IdleHours, gate: Gate
) -> None:
    gate.open()
    async with night(desktop, hours) as table:
        await table.play("Who is there?")
        assert table.pane.check_action("strike_afterthought", ()) is False
        await wait(table, hours, 10)
        await table.until(lambda: any(event.is_afterthought for event in table.snapshot.recent))
        await table.session.afterthoughts.choose_speakers((), is_on=False)
        await table.until(lambda: table.pane.check_action("strike_afterthought", ()) is True)
        await table.pane.run_action("strike_afterthought")
        await table.until(lambda: table.snapshot.take_count(1) == 2)
        await table.until(lambda: "let go" not in table.transcript.text)
        assert table.pane.check_action("strike_afterthought", ()) is False


async def test_on_without_a_character_that_may_add_says_so_and_asks_on(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.pane.run_action("let_add")
        await table.until(lambda: isinstance(table.app.screen, AddersModal))
        await table.pilot.press("o")
        await table.until(lambda: any("Tick who" in note.message for note in table.app._notifications))
        assert isinstance(table.app.screen, AddersModal)
        await table.pilot.press("space", "o")
        await table.until(lambda: table.stored.adds_unasked)


async def test_who_may_add_is_ticked_and_switched_on_and_off(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        for keys, is_on in (("space", "o"), True), (("down", "space", "f"), False):
            await table.pane.run_action("let_add")
            await table.until(lambda: isinstance(table.app.screen, AddersModal))
            await table.pilot.press(*keys)
            await table.until(lambda: not isinstance(table.app.screen, AddersModal))
            await table.until(lambda is_on=is_on: table.stored.adds_unasked is is_on)
            said = "Mira may add something unasked from now on." if is_on else "No character adds anything"
            await table.until(
                lambda said=said: any(said in note.message for note in table.app._notifications)
            )
        assert table.stored.may_add == Audience.of((RED, ORANGE))
