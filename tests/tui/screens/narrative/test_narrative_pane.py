"""Tab 3, second and third cell: defined, built, streamed, cancelled, failed, retried, downloaded."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.widget import Widget

from core.domain.errors import ErrorCode
from core.domain.ids import SessionId, new_uuid
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.session.session_reader import SessionReader
from core.providers.scripted.script import Fault
from storyengine_tui.screens.narrative.definition_cell import DEFAULT_DEFINITION, typed_definition
from storyengine_tui.screens.narrative.draft_cell import LiveDraft
from storyengine_tui.screens.narrative.narrative_view import NOTHING_PLAYED, READ_ONLY, why_no_build
from tests.core.values.sessions import session as sample_session
from tests.tui.engine_app import Desktop, make_active, make_draft, screen_text, until
from tests.tui.rooms.chapter_page import (
    HELD,
    PROSE,
    SCRIPT,
    ChapterPage,
    chapter_page,
    failing,
    make_ended,
    session_page,
)
from tests.tui.rooms.one_page import Gate, took_long
from tests.tui.rooms.one_page import gate as gate

pytestmark = pytest.mark.anyio


async def make_written(engine: Engine) -> SessionId:
    return await make_ended(engine, drafts=1)


async def test_what_is_typed_is_stored_within_its_limit_and_shown_again(desktop: Desktop) -> None:
    async with chapter_page(desktop, make_draft) as page:
        assert page.definition.placeholder == DEFAULT_DEFINITION
        page.definition.focus()
        await page.pilot.press(*"Dry.")
        page.target.focus()
        await page.pilot.press(*"12x00")
        await page.until(lambda: page.session.snapshot.session.target_words == 1200)
        assert page.session.snapshot.session.definition == "Dry."
        assert page.said("definition-saved") == "stored"
        assert str(page.pane.query_one("#definition-counter").render()) == "4/5,000"
        page.definition.focus()
        page.app.post_message(events.Paste("x" * 6_000))
        await page.until(lambda: page.definition.length == 5_000)
        said = "Full: 5,000 characters fit, 1,004 were not taken"
        await page.until(lambda: said in screen_text(page.app))
        assert str(page.pane.query_one("#definition-counter").render()) == "5,000/5,000"
        session_id = page.session.id
    async with desktop.engine() as engine:
        session = await engine.open(session_id)
        assert len(session.snapshot.session.definition) == 5_000
        async with session_page(desktop, session) as page:
            assert page.definition.text.startswith("Dry.xxx")
            assert page.definition.cursor_location == (0, 0)
            assert page.target.value == "1200"
        await session.aclose()


def test_a_target_is_a_number_of_words_or_nothing() -> None:
    limits = sample_session().limits
    assert typed_definition("a", " ", limits).target_words is None
    assert typed_definition("a", "5000", limits).target_words == 5_000
    for wrong in ("0", "5001", "99999", "9" * 5_000, "٣x"):
        assert typed_definition("a", wrong, limits).problem == "A target is 1 to 5,000 words, or empty."


@pytest.mark.parametrize("state", [state for state in SessionState if state is not SessionState.ENDED])
async def test_why_nothing_can_be_built_is_said_in_every_state(desktop: Desktop, state: SessionState) -> None:
    async with desktop.engine() as engine:
        session = await engine.open(await engine.create())
        snapshot = replace(session.snapshot, session=replace(session.snapshot.session, state=state))
        assert why_no_build(snapshot, is_read_only=False)
        await session.aclose()


async def test_the_button_is_dimmed_with_a_reason_until_the_chapter_has_ended(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, lambda engine: make_active(engine, 1)) as page:
        assert page.build.disabled
        assert (
            page.said("why") == "The chapter is still being played: End Chapter on 2 Play (F3) comes first."
        )
        await page.pilot.press("f8")
        assert not page.session.snapshot.requests
        assert page.download.disabled
        await page.session.end_chapter()
        await page.until(lambda: not page.build.disabled)
        assert page.said("why") == ""
        page.target.value = "6000"
        await page.until(lambda: page.said("why") == "A target is 1 to 5,000 words, or empty.")
        await page.pilot.press("f8")
        assert page.target.has_focus
        assert page.session.snapshot.session.state is SessionState.ENDED
        page.target.value = ""


async def test_the_keys_that_build_and_download_say_why_they_do_not_while_a_chapter_is_written(
    desktop: Desktop, gate: Gate
) -> None:
    desktop.script = HELD
    async with chapter_page(desktop, make_ended) as page:
        await page.pilot.press("f8")
        await page.until(lambda: page.session.snapshot.session.state is SessionState.NARRATING)
        await page.until(lambda: page.draft.live is not None)
        await page.pilot.press("f8", "f9")
        await page.until(lambda: len(page.app._notifications) == 2)
        building, downloading = (note.message for note in page.app._notifications)
        assert building == "The chapter is being written; Esc cancels."
        assert "still being written" in downloading
        gate.open()
        await page.until(lambda: page.session.snapshot.session.state is SessionState.ENDED)


async def test_a_chapter_without_a_prompt_has_nothing_to_write(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, lambda engine: make_ended(engine, 0)) as page:
        assert page.said("why") == NOTHING_PLAYED
        assert page.build.disabled


async def test_the_picker_shows_date_words_and_model_in_80_columns(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    long = "SmolLM2-135M-Instruct-Q4_1"
    async with chapter_page(desktop, make_written, size=(80, 24)) as page:
        cell = page.draft
        [draft] = cell.drafts
        cell.show_drafts([draft, replace(draft, version=2, model=long)])
        cell.scroll_visible(animate=False)
        await page.until(
            lambda: f"Draft 2 · {draft.created_at:%d %b %H:%M} · 44 words · SmolLM2" in screen_text(page.app)
        )


async def test_the_draft_streams_in_beside_the_drafts_that_exist(
    desktop: Desktop, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionReader, "last_duration", took_long)
    desktop.script = HELD
    gate.open()
    async with chapter_page(desktop, make_written) as page:
        assert page.chapter == PROSE
        [first] = page.drafts
        assert first.startswith("Draft 1 · 02 Jan 15:")
        assert first.endswith(" · 44 words · a script")
        gate.close()
        page.definition.focus()
        await page.pilot.press("ctrl+end", *" Salt.", "f8")
        await page.until(lambda: page.chapter == "The")
        assert page.session.snapshot.session.definition.endswith("version 1. Salt.")
        assert page.drafts == ["Draft 2 · being written", first]
        assert "a script is writing the chapter · 0:0" in page.busy
        await page.until(lambda: "(1:40 last time)" in page.busy)
        assert page.said("draft-words") == "1 word of about 40"
        assert page.build.disabled
        assert page.download.disabled

        page.pane.query_one("#drafts").focus()
        await page.pilot.press("enter", "down", "enter")
        await page.until(lambda: page.chapter == PROSE, "an earlier version can be read meanwhile")
        assert not page.download.disabled
        gate.open()
        await page.until(lambda: len(page.drafts) == 2 and not page.busy)
        assert page.draft.shown == page.draft.drafts[0], "who reads another version stays there"
        assert page.said("draft-words") == "draft 1 of 2 · 44 words of about 40"


async def test_esc_cancels_and_keeps_what_was_written_before(desktop: Desktop, gate: Gate) -> None:
    desktop.script = HELD
    gate.open()
    async with chapter_page(desktop, make_written) as page:
        gate.close()
        await page.pilot.press("f8")
        await page.until(lambda: page.chapter == "The")
        await page.pilot.press("escape")
        await page.until(lambda: page.banner)
        assert page.session.snapshot.session.state is SessionState.ENDED
        assert page.banner.startswith(ErrorCode.LLM_CANCELLED.sentence)
        assert "Draft 1 is as before." in page.banner
        assert not page.busy
        assert page.drafts[0] == "Unfinished · no draft"
        assert page.shown_draft == page.drafts[0]
        assert page.drafts[1].startswith("Draft 1")
        gate.open()
        await page.pilot.click("#build-banner Button")
        await page.until(lambda: page.drafts[0].startswith("Draft 2"))
        assert page.chapter == PROSE
        assert page.banner == ""


async def test_a_version_that_is_read_stays_where_it_is_when_the_next_one_fails(
    desktop: Desktop, gate: Gate
) -> None:
    desktop.script = HELD
    gate.open()
    async with chapter_page(desktop, make_written) as page:
        gate.close()
        await page.pilot.press("f8")
        await page.until(lambda: page.chapter == "The")
        page.pane.query_one("#drafts").focus()
        await page.pilot.press("enter", "down", "enter")
        await page.until(lambda: page.chapter == PROSE and page.draft.view.position.pinned == 0)
        page.pane.build.action_cancel()
        await page.until(lambda: page.banner)
        assert page.chapter == PROSE
        assert not page.draft.view.position.is_following
        gate.open()


async def test_a_failure_is_said_on_the_page_with_retry_and_again_after_a_restart(desktop: Desktop) -> None:
    desktop.script = failing(Fault.CREDIT_EXHAUSTED, times=1)
    async with chapter_page(desktop, make_ended) as page:
        await page.pilot.press("f8")
        await page.until(lambda: page.banner.startswith(ErrorCode.LLM_CREDIT_EXHAUSTED.sentence))
        assert page.drafts == []
        assert not page.build.disabled
        session_id = page.session.id
    desktop.script = SCRIPT
    async with desktop.engine() as engine:
        session = await engine.open(session_id)
        async with session_page(desktop, session) as page:
            assert page.banner.startswith(ErrorCode.LLM_CREDIT_EXHAUSTED.sentence)
            await page.pilot.press("ctrl+r")
            await page.until(lambda: page.chapter == PROSE and not page.busy)
            assert page.banner == ""
            assert page.said("delivered") == "Draft 1 is stored."
        await session.aclose()


def is_there(path: Path) -> bool:
    return path.exists()


def test_parts_follow_each_other_with_a_blank_line() -> None:
    live = LiveDraft()
    shown = [live.begin_part(), live.add("One. "), live.begin_part(), live.add("Two.")]
    assert "".join(shown) == "One. \n\nTwo."
    assert live.text == "One. \n\nTwo."


async def test_download_names_the_path_and_never_writes_over_a_file(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    folder = desktop.paths.downloads
    folder.mkdir()
    name = "The relief boat is late"
    (folder / f"{name}.txt").write_text("something else")
    async with chapter_page(desktop, make_written) as page:
        await page.pilot.press("f9")
        path = folder / f"{name} (2).txt"
        await page.until(path.exists)
        await page.until(lambda: page.said("delivered") == f"Draft 1 is in {path}")
        assert path.read_text("utf-8") == PROSE + "\n"
        assert (folder / f"{name}.txt").read_text() == "something else"
        await page.pilot.click("#download")
        app: Any = page.app
        await page.until(lambda: app.delivered == 2)
        assert len(list(folder.iterdir())) == 2, "the same text is not written twice"
        await page.pilot.click("#copy-path")
        assert page.app.clipboard == str(path)
        page.draft.view.focus()
        await page.pilot.press("y")
        assert page.app.clipboard == PROSE


async def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_lost(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    desktop.paths.downloads.write_text("a file where the folder should be")
    async with chapter_page(desktop, make_written) as page:
        await page.pilot.press("f9")
        app: Any = page.app
        await page.until(lambda: app.errors)
        assert app.errors[0].code is ErrorCode.STORAGE_SAVE_FAILED
        assert "copy the text" in app.errors[0].hint


async def test_a_program_served_to_a_browser_downloads_the_file_there(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_written) as page:
        given: list[tuple[str, object]] = []
        monkeypatch.setattr(type(page.app), "is_web", property(lambda _: True))
        monkeypatch.setattr(
            page.app, "deliver_text", lambda file, **more: given.append((file.read(), more["save_filename"]))
        )
        await page.pilot.press("f9")
        await page.until(lambda: page.said("delivered") == "Your browser takes the file.")
        assert given == [(PROSE + "\n", "The relief boat is late.txt")]
        assert not is_there(desktop.paths.downloads)


async def test_a_second_window_reads_along_and_changes_nothing(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.engine("the writer") as writing, desktop.engine("the reader") as reading:
        session_id = await make_ended(writing)
        writer, reader = await writing.open(session_id), await reading.open(session_id)
        async with session_page(desktop, reader) as page:
            assert page.said("why") == READ_ONLY
            assert page.build.disabled
            assert page.definition.read_only
            assert page.target.disabled
            await writer.edits.define_narrative("Seen from elsewhere.", 300)
            await page.until(lambda: page.definition.text == "Seen from elsewhere.")
            assert page.target.value == "300"
            await writer.wait(await writer.build_narrative())
            await page.until(lambda: page.chapter == PROSE)
            assert not page.download.disabled
            await writer.aclose()
            assert await reader.take_over()
            await page.until(lambda: not page.build.disabled)
            assert not page.definition.read_only
        await reader.aclose()


async def test_in_the_program_the_chapter_is_written_by_keyboard_alone_at_80_by_24(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(lambda engine: make_active(engine, 1), size=(80, 24)) as (pilot, app):
        assert app.session is not None
        await app.session.end_chapter()
        await until(pilot, lambda: app.chapter.active_tab == "narrative", "the end opens tab 3")
        page = ChapterPage(pilot, app)
        await page.until(lambda: page.definition.has_focus)
        await pilot.press(*"Short.", "f8")
        await page.until(lambda: page.chapter == PROSE and not page.busy)
        await pilot.press("f9")
        await page.until(lambda: page.said("delivered").startswith("Draft 1 is in "))
        [file] = desktop.paths.downloads.iterdir()
        assert file.read_text("utf-8") == PROSE + "\n"

        reached = set()
        for _ in range(20):
            await pilot.press("tab")
            focused = app.focused
            assert focused is not None
            if page.pane not in focused.ancestors:
                continue
            reached.add(focused.id)
            # The page is scrolled with the next frame.
            await until(
                pilot,
                partial(_is_in_sight, page, focused),
                f"{focused} is out of sight",
            )
        assert {"memory-view", "memory-forms", "memory-search", "memory-copy"} <= reached
        assert {"definition", "target", "build"} <= reached
        assert {"draft-view", "drafts", "draft-copy", "copy-path", "download"} <= reached
        assert app.session.snapshot.session.next_slot is Slot.ORANGE


def _is_in_sight(page: ChapterPage, widget: Widget) -> bool:
    return page.pane.region.contains_region(widget.region)


async def test_where_a_version_of_a_chapter_is_is_not_said_below_another_chapter(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_written) as page:
        [version] = page.draft.drafts
        page.pane.build.show_delivered(replace(version, session_id=SessionId(new_uuid())), Path("a.txt"))
        assert page.said("delivered") == ""
        page.pane.build.show_delivered(version, Path("a.txt"))
        assert page.said("delivered") == "Draft 1 is in a.txt"
