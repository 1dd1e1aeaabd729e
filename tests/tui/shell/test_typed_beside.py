"""A text that is typed or pasted beside every field is not lost: it goes where the GM writes."""

import asyncio

import pytest
from textual.events import Key, Paste
from textual.widget import Widget

from core.domain.slot import Slot
from storyengine_tui.screens.chapter.chapter_screen import ChapterScreen
from storyengine_tui.screens.chapter.tab_pages import TabPages
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.memory.block_reader import BlockReader
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.shell.typed_text import BURST
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.panel_switcher import SlotEntries
from storyengine_tui.widgets.reading.memory_outline import MemoryForm
from tests.tui.engine_app import Desktop, filled
from tests.tui.rooms.play_table import Table, at_window

pytestmark = pytest.mark.anyio


def send_at_once(table: Table, text: str) -> None:
    """Send keys as they come in one write of a slow line."""
    for character in text:
        table.app.post_message(Key("space" if character == " " else character, character))


async def focus(table: Table, widget: Widget) -> None:
    widget.screen.set_focus(widget)
    await table.until(lambda: widget.has_focus)


async def test_keys_in_one_write_and_a_paste_into_the_strip_of_panels_all_arrive(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        await focus(table, table.pane.query_one(SlotEntries))
        send_at_once(table, "hold the rope")
        await table.until(lambda: table.text(Slot.RED) == "hold the rope")
        await focus(table, table.pane.query_one(SlotEntries))
        table.app.post_message(Paste(", all of it"))
        await table.until(lambda: table.text(Slot.RED) == "hold the rope, all of it")


async def test_a_text_beside_the_fields_of_tab_3_goes_to_how_to_write_it(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        await table.pilot.press("f4")
        await filled(table.pilot, "narrative")
        page = table.app.screen_stack[0].query_one(NarrativePane)
        reader = next(one for one in page.query_one(MemoryCell).query("*").results(Widget) if one.focusable)
        area = page.query_one(DefinitionCell).area
        written = ""
        for sent, text in ((Key("a", "a"), "a"), (Key("b", "b"), "b"), (Paste("ab"), "ab")):
            await focus(table, reader)
            table.app.post_message(sent)
            written += text
            await table.until(lambda: area.has_focus and area.text == written)  # noqa: B023 - awaited here


@pytest.mark.parametrize("back", [(), ("f3",)])
async def test_keys_that_come_before_the_page_of_a_tab_are_for_that_page_and_for_no_other(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, back: tuple[str, ...]
) -> None:
    make, goes_on = TabPages.make, asyncio.Event()

    async def make_late(pages: TabPages, tab: str) -> SessionTab:
        await goes_on.wait()
        return await make(pages, tab)

    async with at_window(desktop) as table:
        monkeypatch.setattr(TabPages, "make", make_late)
        await table.pilot.press("f4", "f8", "enter", "a", "enter", *back)
        goes_on.set()
        await filled(table.pilot, "narrative")
        page = table.app.screen_stack[0].query_one(NarrativePane)
        field = page.query_one(DefinitionCell).area
        await table.until(lambda: back or field.text == "a\n")
        assert isinstance(table.app.screen, ChapterScreen)
        assert table.app.screen.active_tab == ("play" if back else "narrative")
        assert field.text == ("" if back else "a\n")
        assert table.text(Slot.RED) == ""
        assert table.queued == []


async def test_keys_in_one_write_with_the_key_of_a_tab_are_for_that_tab(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        await table.pilot.press("f4")
        await filled(table.pilot, "narrative")
        field = table.app.screen_stack[0].query_one(NarrativePane).query_one(DefinitionCell).area
        for key, text in (("f3", "to Kara"), ("f4", "with care"), ("f3", ", at once")):
            table.app.post_message(Key(key, None))
            send_at_once(table, text)
            await table.until(lambda: text in table.text(Slot.RED) + field.text)  # noqa: B023 - awaited here
        assert table.text(Slot.RED) == "to Kara, at once"
        assert field.text == "with care"


async def at_reader(table: Table) -> tuple[BlockReader, CappedTextArea]:
    """Go to the memory of tab 3; return it and the field in which is written."""
    await table.pilot.press("f4")
    await filled(table.pilot, "narrative")
    page = table.app.screen_stack[0].query_one(NarrativePane)
    memory = page.query_one(MemoryCell).memory
    await table.until(lambda: memory.blocks)
    await focus(table, memory.view)
    return memory, page.query_one(DefinitionCell).area


async def test_a_text_that_begins_with_keys_of_a_reader_arrives_whole(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        for text in ("very dry", "you keep it short", "yes, dry", "2 parts", "v 1 y dry"):
            _, area = await at_reader(table)
            area.text = ""
            send_at_once(table, text)
            await table.until(lambda: area.text == text)  # noqa: B023 - awaited here


async def test_a_key_of_a_reader_acts_at_once_and_is_no_text_when_a_paste_or_a_later_letter_follows(
    desktop: Desktop,
) -> None:
    async with at_window(desktop) as table:
        memory, area = await at_reader(table)
        send_at_once(table, "2")
        await table.until(lambda: memory.form is MemoryForm.JSON)
        assert memory.view.has_focus
        late = Key("d", "d")
        late.time += 10 * BURST
        table.app.post_message(late)
        await table.until(lambda: area.text == "d")
        await focus(table, memory.view)
        send_at_once(table, "1")
        await table.until(lambda: memory.form is MemoryForm.READABLE)
        table.app.post_message(Paste("ry"))
        await table.until(lambda: area.text == "dry")


async def test_v_pressed_twice_in_the_transcript_selects_and_is_no_text(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        await table.play("Who is there?")
        await focus(table, table.transcript)
        await table.pilot.press("v", "v")
        await table.pilot.pause()
        assert table.transcript.selection.is_marking
        assert table.app.focused is table.transcript
        assert table.text(table.slot()) == ""
