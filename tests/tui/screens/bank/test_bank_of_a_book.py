"""The lists of the memory bank in a book: items of the earlier chapters, which are changed in theirs."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot

from core.domain.bank.details import Aspect, ItemKind, StateDetails
from core.domain.bank.item import Item
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.services.bank.item_changes import NewItem
from storyengine_tui.screens.bank.bank_rows import (
    BankList,
    BankRow,
    Wanted,
    cells_of,
    columns_of,
    found,
    rows_of,
)
from storyengine_tui.screens.bank.item_commands import NOT_HERE
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.bank.item_screen import ItemScreen
from storyengine_tui.screens.bank.sheet_modal import SheetModal
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.core.rooms.simulation import active
from tests.store.in_memory.memory_bank import MemoryBank
from tests.tui.chapters.banked_chapter import ITEMS, SCRIPT, keep, make_banked
from tests.tui.conftest import PicturesMatch, settled
from tests.tui.engine_app import Desktop, filled, make_active, opened, screen_text, until


async def make_second(engine: Engine, items: Sequence[Item] = ITEMS) -> SessionId:
    """Store a book whose second chapter keeps a bank that has nothing yet."""
    first = await keep(engine, await make_active(engine, 3), items)
    session = await engine.open(first)
    await session.end_chapter()
    await session.wait_idle()
    await session.aclose()
    return await keep(engine, await engine.library.books.next_chapter(first), ())


async def make_played(engine: Engine) -> None:
    """Store the same, where the second chapter is locked and has a newer line of a sheet."""
    session = await engine.open(await make_second(engine))
    await session.edits.edit_tab1(Tab1Edit(chapter="The relief boat is gone."))
    await session.wait(await session.lock())
    lost = StateDetails(aspect=Aspect.POSSESSION)
    here = session.snapshot.session
    await session.bank.add(here, NewItem("Mira", "Lost the log book.", lost, about=Slot.RED))
    await session.aclose()


async def shown(pilot: Pilot[Any], app: StoryEngineApp, key: str) -> ItemList:
    """Show a list on tab 3."""
    await pilot.press("f4")
    await filled(pilot, "narrative")
    cell = app.chapter.query_one(MemoryCell)
    await until(pilot, lambda: cell.keeps_bank and cell.bank.rows is not None)
    app.chapter.set_focus(cell.memory.view if cell.memory.blocks else cell.bank.view)
    cell.action_show({"3": "people", "6": "facts"}[key])
    items = cell.query_one(ItemList)
    app.chapter.set_focus(items)
    await until(pilot, lambda: items.has_focus)
    return items


async def people_of_the_book(pilot: Pilot[Any], app: StoryEngineApp) -> ItemList:
    """Show the list of people of tab 3, with those of the earlier chapter."""
    items = await shown(pilot, app, "3")
    await pilot.press("b")
    await until(pilot, lambda: len(items.rows) == 2)
    return items


@pytest.mark.anyio
async def test_items_of_the_earlier_chapters_are_shown_by_a_key_and_changed_in_their_chapter(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_second, size=(120, 40)) as (pilot, app):
        # A key shows the items of the earlier chapters and those of this one again.
        items = await shown(pilot, app, "3")
        assert not items.rows
        await pilot.press("b")
        await until(pilot, lambda: len(items.rows) == 2)
        assert {row.chapter for row in items.rows} == {1}
        assert "People of the book" in screen_text(app)
        assert "Ch." in [column.title for column in items.columns]
        await pilot.press("b")
        await until(pilot, lambda: not items.rows)
        # An item of an earlier chapter is changed there and a key opens it.
        items = await people_of_the_book(pilot, app)
        assert app.session is not None
        here, wanted = app.session.id, items.rows[0].item
        await pilot.press("x")
        await until(pilot, lambda: any(str(one.message) == NOT_HERE for one in app._notifications))
        await pilot.press("o")
        await until(pilot, lambda: app.session is not None and app.session.id == wanted.session_id != here)
        await until(
            pilot,
            lambda: app.focused is items and items.chosen is not None and items.chosen.item.id == wanted.id,
        )
        # It counts. Whether the GM has seen it depends on which chapter was open when the list was left.
        assert wanted.id in {one.id for one in await app.session.bank.items()}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[SessionId, Collection[ItemKind] | None]]:
    """Note which chapters' items are read, and of which kinds."""
    found: list[tuple[SessionId, Collection[ItemKind] | None]] = []
    plain = MemoryBank.items

    async def items(self: MemoryBank, session_id: SessionId, **which: Any) -> Sequence[Item]:
        found.append((session_id, which.get("kinds")))
        return await plain(self, session_id, **which)

    monkeypatch.setattr(MemoryBank, "items", items)
    return found


