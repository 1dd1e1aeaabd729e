"""The search on the screen: a list that narrows, the place behind a line, this chapter or the book."""

import asyncio
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static

from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.slot import Slot
from core.domain.story.transcript import PieceKind
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.recall.hits import Hit
from core.engine.recall.search import Searched
from core.engine.recall.texts import texts_within
from core.engine.services.library.books import BookLibrary
from core.library.book import Book
from storyengine_tui.screens.bank.bank_rows import BankList
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.narrative.draft_cell import DraftCell
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.memory.search_targets import place_of
from storyengine_tui.screens.play.actions.place_actions import PromptScreen
from storyengine_tui.screens.play.composer.composer import Composer
from storyengine_tui.screens.play.play_pane import PlayPane
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from storyengine_tui.screens.search.search_screen import NOT_FOUND, SearchScreen, place_wanted, search_in
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.panel_switcher import PanelSwitcher
from storyengine_tui.widgets.reading.memory_outline import MemoryForm
from storyengine_tui.widgets.reading.passage_view import PassageView
from storyengine_tui.widgets.reading.transcript_lines import Paragraph, SourcePos
from tests.tui.chapters.banked_chapter import SCRIPT, make_banked
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, filled, make_active, opened, screen_text, until
from tests.tui.rooms.chapter_page import PROSE, make_ended


def test_a_word_within_a_text_without_spaces_is_gone_to_in_memory() -> None:
    shown = [Paragraph(PieceKind.GM, None, "• 我们的老师来了", 1)]
    assert place_of(shown, "我们的老师来了", 3, 5) == (SourcePos(0, 5), SourcePos(0, 7))


async def tell(engine: Engine) -> None:
    """Play a chapter of two prompts."""
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(Tab1Edit(world="A cold sea.", names={Slot.RED: "Kara"}))
    await session.wait(await session.lock())
    for text in ("Where is the brass [/x] key?", "And the boat?"):
        await session.wait(await session.submit_prompt(Slot.RED, text))
    await session.aclose()


def cells(screen: SearchScreen) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(row)] for row in range(table.row_count)]


async def in_no_book() -> bool:
    return False


@pytest.mark.anyio
async def test_words_can_be_typed_before_it_is_known_whether_there_is_a_book(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = asyncio.Event()
    book_of = BookLibrary.of

    async def slow(library: BookLibrary, session_id: SessionId) -> Book | None:
        await may_go_on.wait()
        return await book_of(library, session_id)

    async with desktop.window(tell) as (pilot, app):
        await until(pilot, lambda: app.session is not None)
        monkeypatch.setattr(BookLibrary, "of", slow)
        await pilot.press("ctrl+p", *"search")
        await until(pilot, lambda: "Find words in the story" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SearchScreen))
        await pilot.press(*"brass")
        screen = app.screen
        assert isinstance(screen, SearchScreen)
        await until(pilot, lambda: cells(screen))
        may_go_on.set()
        assert all(not area.text for area in app.chapter.query_one(Composer))


async def searching(pilot: Pilot[Any], app: Any, words: str) -> SearchScreen:
    await until(pilot, lambda: app.session is not None)

    def chosen(hit: Hit | None) -> None:
        if hit is not None:
            app.chapter.post_message(place_wanted(hit))

    app.push_screen(search_in(app.engine, app.session.id), chosen)
    await until(pilot, lambda: isinstance(app.screen, SearchScreen))
    await pilot.press(*words)
    assert isinstance(app.screen, SearchScreen)
    return app.screen


async def choose(pilot: Pilot[Any], screen: SearchScreen, where: str, what: str = "") -> None:
    """Press Enter on the first hit of such a place."""

    def rows() -> list[int]:
        return [
            number
            for number, (place, text) in enumerate(cells(screen))
            if place == where or place.startswith(f"{where},")
            if text.startswith(what)
        ]

    await until(pilot, rows, where)
    screen.query_one(DataTable).move_cursor(row=rows()[0])
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.screen is not screen)


