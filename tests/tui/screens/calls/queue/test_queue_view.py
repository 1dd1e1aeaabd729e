"""The queue on F7: what waits, runs or has failed, and what can be done with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from core.domain.errors import ErrorCode
from core.domain.ids import RequestId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import BackgroundRequest, ReplyRequest, RequestState, SummaryRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.calls.queue.queue_rows import purpose_of
from storyengine_tui.screens.calls.queue.queue_view import PromptModal, QueueView
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, opened, screen_text, until
from tests.tui.rooms.play_table import Gate, Table, at_window
from tests.tui.rooms.play_table import gate as gate
from tests.tui.screens.calls.queue.queue_double import Entry, QueueDouble

pytestmark = pytest.mark.anyio
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ELSEWHERE = SessionId(UUID(int=99))


def reply(number: int, session_id: SessionId, text: str, **values: Any) -> ReplyRequest:
    return ReplyRequest(
        id=RequestId(UUID(int=number)),
        session_id=session_id,
        slot=Slot.ORANGE,
        text=text,
        created_at=NOON,
        updated_at=NOON,
        **values,
    )


def work(number: int, kind: RequestKind = RequestKind.GAPS, **values: Any) -> BackgroundRequest:
    return BackgroundRequest(
        id=RequestId(UUID(int=number)),
        session_id=ELSEWHERE,
        kind=kind,
        priority=0,
        created_at=NOON,
        updated_at=NOON,
        **values,
    )


@pytest.mark.parametrize(
    ("kind", "last", "said"),
    [
        (RequestKind.CONDENSE, 28, "memory of prompts 1–28 in fewer words"),
        (RequestKind.EXTRACTION, 1, "memory bank: items of prompt 1"),
    ],
)
def test_work_on_prompts_is_asked_for_in_words(kind: RequestKind, last: int, said: str) -> None:
    assert purpose_of(work(9, kind=kind, prompts=PromptRange(1, last))) == said


def entries_of(session_id: SessionId) -> list[Entry]:
    """One that runs, two that wait, and one that failed."""
    summary = SummaryRequest(
        id=RequestId(UUID(int=4)),
        session_id=ELSEWHERE,
        prompts=PromptRange(1, 7),
        state=RequestState.FAILED,
        error_code=ErrorCode.LLM_TIMEOUT,
        error_message="Too slow [/x]\x1b[2J",
        created_at=NOON,
        updated_at=NOON,
    )
    return [
        Entry(reply(1, session_id, "The lamp [/b] goes out.", state=RequestState.PROCESSING)),
        Entry(reply(2, session_id, "Row!"), waits_for="1 call before it"),
        Entry(reply(3, ELSEWHERE, "Who is there?"), session_title="Varn [/i]", waits_for="paused"),
        Entry(summary, session_title="Varn [/i]"),
    ]


@dataclass
class Shown:
    """The queue on the screen."""

    pilot: Pilot[Any]
    app: StoryEngineApp
    queue: QueueDouble

    @property
    def rows(self) -> list[list[str]]:
        table = self.app.screen.query_one(QueueView).table
        return [[str(cell).strip() for cell in table.get_row_at(row)] for row in range(table.row_count)]

    @property
    def totals(self) -> str:
        return str(self.app.screen.query_one(QueueView).query_one("#totals", Static).render())

    async def until_told(self, *command: object) -> None:
        await until(self.pilot, lambda: command in self.queue.told, f"not told {command}: {self.queue.told}")


async def _shown(pilot: Pilot[Any], queue: QueueDouble) -> Shown:
    app = await opened(pilot)
    assert app.engine is not None
    assert app.session is not None
    queue.listed = queue.listed or entries_of(app.session.id)
    vars(app.engine)["queue"] = queue
    await pilot.press("f7")
    await until(pilot, lambda: isinstance(app.screen, CallsScreen))
    await pilot.press("1")
    await until(
        pilot, lambda: app.screen.query(QueueView) and app.screen.query_one(QueueView).table.row_count
    )
    return Shown(pilot, app, queue)


@asynccontextmanager
async def at_queue(desktop: Desktop, queue: QueueDouble | None = None) -> AsyncIterator[Shown]:
    async with desktop.window(make_active) as (pilot, _):
        yield await _shown(pilot, queue or QueueDouble())


async def test_the_queue_says_what_runs_waits_and_failed_and_each_key_acts_on_what_it_fits(
    desktop: Desktop,
) -> None:
    async with at_queue(desktop) as shown:
        # The queue says what runs, waits and failed in all chapters.
        assert [row[1:3] for row in shown.rows] == [
            ["The lighthouse", "2 Jonas [/x]: The lamp [/b] goes out."],
            ["The lighthouse", "2 Jonas [/x]: Row!"],
            ["Varn [/i]", "2: Who is there?"],
            ["Varn [/i]", "summary of prompts 1–7"],
        ]
        assert [row[4] for row in shown.rows] == [
            "runs",
            "waits: 1 call before it",
            "waits: paused",
            "failed: Too slow [/x]",
        ]
        assert shown.totals == "1 running · 2 waiting · 1 failed"
        assert shown.app.screen.query_one(QueueView).table.max_scroll_x == 0, "nothing is cut off"
        # A key that does not fit the request does nothing.
        await shown.pilot.press("d", "u", "e", "ctrl+r", "t", "c", "down", "s")
        await shown.pilot.pause()
        assert shown.queue.told == []
        assert isinstance(shown.app.screen, CallsScreen)
        # P pauses the queue, and P goes on.
        await shown.pilot.press("p")
        await until(shown.pilot, lambda: shown.totals.startswith("Paused, nothing new begins; p goes on"))
        await shown.pilot.press("p")
        await until(shown.pilot, lambda: shown.totals.startswith("1 running"))
        assert shown.queue.told == [("pause",), ("resume",)]
        shown.app.screen.query_one(QueueView).table.move_cursor(row=0)
        # Each key acts on the request under the cursor.
        ids = [entry.request.id for entry in shown.queue.listed]
        await shown.pilot.press("s")
        await shown.until_told("stop", ids[0])
        await shown.pilot.press("down", "u")
        await shown.until_told("move_up", ids[1])
        await shown.pilot.press("down", "t")
        await shown.until_told("recall", ELSEWHERE)
        await shown.pilot.press("down", "ctrl+r")
        await shown.until_told("retry", ids[3])
        await shown.pilot.press("d")
        await shown.until_told("drop", ids[3])
        await until(shown.pilot, lambda: len(shown.rows) == 3)


async def test_work_beside_the_play_is_cleared_only_where_some_of_it_does_not_run(desktop: Desktop) -> None:
    runs = Entry(work(1, state=RequestState.PROCESSING))
    async with at_queue(desktop, QueueDouble([runs])) as shown:
        await shown.pilot.press("c", "p")
        await shown.until_told("pause")
        assert shown.queue.told == [("pause",)]
        shown.queue.listed.append(Entry(work(2)))
        await shown.pilot.press("r")
        await until(shown.pilot, lambda: len(shown.rows) == 2)
        await shown.pilot.press("c")
        await shown.until_told("clear")


async def test_what_a_key_asked_for_is_done_where_esc_comes_right_after_it(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause, begun, may_go_on = QueueDouble.pause, asyncio.Event(), asyncio.Event()

    async def slow(queue: QueueDouble) -> None:
        begun.set()
        await may_go_on.wait()
        await pause(queue)

    monkeypatch.setattr(QueueDouble, "pause", slow)
    async with at_queue(desktop) as shown:
        await shown.pilot.press("p")
        await until(shown.pilot, begun.is_set)
        await shown.pilot.press("escape")
        await until(shown.pilot, lambda: shown.app.screen is shown.app.chapter)
        may_go_on.set()
        await shown.until_told("pause")


async def test_a_queue_without_a_request_is_paused_f7_opens_on_it_and_keys_wait_until_it_is_read(
    desktop: Desktop,
) -> None:
    queue = QueueDouble()
    async with desktop.window(make_active) as (pilot, app):
        assert app.engine is not None
        assert app.session is not None
        # A queue without a request is paused as well.
        vars(app.engine)["queue"] = queue
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(app.screen, CallsScreen))
        await pilot.press("1")
        await until(pilot, lambda: "Nothing waits for a model" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "Paused, nothing new begins; p goes on" in screen_text(app))
        await pilot.press("2", "escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # F7 opens on a queue that is paused.
        vars(app.engine)["queue"] = QueueDouble(is_paused=True)
        await pilot.press("f7")
        await until(pilot, lambda: "Paused, nothing new begins" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # Keys that come before the queue is read are for its rows.
        queue = QueueDouble(gate=asyncio.Event())
        queue.listed = entries_of(app.session.id)
        vars(app.engine)["queue"] = queue
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(app.screen, CallsScreen))
        await pilot.press("1", "p", "down", "u", "escape")
        assert isinstance(app.screen, CallsScreen), "it closes behind the keys before it"
        assert queue.told == []
        assert queue.gate is not None
        queue.gate.set()
        await until(pilot, lambda: app.screen is app.chapter)
        assert queue.told == [("pause",), ("move_up", queue.listed[1].request.id)]


async def test_keys_are_forgotten_when_the_queue_cannot_be_read(desktop: Desktop) -> None:
    queue = QueueDouble(gate=asyncio.Event())
    async with at_queue(desktop) as shown:
        shown.queue.gate = queue.gate
        await shown.pilot.press("2", "1", "d")
        shown.queue.cannot_be_read = True
        assert queue.gate is not None
        queue.gate.set()
        await until(shown.pilot, lambda: "The store is away" in screen_text(shown.app))
        assert shown.queue.told == []
        await shown.pilot.press("escape")
        await until(shown.pilot, lambda: shown.app.screen is shown.app.chapter)


async def test_a_prompt_that_waits_is_edited_and_an_edit_that_comes_too_late_is_not_lost(
    desktop: Desktop,
) -> None:
    async with at_queue(desktop) as shown:
        # A prompt that waits is edited.
        await shown.pilot.press("down", "e")
        await until(shown.pilot, lambda: isinstance(shown.app.screen, PromptModal))
        dialog = shown.app.screen
        assert dialog.query_one(CappedTextArea).text == "Row!"
        await shown.pilot.press(*" Now", "tab", "tab", "enter")
        await shown.until_told("edit", shown.queue.listed[1].request.id, "Row! Now")
        await until(shown.pilot, lambda: isinstance(shown.app.screen, CallsScreen))
        await shown.pilot.press("up")
        # An edit that comes too late is refused with the reason and not lost.
        await shown.pilot.press("down", "e")
        await until(shown.pilot, lambda: isinstance(shown.app.screen, PromptModal))
        shown.queue.refuses = "It has begun [/x]."
        await shown.pilot.press("!", "tab", "tab", "enter")
        await until(shown.pilot, lambda: "It has begun [/x]." in screen_text(shown.app))
        assert shown.app.screen.query_one(CappedTextArea).text == "Row!!"
        # What is typed is in a file until then: the program may be killed.
        [file] = desktop.paths.data.glob("prompt.*")
        assert file.read_text() == "Row!!"


async def two_waiting(table: Table) -> list[Entry]:
    """Send two prompts that wait behind a reply, and return their entries."""
    await table.begin("HOLD on")
    held = [await table.session.submit_prompt(Slot.ORANGE, text) for text in ("First.", "Second.")]
    await table.until(lambda: len(table.queued) == 2)
    return [Entry(one) for one in table.snapshot.open_prompts if one.id in held]


async def test_prompts_that_wait_in_this_chapter_go_back_to_its_panels(desktop: Desktop, gate: Gate) -> None:
    async with at_window(desktop) as table:
        waiting = await two_waiting(table)
        assert isinstance(table.app, StoryEngineApp)
        await _shown(table.pilot, QueueDouble(listed=waiting))
        await table.pilot.press("t")
        await table.until(lambda: table.text(Slot.ORANGE) == "First.\n\nSecond.")
        assert table.queued == []
        assert table.app.screen is table.app.chapter
        gate.open()
        await table.until(lambda: table.played(1))


async def test_a_prompt_of_this_chapter_that_is_dropped_is_in_its_panel(desktop: Desktop, gate: Gate) -> None:
    async with at_window(desktop) as table:
        waiting = await two_waiting(table)
        shown = await _shown(table.pilot, QueueDouble(listed=waiting))
        await table.pilot.press("down", "d")
        await table.until(lambda: table.text(Slot.ORANGE) == "Second.")
        assert isinstance(table.app.screen, CallsScreen)
        assert shown.queue.told == []
        gate.open()
        await table.until(lambda: table.played(2))


async def test_the_queue_follows_what_happens_with_the_cursor_on_its_request_and_says_what_was_refused(
    desktop: Desktop,
) -> None:
    async with at_queue(desktop) as shown:
        # A refused command says why.
        shown.queue.refuses = "Another window has it [/x]."
        await shown.pilot.press("s")
        await until(shown.pilot, lambda: shown.app._notifications)
        assert [note.message for note in shown.app._notifications] == ["Another window has it [/x]."]
        shown.queue.refuses = ""
        # The queue follows what happens in the open chapter.
        assert len(shown.rows) == 4
        shown.queue.listed.pop()
        assert shown.app.session is not None
        await shown.app.session.edits.retitle("Another title")
        await until(shown.pilot, lambda: len(shown.rows) == 3)
        # The cursor stays on its request when those before it are done.
        await shown.pilot.press("down", "down")
        del shown.queue.listed[0]
        view = shown.app.screen.query_one(QueueView)
        view.post_message(QueueView.ReloadWanted())
        await until(shown.pilot, lambda: len(shown.rows) == 2)
        await shown.pilot.press("d")
        await shown.until_told("drop", RequestId(UUID(int=3)))
        # A call whose program was killed is told as interrupted and cannot be stopped.
        request = reply(5, ELSEWHERE, "Row!", state=RequestState.PROCESSING)
        shown.queue.listed = [Entry(request, waits_for="its chapter to be opened")]
        view.post_message(QueueView.ReloadWanted())
        await until(shown.pilot, lambda: shown.totals == "0 running · 1 waiting")
        assert shown.rows[0][4] == "interrupted, waits: its chapter to be opened"
        shown.queue.told.clear()
        await shown.pilot.press("s", "p")
        await shown.until_told("pause")
        assert shown.queue.told == [("pause",)]


def test_pictures_of_the_queue_and_of_one_that_is_paused(
    desktop: Desktop, pictures_match: PicturesMatch
) -> None:
    desktop.prepare_now(make_active)
    app = desktop.app()

    async def runs(pilot: Pilot[Any]) -> None:
        await _shown(pilot, QueueDouble())

    async def paused(pilot: Pilot[Any]) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await _shown(pilot, QueueDouble(is_paused=True))
        app.screen.query_one(DataTable).focus()
        await pilot.press("down")

    assert pictures_match(app, {"runs": runs, "paused": paused})
