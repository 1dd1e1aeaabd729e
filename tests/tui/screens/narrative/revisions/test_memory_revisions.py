"""Tab 3: memory is rebuilt, edited and compared, and canon is pinned and struck (design 12)."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.widgets import DataTable, Static

from core.domain.ids import SessionId
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command
from core.engine.changes.canon import stale_blocks
from core.engine.engine import Engine
from core.engine.services.takes.memory_commands import LockMark
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparisonScreen
from storyengine_tui.screens.narrative.revisions.memory_revisions import (
    CHOOSE_LOCK,
    NO_BLOCK,
    NOT_A_BLOCK,
    NOT_READABLE,
    READ_ONLY,
)
from storyengine_tui.screens.narrative.revisions.revision_modals import BlockModal, RebuildModal
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.reading.memory_outline import (
    MemoryForm,
)
from storyengine_tui.widgets.reading.passage_view import PassageView
from storyengine_tui.widgets.reading.transcript_lines import SourcePos
from tests.tui.engine_app import Desktop, make_active
from tests.tui.rooms.chapter_page import (
    DELTA,
    MEMORY,
    REPLIES,
    ChapterPage,
    chapter_page,
    make_ended,
    session_page,
)
from tests.tui.rooms.one_page import Gate
from tests.tui.rooms.one_page import gate as gate

pytestmark = pytest.mark.anyio
LOCK = "The lamp was dark for eleven minutes."
OTHER = {**DELTA, "canon_locks": ["A seal was in the boat."]}
AGAIN = ScriptMatch.model_validate({"schema": "turn_delta", "model": "other"})
TWO_MODELS = Script(reply=(Entry(match=AGAIN, payload=OTHER), *MEMORY, REPLIES))
"""The model `other` remembers something else."""


class Revising:
    """The memory of tab 3, as a GM with a keyboard uses it."""

    def __init__(self, page: ChapterPage) -> None:
        self.page = page

    @property
    def view(self) -> PassageView:
        return self.page.memory.view

    def place(self, text: str) -> SourcePos:
        for number, paragraph in enumerate(self.view.lines.paragraphs):
            if (offset := paragraph.text.find(text)) >= 0:
                return SourcePos(number, offset)
        raise AssertionError(f"{text!r} is not in memory:\n{self.page.memory_text}")

    async def press_at(self, text: str, key: str) -> None:
        """Move the cursor to a text, and press a key."""
        self.view.focus()
        await self.page.until(lambda: self.view.has_focus)
        await self.page.pilot.press("v")
        self.view.mark_at(self.place(text))
        await self.page.pilot.press(key)

    async def dialog(self, kind: type[Any]) -> Any:
        await self.page.until(lambda: isinstance(self.page.app.screen, kind) and self.page.app.screen.focused)
        return self.page.app.screen

    async def rebuild(self, title: str, model: str = "") -> None:
        """Rebuild the block of this title, and wait until it is stored and shown."""
        blocks = {block.id for block in self.page.memory.blocks}
        await self.press_at(title, "r")
        await self.dialog(RebuildModal)
        await self.page.pilot.press(*model, "enter")
        await self.page.until(lambda: {block.id for block in self.page.memory.blocks} - blocks)
        await self.page.until(lambda: self.page.session.snapshot.session.state is SessionState.ACTIVE)

    def said(self, sentence: str) -> bool:
        return any(sentence in str(note.message) for note in self.page.app._notifications)


async def make_remembered(engine: Engine, prompts: int) -> SessionId:
    """Store a chapter that was played, with every summary that was due."""
    session_id = await make_active(engine, prompts - 1)
    session = await engine.open(session_id)
    await session.wait(await session.submit_prompt(session.snapshot.session.next_slot, "And now?"))
    await session.wait_idle()
    await session.aclose()
    return session_id


async def make_fourteen(engine: Engine) -> SessionId:
    """Store a chapter with two blocks of prompts in memory."""
    return await make_remembered(engine, 14)


async def make_one(engine: Engine) -> SessionId:
    return await make_active(engine, 1)


@asynccontextmanager
async def at_memory(
    desktop: Desktop,
    script: Script = TWO_MODELS,
    prepare: Callable[[Engine], Awaitable[SessionId]] = make_fourteen,
) -> AsyncIterator[tuple[ChapterPage, Revising]]:
    desktop.script = script
    async with chapter_page(desktop, prepare) as page:
        yield page, Revising(page)


async def test_a_block_is_rebuilt_by_any_model_and_later_blocks_say_that_they_are_from_older_memory(
    desktop: Desktop,
) -> None:
    async with at_memory(desktop) as (page, revising):
        # An empty line leaves the rebuilding to the model that summarises.
        await revising.rebuild("Prompts 8–14")
        [past] = await page.session.takes.revisions()
        now = (await page.session.reads.memory_blocks())[-1]
        assert (past.payload, now.payload["canon_locks"]) == (now.payload, DELTA["canon_locks"])
        # A block is rebuilt by a model and later blocks say that they are from older memory.
        assert "older memory" not in page.memory_text
        await revising.rebuild("Prompts 1–7", "other")
        await page.until(lambda: "A seal was in the boat." in page.memory_text)
        assert "Prompts 8–14 · made from older memory" in page.memory_text
        assert "Prompts 1–7 ·" not in page.memory_text
        assert page.memory.chosen is not None
        assert page.memory.chosen.last == 7, "what was in view stays in view"


async def test_older_memory_is_rebuilt_in_order_until_no_block_is_from_older_memory(desktop: Desktop) -> None:
    async def make_three(engine: Engine) -> SessionId:
        return await make_remembered(engine, 21)

    async with at_memory(desktop, prepare=make_three) as (page, revising):
        assert not page.cell.check_action("revise", ("rebuild_later",))
        await revising.rebuild("Prompts 1–7", "other")
        await page.until(lambda: page.memory_text.count("made from older memory") == 2)
        await revising.press_at("Prompts 1–7", "R")
        dialog = await revising.dialog(RebuildModal)
        assert dialog.heading == "Rebuild 2 blocks made from older memory, in order"
        await page.pilot.press("enter")
        await page.until(lambda: "older memory" not in page.memory_text)
        blocks = await page.session.reads.memory_blocks()
        assert stale_blocks(blocks) == frozenset()
        assert [block.made_from for block in blocks[1:]] == [block.id for block in blocks[:-1]]


async def test_a_rebuild_that_fails_or_is_stopped_leaves_memory_as_it_was(
    desktop: Desktop, gate: Gate
) -> None:
    bad = Entry(match=AGAIN, fault=Fault.CUT, payload=OTHER, times=1)
    slow = Entry(match=AGAIN, payload=OTHER, between_tokens=1)
    async with at_memory(desktop, Script(reply=(bad, slow, *MEMORY, REPLIES))) as (page, revising):
        # A rebuild that fails says why.
        before = await page.session.reads.memory_blocks()
        await revising.press_at("Prompts 1–7", "r")
        await revising.dialog(RebuildModal)
        await page.pilot.press(*"other", "enter")
        await page.until(lambda: revising.said("Not rebuilt; the revision before counts as it did."))
        assert await page.session.reads.memory_blocks() == before
        assert "older memory" not in page.memory_text
        page.app.clear_notifications()
        # A rebuild shows that it runs, and Esc stops it.
        before = await page.session.reads.memory_blocks()
        await revising.press_at("Prompts 1–7", "r")
        await revising.dialog(RebuildModal)
        await page.pilot.press(*"other", "enter")
        await page.until(lambda: "rebuilding prompts 1–7 …" in page.said("memory-count"))
        await page.until(lambda: page.pane.check_action("cancel", ()))
        await page.pilot.press("escape", "escape")
        await page.until(lambda: revising.said("Not rebuilt; the revision before counts as it did."))
        await page.until(lambda: "rebuilding" not in page.said("memory-count"))
        assert await page.session.reads.memory_blocks() == before


async def test_a_block_is_edited_or_left_and_lines_of_canon_are_pinned_and_struck_by_keys(
    desktop: Desktop,
) -> None:
    async with at_memory(desktop) as (page, revising):
        # The keys act only with a cursor, so that typed text is not lost.
        revising.view.focus()
        await page.until(lambda: revising.view.has_focus)
        for key in ("r", "R", "w", "p", "x", "="):
            assert key not in page.app.screen.active_bindings
        await page.pilot.press("v")
        await page.until(lambda: "r" in page.app.screen.active_bindings)
        assert "R" not in page.app.screen.active_bindings, "no block is from older memory"
        # What was changed of a block is discarded only after a question.
        await revising.press_at("Prompts 8–14", "w")
        await revising.dialog(BlockModal)
        await page.pilot.press("escape")
        await page.until(lambda: len(page.app.screen_stack) == 1)
        await revising.press_at("Prompts 8–14", "w")
        dialog = await revising.dialog(BlockModal)
        await page.pilot.press("x", "escape")
        await revising.dialog(ConfirmModal)
        await page.pilot.click("#cancel")
        await page.until(lambda: page.app.screen is dialog)
        assert dialog.query_one(CappedTextArea).text.startswith("x{")
        [file] = desktop.paths.data.glob("block.*")
        assert file.read_text().startswith("x{"), "it is there again after the program was killed"
        await page.pilot.press("escape")
        await revising.dialog(ConfirmModal)
        await page.pilot.click("#confirm")
        await page.until(lambda: len(page.app.screen_stack) == 1)
        assert await page.session.takes.revisions() == []
        assert not file.exists()
        # A line of canon is pinned, struck and released and says so.
        await revising.press_at(LOCK, "p")
        await page.until(lambda: f"• {LOCK} (pinned)" in page.memory_text)
        assert page.session.snapshot.session.pinned == (LOCK,)
        assert "false. (" not in page.memory_text, "the next line is another one"
        await page.pilot.press("x")
        await page.until(lambda: f"• {LOCK} (struck)" in page.memory_text)
        assert page.session.snapshot.session.struck == (LOCK,), "and it is pinned no longer"
        await page.pilot.press("x")
        await page.until(lambda: f"• {LOCK} (" not in page.memory_text)
        assert not list(page.session.snapshot.session.struck)
        # The GM edits a block and a refusal loses nothing of the text.
        await revising.press_at("Prompts 8–14", "w")
        dialog = await revising.dialog(BlockModal)
        area = dialog.query_one(CappedTextArea)
        stored = json.loads(area.text)
        assert stored["canon_locks"] == DELTA["canon_locks"]
        assert dialog.query_one("#add").disabled, "nothing is changed yet"
        area.load_text("")
        await page.pilot.press(*'{"x')
        dialog.query_one("#add").press()
        refused = dialog.query_one("#refused", Static)
        await page.until(lambda: refused.display)
        assert "Not saved. That is not valid memory" in str(refused.content)
        assert (area.text, area.has_focus) == ('{"x', True)
        area.load_text(json.dumps({**stored, "canon_locks": ["The gate is [/x] shut."]}))
        dialog.query_one("#add").press()
        await page.until(lambda: "• The gate is [/x] shut." in page.memory_text)
        assert "Prompts 8–14 · edited by the GM" in page.memory_text
        # Pinning beside the canon puts the cursor on a line of it.
        await revising.press_at("Prompts 8–14", "p")
        await page.until(lambda: revising.said(CHOOSE_LOCK))
        assert page.memory.marked_lock is not None
        assert not list(page.session.snapshot.session.pinned)
        await page.pilot.press("p")
        await page.until(lambda: page.session.snapshot.session.pinned)
        page.cell.action_show("json")
        await page.until(lambda: page.memory.form is MemoryForm.JSON)
        await revising.press_at("memory_type", "p")
        await page.until(lambda: revising.said(NOT_READABLE))


async def test_keys_still_act_on_a_block_after_the_line_at_the_cursor_was_edited(desktop: Desktop) -> None:
    async with at_memory(desktop) as (page, revising):
        await revising.press_at(LOCK, "w")
        dialog = await revising.dialog(BlockModal)
        area = dialog.query_one(CappedTextArea)
        area.load_text(json.dumps({**json.loads(area.text), "canon_locks": ["Another line."]}))
        await page.pilot.press("space")
        dialog.query_one("#add").press()
        await page.until(lambda: "• Another line." in page.memory_text)
        await page.until(lambda: "w" in page.app.screen.active_bindings)
        await page.pilot.press("equals_sign")
        await revising.dialog(ComparisonScreen)
        block = page.memory.chosen
        assert block is not None
        assert block.last == 7, "the other block has the same line"


async def test_a_pinned_line_survives_the_block_that_had_it(desktop: Desktop) -> None:
    async with at_memory(desktop) as (page, revising):
        await page.session.takes.mark_lock("Canon: the log is false.", LockMark.PINNED)
        await revising.rebuild("Prompts 1–7", "other")
        await page.until(lambda: "• Canon: the log is false. (pinned)" in page.memory_text)
        await revising.rebuild("Prompts 8–14", "other")
        await page.until(lambda: page.memory_text.count("A seal was in the boat.") == 2)
        [paragraph] = [one.text for one in revising.view.lines.paragraphs if "the log is false" in one.text]
        assert paragraph.endswith("• Canon: the log is false. (pinned)"), "below the canon of the first block"
        await revising.press_at("Canon: the log is false.", "p")
        await page.until(lambda: "the log is false" not in page.memory_text)


async def test_two_revisions_are_compared_line_by_line(desktop: Desktop) -> None:
    async with at_memory(desktop) as (page, revising):
        await revising.press_at("Prompts 1–7", "equals_sign")
        await page.until(lambda: revising.said("There is one revision of prompts 1–7 so far"))
        await revising.rebuild("Prompts 1–7", "other")
        block = (await page.session.reads.memory_blocks())[1]
        edited = json.dumps({**block.payload, "canon_locks": ["By hand."]})
        await page.session.takes.edit_block(7, edited)
        await page.until(lambda: "By hand." in page.memory_text)
        await revising.press_at("Prompts 1–7", "equals_sign")
        screen = await revising.dialog(ComparisonScreen)
        view = screen.query_one("#comparison", PassageView)
        await page.until(lambda: '+     "By hand."' in view.lines.text)
        assert '-     "A seal was in the boat."' in view.lines.text
        table = screen.query_one(DataTable)
        rows = [[str(cell).strip() for cell in table.get_row_at(number)] for number in range(3)]
        assert [(side, by, counts) for side, _, _, by, counts in rows] == [
            ("", "a model", ""),
            ("-", "a model", ""),
            ("+", "the GM", "counts now"),
        ]
        await page.pilot.press("up", "up", "minus")
        await page.until(
            lambda: f'-     "{LOCK}"' in view.lines.text and '+     "By hand."' in view.lines.text
        )
        await page.pilot.press("down", "plus")
        await page.until(lambda: '+     "A seal was in the boat."' in view.lines.text)
        await page.pilot.press("y")
        assert page.app.clipboard == view.lines.text
        await page.pilot.press("escape")
        await page.until(lambda: page.app.screen is not screen)


async def test_a_refused_command_says_its_sentence(desktop: Desktop) -> None:
    async with at_memory(desktop) as (page, revising):
        await revising.press_at("World and chapter", "r")
        await page.until(lambda: revising.said(NOT_A_BLOCK))
        await page.session.end_chapter()
        await page.session.wait_idle()
        await page.until(lambda: page.session.snapshot.session.state is SessionState.ENDED)
        for key in ("r", "w"):
            page.app.clear_notifications()
            await revising.press_at("Prompts 1–7", key)
            await page.until(
                lambda: revising.said(page.session.why_not(Command.REBUILD_BLOCK)), "it stays as it is"
            )
    async with at_memory(desktop, prepare=make_one) as (page, revising):
        await revising.press_at("World and chapter", "v")
        await page.pilot.press("escape")
        page.pane.action_revise("rebuild")
        await page.until(lambda: revising.said(NO_BLOCK))


async def test_a_window_that_reads_along_compares_and_changes_nothing(desktop: Desktop) -> None:
    desktop.script = TWO_MODELS
    async with desktop.engine("one") as first, desktop.engine("two") as second:
        session_id = await make_fourteen(first)
        writer, reader = await first.open(session_id), await second.open(session_id)
        await writer.wait(await writer.takes.rebuild_block(7, model="other"))
        async with session_page(desktop, reader) as page:
            revising = Revising(page)
            await page.until(lambda: "made from older memory" in page.memory_text)
            await revising.press_at("Prompts 1–7", "r")
            await page.until(lambda: revising.said(READ_ONLY))
            await page.pilot.press("equals_sign")
            await revising.dialog(ComparisonScreen)
        await reader.aclose()
        await writer.aclose()


async def test_the_palette_offers_what_is_possible_and_begins_it_from_another_tab(desktop: Desktop) -> None:
    desktop.script = TWO_MODELS
    async with desktop.window(make_fourteen) as (pilot, app):
        page = ChapterPage(pilot, app)

        def offered() -> dict[str, Callable[[], object]]:
            return {command.title: command.callback for command in commands_of(app, app.action_leave)}

        await pilot.press("f4")
        await page.until(lambda: len(page.memory.blocks) == 3)
        await pilot.press("f3")
        assert {"Rebuild memory", "Edit memory", "Pin canon", "Strike canon"} <= set(offered())
        assert not {"Compare memory", "Rebuild older memory"} & set(offered()), "they show when they are used"
        offered()["Rebuild memory"]()
        await page.until(lambda: isinstance(app.screen, RebuildModal))
        await pilot.press(*"other", "enter")
        await page.until(lambda: "A seal was in the boat." in page.memory_text)
        assert "Compare memory" in offered()


async def test_an_ended_chapter_dims_the_keys_that_it_refuses_and_says_why(desktop: Desktop) -> None:
    async with at_memory(desktop, prepare=make_ended) as (page, revising):
        await revising.press_at("Prompts 1–2", "r")
        why = page.session.why_not(Command.REBUILD_BLOCK)
        assert why
        await page.until(lambda: revising.said(why))
        assert not isinstance(page.app.screen, RebuildModal)
        enabled = {key: one.enabled for key, one in page.app.screen.active_bindings.items()}
        assert [enabled[key] for key in ("r", "w", "equals_sign")] == [False, False, True]
