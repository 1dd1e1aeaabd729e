"""Tab 3 as one character sees it: memory, the chapter that is written, and corrections for some alone."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from core.domain.audience import EVERYONE, Audience
from core.domain.ids import SessionId
from core.domain.requests.request import NarrativeRequest, Request
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.domain.story.memory import BlockType
from core.engine.engine import Engine
from core.engine.services.takes.memory_commands import LockMark
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.screens.narrative.revisions.revision_modals import NOBODY_GETS_IT, CorrectionModal
from storyengine_tui.screens.narrative.viewpoints import ViewpointModal
from storyengine_tui.shell.palette_commands import TAB_ACTIONS
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from storyengine_tui.widgets.reading.memory_outline import MemoryForm, MemoryMarks, all_text, passages_of
from tests.core.values.sessions import delta_block, delta_payload
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, until
from tests.tui.rooms.chapter_page import (
    NARRATIVE,
    PROSE,
    SCRIPT,
    ChapterPage,
    chapter_page,
    make_ended,
    session_page,
)
from tests.tui.rooms.one_page import gate as gate

pytestmark = pytest.mark.anyio

MIRA = Audience.of((Slot.RED,))
WHISPER = "The key is in the clock."
KNOWN_TO_MIRA = {**delta_payload(), "canon_locks": ["Mira has the key."]}
PRIVATE = Entry(match=ScriptMatch(schema="turn_delta", anywhere=WHISPER), payload=KNOWN_TO_MIRA)
WHISPERED = Script(reply=(PRIVATE, *SCRIPT.reply))
MARK = "⟨Mira⟩ "


async def make_whispered(engine: Engine) -> SessionId:
    """Store a chapter that has ended, in which something was said to Mira alone."""
    session_id = await make_active(engine, 1)
    session = await engine.open(session_id)
    await session.wait(await session.submit_prompt(Slot.RED, WHISPER, heard_by=MIRA))
    await session.end_chapter()
    await session.wait_idle()
    assert [block.audience for block in await session.reads.memory_blocks()][1:] == [EVERYONE, MIRA]
    await session.aclose()
    return session_id


@asynccontextmanager
async def whispered_page(desktop: Desktop) -> AsyncIterator[ChapterPage]:
    desktop.script = WHISPERED
    async with chapter_page(desktop, make_whispered) as page:
        yield page


def title(page: ChapterPage) -> str:
    return page.said("memory-title")


async def test_one_key_goes_through_what_each_character_may_know_of_memory_and_back_to_all_of_it(
    desktop: Desktop,
) -> None:
    async with whispered_page(desktop) as page:
        # One key goes from character to character and back to all of memory.
        page.memory.view.focus()
        await page.pilot.press("f12")
        await page.until(lambda: title(page) == "Structured memory, as 1 Mira sees it")
        assert "Mira has the key." in page.memory_text
        assert "⟨" not in page.memory_text
        await page.pilot.press("f12")
        await page.until(lambda: title(page) == "Structured memory, as 2 Jonas [/x] sees it")
        assert "key" not in page.memory_text
        assert page.memory_text.count("Prompts 1–2") == 1
        await page.pilot.press("f12", "f12")
        await page.until(lambda: title(page) == "Structured memory")
        assert MARK in page.memory_text
        await page.pilot.press("f12", "f12", "escape")
        await page.until(lambda: title(page) == "Structured memory")
        # The GM reads all of memory and who knows what not everyone does.
        assert title(page) == "Structured memory"
        titles = [line for line in page.memory_text.split("\n") if "Prompts 1" in line]
        assert titles == ["Prompts 1–2", f"{MARK}Prompts 1–2"]
        page.memory.view.focus()
        await page.pilot.press("2")
        await page.until(lambda: '"canon_locks"' in page.memory_text)
        assert page.memory_text.count("⟨Mira⟩") == 1
        # Escape chooses no viewpoint and builds nothing.
        page.pane.action_build_as()
        await page.until(lambda: isinstance(page.app.screen, ViewpointModal))
        await page.pilot.press("escape")
        await page.until(lambda: not isinstance(page.app.screen, ViewpointModal))
        assert page.session.snapshot.session.state.value == "ENDED"
        assert not page.draft.drafts
        page.memory.view.focus()
        await page.pilot.press("1")
        # New memory is shown only to who may know it.
        page.pane.memory.view_as(Slot.ORANGE)
        await page.session.edits.correct_canon("Only Mira: the clock is wrong.", audience=MIRA)
        await page.session.edits.correct_canon("All: it is noon.")
        await page.until(lambda: "All: it is noon." in page.memory_text)
        assert "the clock is wrong" not in page.memory_text
        page.pane.memory.view_as(None)
        assert f"{MARK}Correction by the GM" in page.memory_text
        assert page.memory_text.count("All: it is noon.") == 1


async def make_played(engine: Engine) -> SessionId:
    """Store a chapter that is played, with a chunk in which something was said to Mira alone."""
    session_id = await make_active(engine, 6)
    session = await engine.open(session_id)
    await session.wait(await session.submit_prompt(Slot.RED, WHISPER, heard_by=MIRA))
    await session.wait_idle()
    await session.aclose()
    return session_id


async def test_as_one_character_memory_is_read_without_what_another_may_know_and_not_changed(
    desktop: Desktop,
) -> None:
    desktop.script = WHISPERED
    async with chapter_page(desktop, make_played) as page:
        # A pin that only one character may know is not shown as another sees it.
        takes = page.session.takes
        await takes.mark_lock("Mira has the key.", LockMark.PINNED)
        await takes.edit_block(7, json.dumps(KNOWN_TO_MIRA | {"canon_locks": []}), ordinal=1)
        await page.until(lambda: "Mira has the key. (pinned)" in page.memory_text)
        page.pane.memory.view_as(Slot.RED)
        assert "• Mira has the key.\n" in page.memory_text + "\n"
        page.pane.memory.view_as(Slot.ORANGE)
        assert "key" not in page.memory_text
        page.pane.memory.view_as(None)
        # As one character, memory is read and not changed.
        page.memory.view.focus()
        assert page.pane.check_action("revise", ("rebuild",)) is True
        await page.pilot.press("f12", "v", "r")
        await page.until(lambda: page.app._notifications)
        [note] = page.app._notifications
        assert str(note.message).startswith("This is what one character knows; Esc shows all of memory")
        assert page.pane.check_action("revise", ("rebuild",)) is False


async def build_as(page: ChapterPage, *keys: str) -> None:
    """Ask for a version from the viewpoint that `keys` choose."""
    page.pane.action_build_as()
    await page.until(lambda: isinstance(page.app.screen, ViewpointModal) and page.app.screen.focused)
    await page.pilot.press(*keys, "enter")


async def correction_begun(page: ChapterPage) -> CorrectionModal:
    page.pane.action_correct()
    await page.until(lambda: isinstance(page.app.screen, CorrectionModal) and page.app.focused)
    screen = page.app.screen
    assert isinstance(screen, CorrectionModal)
    return screen


async def test_a_correction_is_given_to_those_who_are_chosen_and_the_chapter_written_as_one_sees_it(
    desktop: Desktop,
) -> None:
    async with whispered_page(desktop) as page:
        # A correction is given to everyone, or to those who are chosen.
        dialog = await correction_begun(page)
        given_to = dialog.query_one(SlotChecks)
        assert given_to.audience == EVERYONE
        await page.pilot.press(*"The clock is wrong.")
        given_to.focus()
        await page.pilot.press("1", "2", "3", "tab", "tab", "enter")
        await page.until(lambda: NOBODY_GETS_IT in str(dialog.query_one("#refused", Static).content))
        given_to.focus()
        await page.pilot.press("1", "tab", "tab", "enter")
        await page.until(lambda: page.app.screen is not dialog)
        await page.until(lambda: f"{MARK}Correction by the GM" in page.memory_text)
        block = (await page.session.reads.memory_blocks())[-1]
        assert (block.type, block.audience) == (BlockType.CANON_CORRECTION, MIRA)
        # The chapter is written from one viewpoint and says so, also later.
        await page.write()
        await build_as(page, "down")
        await page.until(lambda: len(page.draft.drafts) == 2)
        requests = [one for one in await page.session.reads.requests() if isinstance(one, NarrativeRequest)]
        assert [one.viewpoint for one in requests] == [None, Slot.ORANGE]
        newer, older = page.drafts
        assert newer.startswith("Draft 2 · as Jonas [/x] sees it · ")
        assert "sees it" not in older
        session_id = page.session.id
    async with desktop.engine("again") as engine:
        session = await engine.open(session_id)
        async with session_page(desktop, session) as page:
            await page.until(lambda: page.drafts[0].startswith("Draft 2 · as Jonas [/x] sees it · "))
            await page.until(lambda: page.shown_draft == page.drafts[0])
        await session.aclose()


async def test_a_build_from_a_viewpoint_that_failed_is_retried_from_there(desktop: Desktop) -> None:
    bad = Entry(match=NARRATIVE, fault=Fault.AUTH, text=PROSE, times=1)
    desktop.script = Script(reply=(PRIVATE, bad, *SCRIPT.reply))
    async with chapter_page(desktop, make_whispered) as page:
        await build_as(page)
        await page.until(lambda: page.banner)
        await page.pilot.press("ctrl+r")
        await page.until(lambda: page.draft.drafts)
        requests = [one for one in await page.session.reads.requests() if isinstance(one, NarrativeRequest)]
        assert {one.viewpoint for one in requests} == {Slot.RED}


async def test_a_chapter_without_audiences_asks_nothing_of_a_correction(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, lambda engine: make_ended(engine, 1, 1)) as page:
        dialog = await correction_begun(page)
        assert not dialog.query(SlotChecks)
        await page.pilot.press("escape")
        await page.until(lambda: page.app.screen is not dialog)


async def test_a_draft_of_a_chapter_without_audiences_names_its_viewpoint_when_it_is_opened_again(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, lambda engine: make_ended(engine, 1, 1)) as page:
        await build_as(page, "down")
        await page.until(lambda: len(page.draft.drafts) == 2)
        session, read = page.session, page.session.reads.requests

        async def narratives(kind: RequestKind | None = None) -> Sequence[Request]:
            assert kind is RequestKind.NARRATIVE, "every request is read for nothing"
            return await read(kind)

        monkeypatch.setattr(session.reads, "requests", narratives)
        await page.pane.attach(session)
        await page.until(lambda: page.shown_draft.startswith("Draft 2 · as Jonas [/x] sees it · "))
        assert "sees it" not in page.drafts[1]


async def test_the_palette_offers_what_is_possible(desktop: Desktop) -> None:
    desktop.script = WHISPERED
    actions = ("view_as", "view_all", "build_as")
    async with desktop.window(make_draft) as (_, app):
        assert not [one for one in actions if app.chapter.may_do("narrative", one)]
    desktop.script = WHISPERED
    async with chapter_page(desktop, make_whispered) as page:
        offered = [one for one in actions if page.pane.check_action(one, ())]
        assert offered == ["view_as", "build_as"]
        page.pane.action_view_as()
        assert page.pane.check_action("view_all", ()) is True
    # As the manual and the dialog call it.
    assert [action for _, action, _, text in TAB_ACTIONS if "viewpoint" in text] == ["build_as"]


def test_a_mark_names_those_who_know_a_block_and_never_acts() -> None:
    block = replace(delta_block(1), first=1, last=7, audience=Audience.of((Slot.ORANGE, Slot.BLUE)))
    names = ((Slot.RED, "Mira"), (Slot.ORANGE, "Jonas [/x]\x1b[2J"), (Slot.BLUE, "Kara"))
    text = all_text([block], MemoryForm.READABLE, MemoryMarks(names=names))
    assert text.startswith("⟨Jonas [/x], Kara⟩ Prompts 1–7\n")
    assert all_text([block], MemoryForm.READABLE).startswith("Prompts 1–7\n")
    nobody = replace(block, audience=Audience.of((Slot.VIOLET,)))
    assert passages_of(nobody, MemoryForm.JSON, MemoryMarks(names=names))[0].text == "⟨no one⟩"


def test_pictures_of_private_memory_and_of_who_knows_it(
    desktop: Desktop, pictures_match: PicturesMatch
) -> None:
    desktop.script = WHISPERED
    desktop.prepare_now(make_whispered)

    async def all_of_it(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        await pilot.press("f4")
        page = ChapterPage(pilot, app)
        await page.until(lambda: app.chapter.query(NarrativePane) and page.memory.is_known)
        app.chapter.set_focus(page.memory.view)

    async def whose_viewpoint(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        app.chapter.do_there("narrative", "build_as")
        await until(pilot, lambda: isinstance(app.screen, ViewpointModal) and app.screen.focused)
        assert app.screen.query_one(OptionList).option_count == 3

    async def correction_for_some(pilot: Pilot[Any]) -> None:
        await pilot.press("escape", "plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, CorrectionModal))
        pilot.app.screen.query_one(SlotChecks).focus()
        await pilot.press("2")

    async def of_one_character(pilot: Pilot[Any]) -> None:
        await pilot.press("escape", "f12", "f12")

    acts = (all_of_it, whose_viewpoint, correction_for_some, of_one_character)
    assert pictures_match(desktop.app(), {act.__name__: act for act in acts})