@pytest.mark.anyio
async def test_enter_goes_to_the_words_in_memory(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(lambda engine: make_active(engine, 8)) as (pilot, app):
        assert app.session is not None
        blocks = await app.session.reads.memory_blocks()
        text = next(text for text in texts_within(blocks[-1].payload) if len(text) > 20)
        screen = await searching(pilot, app, text.split()[-1].strip("."))
        await choose(pilot, screen, f"Memory, {PromptRange(blocks[-1].first, blocks[-1].last).named}")
        await filled(pilot, "narrative")
        view = app.chapter.query_one(MemoryCell).memory.view
        await until(pilot, lambda: view.selection.text_in_one)
        assert view.selection.text_in_one == text.split()[-1].strip(".")
        assert app.chapter.active_tab == "narrative"
        assert app.focused is view


@pytest.mark.anyio
async def test_enter_goes_to_the_item_in_its_list_unread_read_or_unknown_to_the_one_who_is_seen(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_banked) as (pilot, app):
        screen = await searching(pilot, app, "ninety")
        await choose(pilot, screen, "Memory bank")
        await filled(pilot, "narrative")
        items, lists = app.chapter.query_one(ItemList), app.chapter.query_one("#memory-forms", PanelSwitcher)
        await until(pilot, lambda: app.focused is items and items.chosen is not None)
        assert app.chapter.query_one(MemoryCell).bank.shown is BankList.PLACES
        assert lists.active == BankList.PLACES
        assert items.chosen is not None
        assert items.chosen.item.id.int == 3
        # Again, now that it is read.
        screen = await searching(pilot, app, "eleven")
        await choose(pilot, screen, "Memory bank")
        await until(pilot, lambda: items.chosen is not None and items.chosen.item.id.int == 6)
        assert app.chapter.query_one(MemoryCell).bank.shown is BankList.FACTS
        assert lists.active == BankList.FACTS
        # Also where one character does not know it, and to memory.
        await pilot.press("f4")
        cell = app.chapter.query_one(MemoryCell)
        await until(pilot, lambda: cell.memory.is_known and cell.keeps_bank and cell.bank.rows is not None)
        await pilot.press("3", "f12", "f12")
        await until(pilot, lambda: len(cell.bank.view.rows) == 1)
        assert cell.memory.viewpoint.startswith("2 Jonas")
        screen = await searching(pilot, app, "next tide")
        await choose(pilot, screen, "Memory bank")
        await until(pilot, lambda: len(cell.bank.view.rows) == 2)
        assert not cell.memory.viewpoint
        assert cell.bank.view.chosen is not None
        assert cell.bank.view.chosen.item.name == "The inspector"
        await pilot.press("f12", "f12")
        await until(pilot, lambda: len(cell.bank.view.rows) == 1)
        assert app.session is not None
        block = (await app.session.reads.memory_blocks())[-1]
        action = f"go_to_block('{block.id}', 0, 0, 3)"
        app.chapter.post_message(SessionTab.ElsewhereWanted("narrative", action))
        await until(pilot, lambda: app.focused is cell.memory.view)
        assert cell.query_one("#memory-forms", PanelSwitcher).active == MemoryForm.READABLE
        await pilot.press("3")
        await until(pilot, lambda: len(cell.bank.view.rows) == 2)


@pytest.mark.anyio
async def test_enter_goes_to_the_words_in_a_version_of_the_chapter(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(lambda engine: make_ended(engine, drafts=1)) as (pilot, app):
        word = PROSE.split()[3]
        screen = await searching(pilot, app, word)
        await choose(pilot, screen, "Draft")
        view = app.chapter.query_one(DraftCell).view
        await until(pilot, lambda: view.selection.text_in_one == word)
        assert app.focused is view


@pytest.mark.anyio
async def test_words_in_several_paragraphs_of_a_version_are_gone_to(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    start, end = PROSE.index("\n\n") - 6, PROSE.index("\n\n") + 8
    async with desktop.window(lambda engine: make_ended(engine, drafts=1)) as (pilot, app):
        await until(pilot, lambda: app.session is not None)
        cell = app.chapter.query_one(DraftCell)
        await until(pilot, lambda: len(cell.drafts) == 1)
        action = f"go_to_draft(1, {start}, {end})"
        app.chapter.post_message(SessionTab.ElsewhereWanted("narrative", action))
        await until(pilot, lambda: cell.view.selection.ends)
        ends = cell.view.selection.ends
        assert ends is not None
        first, last = ends
        assert last.paragraph == first.paragraph + 1
        assert cell.view.lines.text_between(first, last) == PROSE[start:end]


@pytest.mark.anyio
async def test_a_hit_in_another_chapter_opens_that_chapter_first(desktop: Desktop) -> None:
    async def tell_two(engine: Engine) -> None:
        await tell(engine)
        [first] = [one.id for one in await engine.sessions()]
        session = await engine.open(first)
        await session.end_chapter()
        await session.wait_idle()
        await session.aclose()
        await engine.library.books.next_chapter(first)

    async with desktop.window(tell_two) as (pilot, app):
        assert app.session is not None
        here = app.session.id
        screen = await searching(pilot, app, "bras")
        if not cells(screen):
            await pilot.press("ctrl+b")
        await until(pilot, lambda: any("prompt 1" in where for where, _ in cells(screen)))
        await choose(pilot, screen, "Chapter 1, transcript, prompt 1", "GM: ")
        await until(pilot, lambda: app.session is not None and app.session.id != here)
        await filled(pilot, "play")
        view = app.chapter.query_one(TranscriptPanel).transcript
        await until(pilot, lambda: view.selection.text_in_one == "brass")
        assert app.session is not None
        assert app.session.id != here
        assert app.focused is view


@pytest.mark.anyio
async def test_the_key_that_widens_the_search_then_offers_this_chapter_again(desktop: Desktop) -> None:
    async def search(text: str, is_wide: bool) -> Searched:
        return Searched()

    async def in_book() -> bool:
        return True

    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await app.push_screen(SearchScreen(search, in_book))
        for key in ("^b Whole book", "^b This chapter", "^b Whole book"):
            await until(pilot, lambda: key in screen_text(app))  # noqa: B023  # awaited in the loop
            await pilot.press("ctrl+b")


@pytest.mark.anyio
async def test_the_list_narrows_as_words_are_typed_and_enter_goes_to_what_they_find_in_the_transcript(
    desktop: Desktop,
) -> None:
    troubles = [StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The database is away.")]

    async def search(text: str, is_wide: bool) -> Searched:
        if troubles:
            raise troubles.pop()
        return Searched(unread=(2,))

    async with desktop.window(tell) as (pilot, app):
        # A chapter in no book offers no book and the palette has the search.
        screen = await searching(pilot, app, "")
        assert screen.check_action("search_in", (True,)) is False
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert "Search" in {command.title for command in app.get_system_commands(app.screen)}
        # A search that failed is forgotten once one succeeds.
        screen = SearchScreen(search, in_no_book)
        app.push_screen(screen)
        await until(pilot, lambda: app.screen is screen and screen.focused is not None)
        banner = screen.query_one("#trouble", Banner)
        await pilot.press("a")
        await until(pilot, lambda: banner.is_shown)
        await pilot.press("b")
        await until(pilot, lambda: not banner.is_shown)
        heading = screen.query_one("#heading", Static)
        assert str(heading.content) == "Search this chapter · chapter 2 cannot be read"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # The list narrows as words are typed and Enter goes to the words in the transcript.
        screen = await searching(pilot, app, "bras")
        await until(
            pilot,
            lambda: (
                ["Transcript, prompt 1", "GM: Where is the brass [/x] key?"]
                in [[where, what.lstrip("…")] for where, what in cells(screen)]
            ),
        )
        await pilot.press(*"zz")
        await until(pilot, lambda: not cells(screen))
        await until(pilot, lambda: screen.query_one("#empty", Static).display)
        await pilot.press("backspace", "backspace")
        await until(pilot, lambda: cells(screen))
        await choose(pilot, screen, "Transcript, prompt 1", "GM: ")
        view = app.chapter.query_one(TranscriptPanel).transcript
        await until(pilot, lambda: view.selection.text_in_one == "brass")
        assert app.chapter.active_tab == "play"
        assert app.focused is view
        # Enter goes to what the words in the field find and not to what was found before.
        screen = await searching(pilot, app, "bras")
        await until(pilot, lambda: cells(screen))
        await pilot.press("ctrl+u", *"boat", "enter")
        await until(pilot, lambda: app.screen is app.chapter)
        await until(pilot, lambda: view.selection.text_in_one == "boat")
        # A prompt that the transcript does not show is shown over it.
        page = app.chapter.query_one(PlayPane)
        await until(pilot, lambda: app.chapter.active_tab == "play")
        page.reading.load((), page.session.snapshot.session)
        screen = await searching(pilot, app, "bras")
        await choose(pilot, screen, "Transcript, prompt 1", "GM: ")
        await until(pilot, lambda: isinstance(app.screen, PromptScreen))
        over = app.screen.query_one(PassageView)
        await until(pilot, lambda: over.selection.text_in_one == "brass")
        assert "1) Where is the brass [/x] key?" in over.lines.text
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.chapter)


@pytest.mark.anyio
async def test_a_search_that_takes_its_time_says_so(desktop: Desktop) -> None:
    may_end = asyncio.Event()

    async def search(_text: str, _is_wide: bool) -> Searched:
        await may_end.wait()
        return Searched()

    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        screen = SearchScreen(search, in_no_book)
        await app.push_screen(screen)
        await pilot.press(*"lamp")
        await until(pilot, lambda: "looking …" in str(screen.query_one("#heading", Static).content))
        assert "Looking …" in screen_text(app)
        may_end.set()
        await until(pilot, lambda: NOT_FOUND in screen_text(app))
        assert "ooking" not in screen_text(app)


@pytest.mark.anyio
async def test_a_search_that_fails_does_not_say_any_more_that_it_looks(desktop: Desktop) -> None:
    may_fail = asyncio.Event()

    async def search(_text: str, _is_wide: bool) -> Searched:
        await may_fail.wait()
        raise StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The database is away.")

    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await app.push_screen(SearchScreen(search, in_no_book))
        await pilot.press(*"lamp")
        await until(pilot, lambda: "Looking …" in screen_text(app))
        may_fail.set()
        await until(pilot, lambda: "The database is away." in screen_text(app))
        assert "ooking" not in screen_text(app)


def test_what_is_found_for_words(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(tell)

    async def run_before(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        screen = await searching(pilot, app, "the")
        screen.query_one(Input).cursor_blink = False
        await until(pilot, lambda: len(cells(screen)) > 1)

    assert pictures_match(desktop.app(), run_before)
