"""Pictures of tab 3: empty, busy, failed, full and read-only; look at each one before it is accepted."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

import pytest
from textual.pilot import Pilot

from core.domain.ids import SessionId
from core.engine.engine import Engine
from core.engine.services.takes.memory_commands import LockMark
from core.providers.scripted.script import Fault, Script
from core.storage.session_store import WriterInfo
from storyengine_tui.screens.chapter.writer_banner import WriterBanner
from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparisonScreen
from storyengine_tui.screens.narrative.revisions.revision_modals import CorrectionModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.reading.passage_view import PassageView
from storyengine_tui.widgets.reading.transcript_lines import SourcePos
from tests.tui.conftest import PicturesMatch, settled
from tests.tui.engine_app import Desktop, make_active, make_draft, opened
from tests.tui.rooms.chapter_page import HELD, SCRIPT, ChapterPage, failing, make_ended
from tests.tui.rooms.one_page import Gate
from tests.tui.rooms.one_page import gate as gate

Act = Callable[[ChapterPage], Awaitable[None]]
Make = Callable[[Engine], Awaitable[object]]


class Shown(Protocol):
    def __call__(self, *acts: Act, make: Make = make_ended, script: Script = SCRIPT) -> bool: ...


@pytest.fixture
def shown(desktop: Desktop, pictures_match: PicturesMatch, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Compare pictures of the program's tab 3, each after an act, with the accepted ones."""
    monkeypatch.setattr("storyengine_tui.widgets.busy_line.elapsed_text", lambda _: "0:03")

    def compare(*acts: Act, make: Make = make_ended, script: Script = SCRIPT) -> bool:
        desktop.script = script
        desktop.prepare_now(make)

        async def run_before(act: Act, pilot: Pilot[Any]) -> None:
            app = await opened(pilot)
            page = ChapterPage(pilot, app)
            if act is acts[0]:
                await pilot.press("f4")
            await page.until(lambda: app.chapter.active_tab == "narrative" and page.memory.is_known)
            await act(page)
            await pilot.pause()

        return pictures_match(desktop.app(), {act.__name__: partial(run_before, act) for act in acts})

    return compare


async def make_twice_written(engine: Engine) -> None:
    await make_ended(engine, drafts=2)


async def nothing(page: ChapterPage) -> None:
    """Look at it as it opens."""


def test_picture_before_anything_is_locked(shown: Shown) -> None:
    assert shown(nothing, make=make_draft)


def test_picture_of_a_chapter_that_streams_in(shown: Shown, gate: Gate) -> None:
    async def build(page: ChapterPage) -> None:
        await page.pilot.press("f8")
        await page.until(lambda: page.chapter == "The")

    assert shown(build, script=HELD)


def test_picture_of_a_build_that_failed(shown: Shown, gate: Gate) -> None:
    async def fail(page: ChapterPage) -> None:
        await page.pilot.press("f8")
        await page.until(lambda: page.chapter == "The")
        # The page scrolls to a text that comes in, and not to one that has failed by then.
        await settled(page.pilot)
        gate.open()
        # What came in is painted a frame later, by a timer.
        await page.until(lambda: page.banner and page.chapter.endswith("“You kept the"))

    assert shown(fail, script=failing(Fault.CUT, between_tokens=1))


def test_picture_of_a_search_in_the_raw_memory(shown: Shown) -> None:
    async def search(page: ChapterPage) -> None:
        page.memory.view.focus()
        await page.pilot.press("2", "slash", *"canon", "enter")

    assert shown(search)


def test_pictures_of_a_correction_that_is_written_and_of_a_memory_with_one(shown: Shown) -> None:
    async def write(page: ChapterPage) -> None:
        page.memory.view.focus()
        await page.pilot.press("plus")
        await page.until(lambda: isinstance(page.app.screen, CorrectionModal))
        await page.pilot.press(*"Jonas holds the lamp [/x], not Mira.")
        await settled(page.pilot)

    async def correct(page: ChapterPage) -> None:
        await page.pilot.press("escape", "right", "enter")
        await page.until(lambda: page.app.screen is page.app.screen_stack[0])
        page.memory.view.focus()
        await page.session.edits.correct_canon("Jonas holds the lamp [/x], not Mira.\nIt was never lit.")
        await page.until(lambda: "never lit" in page.memory_text)
        await settled(page.pilot)

    assert shown(write, correct)


async def make_remembered(engine: Engine) -> SessionId:
    """Store a chapter with two blocks of prompts in memory, the second from an older first one."""
    session_id = await make_active(engine, 13)
    session = await engine.open(session_id)
    await session.wait(await session.submit_prompt(session.snapshot.session.next_slot, "And now?"))
    await session.wait_idle()
    block = (await session.reads.memory_blocks())[1]
    other = {**block.payload, "canon_locks": ["A seal was in the boat."]}
    await session.takes.edit_block(7, json.dumps(other))
    await session.takes.mark_lock("Canon: the log is false.", LockMark.PINNED)
    await session.takes.mark_lock("The lamp was dark for eleven minutes.", LockMark.STRUCK)
    await session.aclose()
    return session_id


def test_pictures_of_memory_with_marks_its_newest_block_and_two_revisions(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "storyengine_tui.screens.narrative.comparing.compared_revisions.shown_time",
        lambda _: "02 Jan 2026 14:32:05",
    )

    async def newest(page: ChapterPage) -> None:
        """It was made from older memory."""
        page.memory.view.focus()
        page.memory.go_to_newest()
        await settled(page.pilot)

    async def struck_and_pinned(page: ChapterPage) -> None:
        view = page.memory.view
        await page.until(lambda: view.has_focus and "pinned" in page.memory_text)
        await page.pilot.press("v")
        canon = next(n for n, one in enumerate(view.lines.paragraphs) if "(struck)" in one.text)
        view.mark_at(SourcePos(canon, 8))
        await settled(page.pilot)

    async def compared(page: ChapterPage) -> None:
        view = page.memory.view
        place = next(n for n, one in enumerate(view.lines.paragraphs) if one.text.startswith("Prompts 1"))
        view.mark_at(SourcePos(place, 0))
        await page.pilot.press("equals_sign")
        await page.until(lambda: isinstance(page.app.screen, ComparisonScreen))
        text = page.app.screen.query_one(PassageView)
        await page.until(lambda: "A seal" in text.lines.text)
        await settled(page.pilot)

    assert shown(newest, struck_and_pinned, compared, make=make_remembered)


def test_pictures_of_a_chapter_in_two_drafts_and_in_a_window_that_reads_along(
    desktop: Desktop, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storyengine_tui.screens.chapter.writer_banner.POLL_SECONDS", 3600)

    async def two_drafts(page: ChapterPage) -> None:
        """Look at it as it opens."""

    async def read_along(page: ChapterPage) -> None:
        app = page.app
        assert isinstance(app, StoryEngineApp)
        session_id = page.session.id
        await app.workspace.close()
        async with desktop.engine("shore.example, process 4711") as engine:
            other = await engine.open(session_id)
            await app.workspace.open(session_id)
            since = datetime(2026, 1, 2, 14, 32, tzinfo=UTC)
            page.session._writer.holder = WriterInfo(label="shore.example, process 4711", since=since)
            app.chapter.query_one(WriterBanner).show_writer_of(page.session)
            # What has the focus is scrolled to when the banner has its rows, not before it.
            await settled(page.pilot)
            await page.pilot.press("f4")
            await page.until(lambda: page.memory.is_known and page.draft.shown)
            await other.aclose()

    assert shown(two_drafts, read_along, make=make_twice_written)
