"""Tab 3: a correction of canon is written in a dialog and stored, and its text is not lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets import Button, Static

from core.domain.errors import ErrorCode, SessionLockedError, StorageError, StoryEngineError
from core.domain.session.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.domain.session.state_machine import Command
from core.engine.session.session_edits import SessionEdits
from storyengine_tui.screens.narrative.revisions.revision_modals import EFFECT, CorrectionModal
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.system.help_screen import keys_of
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.stored_text_modal import BEGUN
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter
from tests.tui.engine_app import Desktop, filled, make_active, make_draft, opened
from tests.tui.rooms.chapter_page import HELD, SCRIPT, ChapterPage, chapter_page, make_ended, session_page
from tests.tui.rooms.one_page import Gate
from tests.tui.rooms.one_page import gate as gate

pytestmark = pytest.mark.anyio
SAID = "Jonas holds the lamp, not Mira."


class Correcting:
    """The dialog as its user sees it."""

    def __init__(self, page: ChapterPage) -> None:
        self.page = page

    @property
    def is_open(self) -> bool:
        return any(isinstance(screen, CorrectionModal) for screen in self.page.app.screen_stack)

    @property
    def area(self) -> CappedTextArea:
        return self.page.app.screen.query_one(CappedTextArea)

    @property
    def add(self) -> Button:
        return self.page.app.screen.query_one("#add", Button)

    @property
    def refused(self) -> str:
        line = self.page.app.screen.query_one("#refused", Static)
        return str(line.content) if line.display else ""

    async def begin(self) -> None:
        """Open it by its key in the memory."""
        self.page.memory.view.focus()
        await self.page.pilot.press("plus")
        await self.page.until(
            lambda: isinstance(self.page.app.screen, CorrectionModal) and self.area.has_focus
        )

    async def write(self, text: str) -> None:
        self.page.app.post_message(Paste(text))
        await self.page.until(lambda: self.area.text)

    async def answer_question(self, button: str) -> None:
        """Answer what is asked before a text is discarded."""
        await self.page.until(lambda: isinstance(self.page.app.screen, ConfirmModal))
        assert self.page.app.focused is self.page.app.screen.query_one("#cancel")
        await self.page.pilot.click(f"#{button}")
        await self.page.until(lambda: not isinstance(self.page.app.screen, ConfirmModal))


@asynccontextmanager
async def active_page(desktop: Desktop) -> AsyncIterator[tuple[ChapterPage, Correcting]]:
    """Open tab 3 of a chapter that is played, in the memory."""
    desktop.script = SCRIPT
    async with chapter_page(desktop, lambda engine: make_active(engine, 2)) as page:
        yield page, Correcting(page)


async def test_a_correction_is_discarded_after_a_question_or_stored_once_as_the_newest_block(
    desktop: Desktop,
) -> None:
    async with active_page(desktop) as (page, dialog):
        # Escape asks before a written text is discarded and an empty dialog just closes.
        await dialog.begin()
        await page.pilot.press("escape")
        await page.until(lambda: not dialog.is_open)
        await dialog.begin()
        await dialog.write(SAID)
        await page.pilot.press("escape")
        await dialog.answer_question("cancel")
        assert dialog.area.text == SAID
        await page.pilot.press("escape", "escape")
        assert dialog.area.text == SAID, "two Escapes are not a yes"
        await page.pilot.click("#cancel")
        await dialog.answer_question("confirm")
        await page.until(lambda: not dialog.is_open)
        assert len(await page.session.reads.memory_blocks()) == 1
        # A correction is written, stored and shown as the newest block.
        await dialog.begin()
        assert EFFECT in "".join(str(line.content) for line in page.app.screen.query(Static))
        assert dialog.add.disabled, "there is nothing to add yet"
        await page.pilot.press(*"Jonas", "enter", *"did it")
        assert str(page.app.screen.query_one(CharCounter).content) == "12/2,000"
        await page.pilot.press("tab", "tab", "enter")
        await page.until(lambda: not dialog.is_open and "Jonas\ndid it" in page.memory_text)
        assert "Correction by the GM, after prompt 2" in page.memory_text
        assert page.memory.view.has_focus
        assert str(page.cell.query_one("#memory-count", Static).content) == "2 blocks"
        top = page.memory.view.lines.paragraphs[page.memory.view.position.pinned or 0].text
        assert top.startswith("Correction by the GM"), "it is in sight"
        [*_, block] = await page.session.reads.memory_blocks()
        assert block.payload["correction"] == "Jonas\ndid it"
        # Two presses of add store one correction.
        await dialog.begin()
        await dialog.write(SAID)
        dialog.add.press()
        dialog.add.press()
        await page.until(lambda: not dialog.is_open and SAID in page.memory_text)
        assert len(await page.session.reads.memory_blocks()) == 3


async def test_what_was_typed_stays_when_it_cannot_be_stored_and_can_be_added_again(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = SessionEdits.correct_canon
    full = StorageError(ErrorCode.STORAGE_SAVE_FAILED, "No space is left on the disk.")
    errors: tuple[StoryEngineError, ...] = (full, SessionLockedError())
    failures = [*reversed(errors)]

    async def fail_once(edits: SessionEdits, text: str) -> None:
        if failures:
            raise failures.pop()
        await whole(edits, text)

    monkeypatch.setattr(SessionEdits, "correct_canon", fail_once)
    async with active_page(desktop) as (page, dialog):
        await dialog.begin()
        await dialog.write(SAID)
        for error in errors:
            dialog.add.press()
            await page.until(lambda: dialog.refused == f"Not saved. {error}")  # noqa: B023 - awaited here
            assert (dialog.area.text, dialog.area.has_focus, dialog.add.disabled) == (SAID, True, False)
        dialog.add.press()  # No click: the sentence has moved the button, and it may not be laid out yet.
        await page.until(lambda: not dialog.is_open and SAID in page.memory_text)


async def test_a_text_stops_at_the_bound_of_one_and_at_what_is_left_for_all(desktop: Desktop) -> None:
    async with active_page(desktop) as (page, dialog):
        await dialog.begin()
        await dialog.write("x" * (LONGEST_CORRECTION + 1))
        assert len(dialog.area.text) == LONGEST_CORRECTION
        await page.until(lambda: "1 was not taken" in dialog.area.full_sentence)
        await page.pilot.press("tab", "tab", "enter")
        await page.until(lambda: not dialog.is_open)
        for _ in range(LONGEST_CORRECTIONS // LONGEST_CORRECTION - 2):
            await page.session.edits.correct_canon("x" * LONGEST_CORRECTION)
        await page.session.edits.correct_canon("x" * (LONGEST_CORRECTION - 5))
        await page.until(lambda: len(page.memory.blocks) == 5)
        await dialog.begin()
        assert str(page.app.screen.query_one(CharCounter).content) == "0/5"
        await dialog.write("Five!!")
        await page.pilot.press("tab", "tab", "enter")
        await page.until(lambda: len(page.memory.blocks) == 6)
        page.memory.view.focus()
        await page.pilot.press("plus")
        await page.pilot.pause()
        assert not dialog.is_open
        assert any("8,000 characters together" in str(note.message) for note in page.app._notifications)


async def test_the_key_is_offered_only_where_canon_can_be_corrected(desktop: Desktop, gate: Gate) -> None:
    desktop.script = HELD
    async with chapter_page(desktop, make_draft) as page:
        assert not page.cell.check_action("correct", ())
        assert page.pane.check_action("correct", ()) is False
        await page.pilot.press("plus")
        assert not Correcting(page).is_open
    async with chapter_page(desktop, make_ended) as page:
        page.memory.view.focus()
        await page.pilot.pause()
        assert ("+", "Correct") in keys_of(page.app.screen), "in the help"
        await page.pilot.press("f8")
        await page.until(lambda: not page.session.can(Command.CORRECT_CANON))
        await page.until(lambda: not page.cell.check_action("correct", ()))
        gate.open()
        await page.session.wait_idle()
        await page.until(lambda: page.cell.check_action("correct", ()))


async def test_a_window_that_reads_along_is_not_offered_it_and_sees_what_the_other_one_adds(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with desktop.engine("one") as first, desktop.engine("two") as second:
        session_id = await make_active(first)
        writer, reader = await first.open(session_id), await second.open(session_id)
        async with session_page(desktop, reader) as page:
            page.memory.view.focus()
            assert not page.cell.check_action("correct", ())
            await page.pilot.press("plus")
            assert not Correcting(page).is_open
            await writer.edits.correct_canon(SAID)
            await page.until(lambda: SAID in page.memory_text)
        await reader.aclose()
        await writer.aclose()


async def test_the_palette_corrects_memory_from_another_tab(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_active) as (pilot, app):
        page = ChapterPage(pilot, app)
        await pilot.press("f3")
        await filled(pilot, "narrative")
        [command] = [one for one in commands_of(app, app.action_leave) if one.title == "Correct memory"]
        command.callback()
        await page.until(lambda: isinstance(app.screen, CorrectionModal))
        dialog = Correcting(page)
        await dialog.write(SAID)
        await pilot.press("tab", "tab", "enter")
        await page.until(lambda: not dialog.is_open and SAID in page.memory_text)
        assert app.chapter.active_tab == "narrative"


async def test_a_text_that_was_not_added_is_there_again_after_the_program_was_ended(desktop: Desktop) -> None:
    async with active_page(desktop) as (page, dialog):
        await dialog.begin()
        await dialog.write(SAID)
        session_id = page.session.id
    file = KeptText.of("correction", session_id, desktop.paths.data).file
    assert file.read_text() == SAID
    assert file.stat().st_mode & 0o777 == 0o600
    async with desktop.engine("another window") as engine:
        session = await engine.open(session_id)
        async with session_page(desktop, session) as page:
            dialog = Correcting(page)
            await dialog.begin()
            assert dialog.area.text == SAID
            assert BEGUN in "".join(str(line.content) for line in page.app.screen.query(Static))
            await page.pilot.press(*" Really", "tab", "tab", "enter")
            await page.until(lambda: not dialog.is_open and f"{SAID} Really" in page.memory_text)
            assert not file.exists()
            await dialog.begin()
            assert dialog.area.text == ""
            await dialog.write("Not this")
            assert file.exists()
            await page.pilot.press("escape")
            await dialog.answer_question("confirm")
            assert not file.exists()
        await session.aclose()


async def test_a_text_that_no_longer_fits_is_shown_whole_and_refused_with_a_reason(
    desktop: Desktop,
) -> None:
    async with active_page(desktop) as (page, dialog):
        KeptText.of("correction", page.session.id, desktop.paths.data).keep("x" * (LONGEST_CORRECTION + 1))
        await dialog.begin()
        assert dialog.area.length == LONGEST_CORRECTION + 1
        await page.pilot.click("#add")
        await page.until(lambda: dialog.refused)
        assert "Not saved" in dialog.refused
        assert dialog.area.length == LONGEST_CORRECTION + 1


async def test_a_purged_chapter_leaves_no_text_behind(desktop: Desktop) -> None:
    async with desktop.engine() as engine:
        session_id = await make_draft(engine)
    kept = KeptText.of("correction", session_id, desktop.paths.data)
    kept.keep(SAID)
    app = desktop.app()
    async with app.run_test() as pilot:
        await opened(pilot)
        await app.workspace.open_new()
        await app.workspace.require_engine().archive(session_id)
        await app.workspace.purge(session_id)
        assert not kept.file.exists()
        await app.close_everything()


async def test_nothing_can_be_typed_that_the_closing_dialog_would_lose(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_store, store = asyncio.Event(), SessionEdits.correct_canon

    async def slow(edits: SessionEdits, *args: Any, **options: Any) -> None:
        await may_store.wait()
        await store(edits, *args, **options)

    monkeypatch.setattr(SessionEdits, "correct_canon", slow)
    async with active_page(desktop) as (page, dialog):
        await dialog.begin()
        await dialog.write(SAID)
        await page.pilot.click("#add")
        dialog.area.focus()
        await page.pilot.press(*" More.")
        assert dialog.area.text == SAID, "it would be lost"
        may_store.set()
        await page.until(lambda: not dialog.is_open)
        assert SAID in page.memory_text
