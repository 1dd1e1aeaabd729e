"""Tab 3: a text that streams in, one that did not come to its end, and drafts that are read late."""

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import RequestId
from core.domain.requests.request import NarrativeRequest, RequestState
from core.engine.decisions.recovery import INTERRUPTED_BUILD
from core.engine.session.session_reader import SessionReader
from storyengine_tui.screens.narrative.narrative_view import failure_banner, narrative_view
from tests.tui.engine_app import Desktop
from tests.tui.rooms.chapter_page import HELD, NarrativeApp, chapter_page, make_ended, session_page
from tests.tui.rooms.one_page import Gate
from tests.tui.rooms.one_page import gate as gate

pytestmark = pytest.mark.anyio


async def test_the_first_words_of_a_draft_are_not_joined_to_those_after_them(desktop: Desktop) -> None:
    async with chapter_page(desktop, make_ended) as page:
        page.draft.begin()
        for piece in ("\n\nThe sea rose, ", "and fell.\n\n", "It", " was late."):
            page.draft.stream(piece)
        await page.until(lambda: page.chapter == "The sea rose, and fell.\n\nIt was late.")


async def test_a_build_that_was_killed_says_that_its_part_is_not_kept_and_names_no_call(
    desktop: Desktop,
) -> None:
    async with chapter_page(desktop, make_ended) as page:
        view = narrative_view(page.session)
    at = view.session.created_at
    build = NarrativeRequest(
        id=RequestId(UUID(int=1)), session_id=view.session.id, created_at=at, updated_at=at
    )
    stopped = replace(build, state=RequestState.FAILED, error_code=ErrorCode.LLM_CANCELLED)
    killed = replace(stopped, error_message=INTERRUPTED_BUILD)
    by_kill, by_key = (failure_banner(replace(view, failed=one)) for one in (killed, stopped))
    assert by_kill is not None
    assert by_key is not None
    assert (by_kill.sentence, by_kill.hint) == (
        INTERRUPTED_BUILD,
        "Retry continues after the finished parts.",
    )
    assert "kept under Calls (F7)" in by_key.hint


async def test_drafts_that_could_not_be_read_are_read_when_the_gm_comes_to_the_tab(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = SessionReader.drafts

    async def fail(reader: SessionReader) -> Any:
        raise StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The database is away.")

    async with desktop.engine() as engine:
        session = await engine.open(await make_ended(engine, drafts=1))
        monkeypatch.setattr(SessionReader, "drafts", fail)
        async with session_page(desktop, session) as page:
            app = page.app
            assert isinstance(app, NarrativeApp)
            await page.until(lambda: len(app.errors) == 2)  # The page came to the front as well.
            # A version that is stored while they are read is not hidden by what comes late.
            gate = asyncio.Event()

            async def late(reader: SessionReader) -> Any:
                drafts = await read(reader)
                await gate.wait()
                return drafts

            monkeypatch.setattr(SessionReader, "drafts", late)
            page.pane.on_tab_shown()
            await session.wait(await session.build_narrative())
            await page.until(lambda: len(page.draft.drafts) == 1)
            gate.set()
            await page.until(lambda: all(one.group != "drafts" for one in page.app.workers))
            await page.until(lambda: len(page.drafts) == 2)
        await session.aclose()


async def test_drafts_that_are_read_while_one_is_written_take_nothing_from_what_has_come_of_it(
    desktop: Desktop, gate: Gate
) -> None:
    desktop.script = HELD
    async with chapter_page(desktop, make_ended) as page:
        page.pane.build.action_build()
        await page.until(lambda: page.chapter)
        begun = page.chapter
        await page.pane._show_drafts(page.session)
        assert page.chapter == begun
        gate.open()
        await page.until(lambda: len(page.drafts) == 1)


async def test_a_chapter_that_is_left_while_a_build_of_it_is_stored_moves_no_focus(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with chapter_page(desktop, make_ended) as page:

        async def leave(**_: object) -> None:
            page.pane.detach()

        monkeypatch.setattr(page.session, "build_narrative", leave)
        page.target.focus()
        await page.pilot.pause()
        await page.pane.build.build(page.session, None)
        await page.pilot.pause()
        assert page.target.has_focus
