"""Pictures of tab 2: empty, busy, failed, full and read-only."""

from datetime import UTC, datetime
from typing import Protocol

import pytest

from core.domain.story.transcript import TRUNCATION_NOTICE
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from core.storage.session_store import WriterInfo
from storyengine_tui.screens.chapter import writer_banner
from storyengine_tui.screens.play.actions.take_modals import BranchModal, ReplyModal
from storyengine_tui.screens.play.transcript.transcript_panel import TakeLine
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, make_active
from tests.tui.rooms.play_table import SCRIPT, Gate, Table
from tests.tui.rooms.play_table import gate as gate
from tests.tui.screens.play.conftest import Act, TableMatches

TALE = (
    "I climb the stairs, one hand on the cold wall, and count: twenty-one steps, then the door with the "
    "brass plate that nobody has polished since the storm. Behind it I hear the sea, or something that "
    "breathes."
)


class Shown(Protocol):
    def __call__(self, *acts: Act, prompts: int = 0, script: Script = SCRIPT) -> bool: ...


@pytest.fixture
def shown(desktop: Desktop, table_matches: TableMatches, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Compare pictures of a chapter of some prompts, each after an act, with the accepted ones."""
    monkeypatch.setattr("storyengine_tui.widgets.busy_line.elapsed_text", lambda _: "0:03")
    monkeypatch.setattr("storyengine_tui.widgets.banner.elapsed_text", lambda _: "0:04")

    def compare(*acts: Act, prompts: int = 0, script: Script = SCRIPT) -> bool:
        desktop.script = script
        desktop.prepare_now(lambda engine: make_active(engine, prompts))

        return table_matches(*acts)

    return compare


def test_empty(shown: Shown) -> None:
    async def act(_: Table) -> None:
        pass

    assert shown(act)


def test_busy(shown: Shown, gate: Gate) -> None:
    async def act(table: Table) -> None:
        await table.send("HOLD the lamp up. What do you see?")
        await table.until(lambda: table.is_streaming and table.busy)
        await table.queue("And you, what do you hear?")
        await table.type("Meanwhile, on the stairs")

    assert shown(act, prompts=1)


def test_failed(shown: Shown) -> None:
    async def act(table: Table) -> None:
        await table.send("The seventh")
        await table.until(lambda: table.banner("summary-failed"))
        await table.send("FAIL to open the door")
        await table.until(table.banner)

    script = Script(
        reply=(
            Entry(match=ScriptMatch(schema="turn_delta"), fault=Fault.RATE_LIMITED, retry_after=600),
            *SCRIPT.reply,
        )
    )
    assert shown(act, prompts=6, script=script)


def test_full(shown: Shown) -> None:
    async def act(table: Table) -> None:
        await table.until(lambda: table.transcript.text.startswith(TRUNCATION_NOTICE))
        await table.pilot.press("pageup")

    script = Script(reply=(Entry(match=ScriptMatch(schema="text"), text="\n\n".join([TALE] * 21)),))
    assert shown(act, prompts=15, script=script)


async def _reroll(table: Table) -> None:
    await table.pilot.press("f9")
    await table.until(lambda: table.pane.query_one(TakeLine).display and not table.is_streaming)


def test_undone_with_takes_before(shown: Shown) -> None:
    async def act(table: Table) -> None:
        await _reroll(table)
        await table.play("And then?")
        await table.pilot.press("ctrl+o")
        await table.until(lambda: "undone" in table.pane.query_one(TakeLine).content[0])

    assert shown(act, prompts=1)


def test_stopped(shown: Shown, gate: Gate) -> None:
    async def act(table: Table) -> None:
        await table.send("HOLD the lamp up. What do you see?")
        await table.until(lambda: table.transcript.text.endswith("I"))
        await table.pilot.press("escape")
        await table.until(table.banner)

    assert shown(act, prompts=1)


def test_marking_the_questions_of_a_branch_and_of_the_end_and_a_window_that_reads(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The store knows no other writer: the next poll would find that it has gone.
    monkeypatch.setattr(writer_banner, "POLL_SECONDS", 3600.0)

    async def marking(table: Table) -> None:
        table.transcript.focus()
        await table.pilot.press("v", "up")

    async def branch(table: Table) -> None:
        await table.pilot.press("up", "b")
        await table.until(lambda: isinstance(table.app.screen, BranchModal))

    async def end(table: Table) -> None:
        await table.pilot.press("escape", "escape")
        await table.until(lambda: table.app.screen is table.app.screen_stack[0])
        await table.type("not sent yet")
        await table.pilot.press("f8")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))

    async def reads(table: Table) -> None:
        await table.pilot.press("escape", "ctrl+u")
        holder = WriterInfo(label="desk, process 4711", since=datetime(2026, 1, 2, 15, tzinfo=UTC))
        table.session._writer._lock_out(holder)
        await table.until(lambda: table.area(table.slot()).read_only)

    assert shown(marking, branch, end, reads, prompts=3)


def test_undone_then_correcting_a_reply_and_two_takes_of_it(shown: Shown) -> None:
    async def undone(table: Table) -> None:
        await table.pilot.press("ctrl+o")
        await table.until(lambda: table.pane.query_one(TakeLine).display)

    async def correcting(table: Table) -> None:
        table.pane.takes.action_redo()
        await table.until(lambda: table.stored.prompt_index == 2)
        table.pane.takes.action_correct_reply()
        await table.until(lambda: isinstance(table.app.screen, ReplyModal))

    async def two_takes(table: Table) -> None:
        await table.pilot.press("escape")
        await _reroll(table)

    assert shown(undone, correcting, two_takes, prompts=2)
