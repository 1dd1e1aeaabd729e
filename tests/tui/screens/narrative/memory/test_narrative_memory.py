"""Tab 3, first cell: memory in two views, searched, copied, live, and long."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from textual.widgets import Input

from core.domain.ids import BlockId
from core.domain.slot import Slot
from core.domain.story.memory import STORED_TYPES, BlockType, MemoryBlock
from storyengine_tui.screens.bank.bank_rows import BankList
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.memory.memory_pages import MemoryPages
from storyengine_tui.theme import SLOT_COLOURS
from storyengine_tui.widgets.panel_switcher import PanelSwitcher
from storyengine_tui.widgets.reading.memory_outline import (
    MemoryForm,
    all_text,
    find_names,
    passages_of,
    title_of,
)
from tests.core.values.sessions import delta_block, delta_payload, lock_block, lock_payload, session
from tests.tui.engine_app import Desktop, make_draft, screen_text
from tests.tui.rooms.chapter_page import DELTA, SCRIPT, ChapterPage, chapter_page, make_ended
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = pytest.mark.anyio


def readable(block: MemoryBlock) -> str:
    return all_text([block], MemoryForm.READABLE)


# The outline, without a screen


def test_every_phrase_of_a_payload_is_in_the_readable_view() -> None:
    for payload, kind in (
        (lock_payload(), BlockType.WORLD_CHAPTER_LOCK),
        (delta_payload(), BlockType.TURN_DELTA),
        (DELTA, BlockType.TURN_DELTA),
    ):
        block = replace(delta_block(1), type=kind, payload=payload)
        text = " ".join(readable(block).split())
        told = {key: value for key, value in payload.items() if key not in ("memory_type", "range")}
        missing = [phrase for phrase in _phrases(told) if " ".join(phrase.split()) not in text]
        assert not [phrase for phrase in missing if phrase not in ("", "unknown")]


def _phrases(value: object) -> list[str]:
    if isinstance(value, dict):
        return [phrase for inner in value.values() for phrase in _phrases(inner)]
    if isinstance(value, list):
        return [phrase for inner in value for phrase in _phrases(inner)]
    return [value] if isinstance(value, str) else []


def test_a_block_says_which_prompts_it_is_about() -> None:
    assert title_of(lock_block()) == "World and chapter, as they were locked"
    assert title_of(replace(delta_block(1), first=8, last=14)) == "Prompts 8–14"
    assert title_of(replace(delta_block(1), first=15, last=15)) == "Prompt 15"


def test_what_changed_shows_before_and_after() -> None:
    change = {"key": "The lamp", "before": "lit", "after": "dark", "notes": "nobody saw it"}
    block = replace(delta_block(1), payload={"memory_type": "turn_delta", "state_changes": [change]})
    assert "What changed\n• The lamp: lit → dark — nobody saw it" in readable(block)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"world": 7, "agents": "x", "canon_locks": {"a": 1}},
        {"state_changes": ["a", None, {"key": ["x"]}], "range": None, "major_events": 3},
        {"canon_locks": ["\x1b[31mred\x00", {"deep": [1, None]}], "location_updates": []},
    ],
)
@pytest.mark.parametrize("kind", STORED_TYPES)
def test_a_payload_of_any_shape_can_be_shown(payload: dict[str, object], kind: BlockType) -> None:
    block = replace(delta_block(1), type=kind, payload=payload)
    for form in MemoryForm:
        text = "".join(passage.text for passage in passages_of(block, form))
        assert text
        assert "\x1b" not in text


def test_the_raw_view_is_the_payload_and_the_whole_copy_one_array() -> None:
    blocks = [lock_block(), delta_block(1)]
    assert [json.loads(passages_of(block, MemoryForm.JSON)[0].text) for block in blocks] == [
        block.payload for block in blocks
    ]
    assert json.loads(all_text(blocks, MemoryForm.JSON)) == [block.payload for block in blocks]


def test_names_are_found_whole_and_the_longest_first() -> None:
    names = [(Slot.RED, "Mira"), (Slot.ORANGE, "Mira Vale"), (Slot.YELLOW, "")]
    found = list(find_names("Mira, Mira Vale and Miranda.", names))
    assert found == [(0, 4, Slot.RED), (6, 15, Slot.ORANGE)]
    assert list(find_names("那时李明来了", [(Slot.RED, "李明")])) == [(2, 4, Slot.RED)]
    assert not list(find_names("राजा", [(Slot.RED, "राज")]))


# Pages of a long memory


def blocks(count: int) -> list[MemoryBlock]:
    """Return the lock and so many deltas."""
    deltas = [
        replace(
            delta_block(1),
            id=BlockId(UUID(int=number)),
            first=number * 7 - 6,
            last=number * 7,
            payload={**delta_payload(), "canon_locks": [f"Canon number {number} holds."]},
        )
        for number in range(1, count + 1)
    ]
    return [lock_block(), *deltas]


def test_pages_show_the_newest_and_turn_to_both_ends() -> None:
    pages = MemoryPages(blocks(9), size=4)
    assert [pages.start, len(pages.shown), pages.has_earlier, pages.has_later] == [6, 4, True, False]
    pages.turn(-1)
    pages.turn(-1)
    assert [pages.start, len(pages.shown), pages.has_earlier, pages.has_later] == [0, 2, False, True]
    pages.append(replace(delta_block(1), id=BlockId(UUID(int=99))))
    assert pages.start == 0
    pages.show(10)
    assert pages.shown[-1].id == BlockId(UUID(int=99))
    pages.append(pages.shown[-1])
    assert len(pages.blocks) == 11


def cell_app() -> tuple[WidgetApp, MemoryCell]:
    cell = MemoryCell(session, chunk_size=7)
    cell.styles.height = "100%"
    return WidgetApp(lambda: [cell]), cell


async def test_thousands_of_blocks_open_at_once_and_every_one_can_be_found() -> None:
    app, cell = cell_app()
    many = blocks(3_000)
    async with app.running() as pilot:
        began = time.process_time()
        cell.memory.show_memory(many, ())
        await pilot.pause()
        assert time.process_time() - began < 1
        assert "Canon number 3000 holds." in cell.memory.view.lines.text
        cell.query_one(Input).value = "canon number 7 holds"
        await pilot.pause()
        cell.memory.view.focus()
        await pilot.press("n")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert many[7] in cell.memory.pages.shown
        assert cell.memory.view.current == 0
        await pilot.press("e")
        assert lock_block().payload == cell.memory.pages.shown[0].payload
        assert cell.query_one("#earlier").disabled
        await pilot.press("l")
        assert cell.memory.pages.has_earlier
        # Words that change, or a memory that is read again, while other pages are searched end nothing.
        for change in (search_other_words, show_fewer):
            cell.query_one(Input).value = "canon number 9 holds"
            await pilot.pause()
            cell.memory.next_match(1)
            for _ in range(5):
                await asyncio.sleep(0)
            change(cell)
            await app.workers.wait_for_complete()


def search_other_words(cell: MemoryCell) -> None:
    cell.query_one(Input).value = "not there"


def show_fewer(cell: MemoryCell) -> None:
    cell.memory.show_memory(blocks(3), ())


async def test_a_list_of_the_bank_shows_instead_of_the_pages_of_a_long_memory() -> None:
    app, cell = cell_app()
    async with app.running() as pilot:
        cell.memory.show_memory(blocks(150), ())
        cell.go_to_list(BankList.FACTS)
        assert cell.reader is cell.memory, "a chapter that keeps no bank has no lists"
        assert not cell.query(ItemList)
        cell.offer_bank(True)
        for shown in (None, BankList.FACTS, None):
            cell.go_to_list(shown)
            await pilot.pause()
            is_list = shown is not None
            assert cell.query_one(ItemList).display is is_list
            assert cell.memory.view.display is not is_list
            assert cell.query_one("#earlier").display is not is_list
            assert cell.check_action("turn", (-1,)) is not is_list
        cell.action_show("json")
        await pilot.pause()
        cell.go_to_list(BankList.FACTS)
        cell.offer_bank(False)
        await pilot.pause()
        assert cell.memory.view.display
        assert not cell.query_one(ItemList).display
        assert cell.query_one(PanelSwitcher).active == MemoryForm.JSON


async def test_a_new_block_scrolls_into_view_only_if_the_newest_was_in_view() -> None:
    app, cell = cell_app()
    first, *others = blocks(4)
    async with app.running() as pilot:
        cell.memory.show_memory([first, *others[:2]], ())
        await pilot.pause()
        cell.memory.append(others[2])
        await pilot.pause()
        assert _at_top(cell) == "Prompts 15–21"
        cell.memory.view.focus()
        await pilot.press("home")
        cell.memory.append(others[3])
        await pilot.pause()
        assert _at_top(cell) == "World and chapter, as they were locked"
        assert str(cell.query_one("#memory-count").render()) == "5 blocks, prompts 1–28"


def _at_top(cell: MemoryCell) -> str:
    return cell.memory.view.lines.paragraphs[cell.memory.view.top_passage].text


async def test_names_wear_the_colour_of_their_slot_and_headings_are_bold() -> None:
    app, cell = cell_app()
    payload = {"memory_type": "turn_delta", "canon_locks": ["Mira keeps the light."]}
    async with app.running() as pilot:
        cell.memory.show_memory([replace(delta_block(1), payload=payload)], [(Slot.RED, "Mira")])
        await pilot.pause()
        styles = _styles(cell)
        assert styles["Canon"].bold
        mira = styles["Mira"].color
        assert mira is not None
        assert mira.get_truecolor().hex == SLOT_COLOURS[Slot.RED]


def _styles(cell: MemoryCell) -> dict[str, Any]:
    return {
        segment.text.strip(): segment.style
        for y in range(cell.memory.view.size.height)
        for segment in cell.memory.view.render_line(y)
        if segment.text.strip()
    }


# On the page


async def test_both_views_show_what_is_stored_can_be_searched_and_copied(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page:
        pilot, stored = page.pilot, [block.payload for block in await page.session.reads.memory_blocks()]
        assert "World and chapter, as they were locked" in page.memory_text
        assert "Prompts 1–2" in page.memory_text
        page.memory.view.focus()
        await pilot.press("2")
        assert [json.loads(part) for part in _documents(page.memory_text)] == stored
        await pilot.click("#memory-forms", offset=(3, 0))
        assert "Prompts 1–2" in page.memory_text

        await pilot.press("tab", *"CANON")
        count = page.memory_text.lower().count("canon")
        assert count > 1
        assert len(page.memory.view.matches) == count
        assert page.said("memory-found") == f"2/{count}"
        await pilot.press("enter")
        assert page.said("memory-found") == f"{count}/{count}"
        await pilot.press("escape", "n")
        assert page.memory.view.has_focus
        await page.until(lambda: page.memory.view.current == 0, "around at the end")
        await pilot.press("N")
        await page.until(lambda: page.memory.view.current == count - 1)
        await pilot.press("2")
        assert len(page.memory.view.matches) == page.memory_text.lower().count("canon")
        assert "/ Search" in foot(page)
        assert "+ Correct" in foot(page)
        await pilot.press("slash", "z", "z")
        assert page.said("memory-found") == "not found"
        # In the field / and + are letters.
        await page.until(lambda: "/ Search" not in foot(page) and "+ Correct" not in foot(page))

        await pilot.press("escape", "y")
        assert json.loads(page.app.clipboard) == stored
        assert page.said("delivered").startswith("Memory as JSON copied")
        await pilot.press("1")
        await pilot.click("#memory-copy")
        text = all_text(page.memory.blocks, MemoryForm.READABLE)
        await page.until(lambda: page.app.clipboard == text, "it is not copied")
        page.memory.view.focus()
        await pilot.press("home", "v", "home", "space", "end", "c")
        assert page.app.clipboard in page.memory_text
        assert 0 < len(page.app.clipboard) < 120, "one line, and no more"


def foot(page: ChapterPage) -> str:
    """Return the line of the keys."""
    return screen_text(page.app).splitlines()[-1]


def _documents(text: str) -> Sequence[str]:
    return [part if part.startswith("{") else "{" + part for part in text.split("\n\n{")]


async def test_memory_is_empty_at_first_says_so_and_grows_live(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_draft, (80, 24)) as page:
        assert page.said("memory-empty").startswith("Nothing yet. The first block comes when")
        await page.session.wait(await page.session.lock())
        await page.until(lambda: page.said("memory-count") == "1 block")
        for number in range(7):
            await page.session.wait(await page.session.submit_prompt(Slot.RED, f"Prompt {number}."))
        await page.until(lambda: page.said("memory-count") == "2 blocks, prompts 1–7")
        assert "Prompts 1–7" in page.memory_text
        assert not page.said("memory-empty")