@pytest.mark.anyio
async def test_items_of_earlier_chapters_are_read_once_however_often_they_show(
    desktop: Desktop, reads: list[tuple[SessionId, Collection[ItemKind] | None]]
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_played, size=(120, 40)) as (pilot, app):
        items = await shown(pilot, app, "6")
        reads.clear()
        await pilot.press("b")
        await until(pilot, lambda: len(items.rows) > 2)
        [earlier] = {row.item.session_id for row in items.rows if row.chapter}
        await pilot.press("p")
        await until(pilot, lambda: "pinned" in screen_text(app))
        for _ in range(2):
            await pilot.press("b")
            await until(pilot, lambda: any(row.chapter for row in items.rows) is items_are_wide(app))
        assert [session_id for session_id, _ in reads].count(earlier) == 1
        await pilot.press("f3", "f4")
        await until(pilot, lambda: [session_id for session_id, _ in reads].count(earlier) == 2)


def items_are_wide(app: StoryEngineApp) -> bool:
    return app.chapter.query_one(MemoryCell).bank.is_wide


@pytest.mark.anyio
async def test_a_sheet_goes_on_in_the_next_chapter_and_reads_no_items_of_earlier_ones_but_states(
    desktop: Desktop,
    reads: list[tuple[SessionId, Collection[ItemKind] | None]],
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_played, size=(120, 40)) as (pilot, app):
        # A sheet reads no items of earlier chapters but states.
        await pilot.press("f3")
        reads.clear()
        await pilot.press("alt+c")
        await until(pilot, lambda: isinstance(app.screen, SheetModal))
        items = app.screen.query_one(ItemList)
        await until(pilot, lambda: len(items.rows) == 2)
        assert {session_id for session_id, _ in reads} == {row.item.session_id for row in items.rows}
        assert {kinds for _, kinds in reads} == {(ItemKind.STATE,)}
        # The sheet of a character goes on in the next chapter as its input has it.
        assert [(row.item.text, row.chapter) for row in items.rows] == [
            ("Lost the log book.", 0),
            ("A burn on the left hand.", 1),
        ]


@pytest.mark.anyio
async def test_whether_an_item_of_an_earlier_chapter_counts_is_asked_of_that_chapter(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    undone = replace(ITEMS[1], take=2)
    merged = replace(ITEMS[0], merged_into=undone.id)
    async with desktop.window(partial(make_second, items=(merged, undone)), size=(120, 40)) as (pilot, app):
        items = await shown(pilot, app, "3")
        await pilot.press("b")
        await until(pilot, lambda: [row.item.id for row in items.rows] == [merged.id])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ItemScreen))
        view = app.screen.query_one(PassageView)
        await until(pilot, lambda: "Learned by" in view.lines.text)
        assert "State: merged" not in view.lines.text


@pytest.mark.anyio
async def test_the_proof_of_an_item_of_an_earlier_chapter_leads_into_its_transcript(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_second, size=(120, 40)) as (pilot, app):
        await people_of_the_book(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ItemScreen))
        await pilot.press("enter")
        await filled(pilot, "play")
        view = app.chapter.query_one(TranscriptPanel).transcript
        await until(pilot, lambda: view.selection.text_in_one == "the brass key")
        assert app.focused is view


@pytest.mark.anyio
async def test_a_chapter_in_no_book_does_not_offer_the_book(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_banked, size=(120, 40)) as (pilot, app):
        items = await shown(pilot, app, "3")
        await pilot.press("b")
        assert app.chapter.query_one(MemoryCell).check_action("widen", ()) is None
        assert {row.chapter for row in items.rows} == {0}


def test_what_is_left_of_an_item_that_has_hardly_faded_is_not_shown_as_nothing() -> None:
    session = active().snapshot.session
    strengths = {1.0: "1.0", 0.998: "1.0", 0.994: ".99", 0.5: ".50", 0.004: ".00"}
    for strength, shown_as in strengths.items():
        row = BankRow(ITEMS[0], strength, "")
        columns = columns_of([row], 80, kind="")
        assert cells_of(row, session, columns, sign="")[-1] == shown_as


def test_words_of_a_list_are_found_however_their_accents_are_written() -> None:
    two, one = "Zoe\u0308", "Zo\xeb"
    for written, sought in ((two, one), (one, two)):
        rows = rows_of([replace(ITEMS[2], name=written)], {}, 1)
        assert found(rows, BankList.PLACES, Wanted.ALL, None, sought.upper()) == rows


def test_picture_of_the_facts_of_a_book(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.script = SCRIPT
    desktop.prepare_now(make_second)

    async def run_before(pilot: Pilot[Any]) -> None:
        items = await shown(pilot, await opened(pilot), "6")
        await pilot.press("b")
        await until(pilot, lambda: len(items.rows) > 2)
        await settled(pilot)

    assert pictures_match(desktop.app(), run_before=run_before)
