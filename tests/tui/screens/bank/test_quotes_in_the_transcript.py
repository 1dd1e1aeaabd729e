"""Quotes on tab 2: their words are underlined, a selection becomes one, and the sheet beside the composer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from core.domain.bank.details import ItemKind, QuoteDetails
from core.domain.bank.item import ItemOrigin
from core.domain.ids import ItemId
from core.engine.services.bank.bank import Bank
from core.engine.services.bank.item_changes import NO_WORDS
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.bank.item_modal import AddItemModal
from storyengine_tui.screens.bank.item_screen import ItemScreen
from storyengine_tui.screens.bank.sheet_modal import NO_CHANGES, SheetModal
from storyengine_tui.screens.play.actions.bank_actions import ONE_EVENT
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.reading.transcript_lines import SourcePos
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.chapters.banked_chapter import SCRIPT, by_number, make_banked
from tests.tui.engine_app import Desktop, make_active, screen_text, until

pytestmark = pytest.mark.anyio
QUOTE = "nobody crosses the bar before dawn"


class Play:
    """Tab 2 as the GM sees it."""

    def __init__(self, pilot: Pilot[Any], app: StoryEngineApp) -> None:
        self.pilot, self.app = pilot, app

    @property
    def view(self) -> TranscriptView:
        return self.app.chapter.query_one(TranscriptPanel).transcript

    @property
    def bank(self) -> Bank:
        assert self.app.session is not None
        return self.app.session.bank

    @property
    def underlined(self) -> list[str]:
        """The underlined text of each line that has some."""
        found = []
        for y in range(self.view.size.height):
            strip = self.view.render_line(y)
            text = "".join(one.text for one in strip if one.style is not None and one.style.underline)
            if text:
                found.append(text)
        return found

    async def until(self, holds: Any, what: str = "") -> None:
        await until(self.pilot, holds, what)

    async def select(self, begin: str, end: str) -> None:
        """Select from the first place of a text to the end of another one, by keys."""
        texts = [one.text for one in self.view.lines.paragraphs]
        first = next(number for number, text in enumerate(texts) if begin in text)
        last = next(number for number, text in enumerate(texts) if end in text and number >= first)
        self.view.focus()
        self.view.mark_at(SourcePos(first, texts[first].index(begin)))
        await self.pilot.press("space")
        selection = self.view.selection
        selection.select(selection.anchor, SourcePos(last, texts[last].index(end) + len(end)))
        await self.pilot.pause()

    async def warned(self, sentence: str) -> None:
        await self.until(
            lambda: any(str(one.message) == sentence for one in self.app._notifications), sentence
        )


@asynccontextmanager
async def tab2(desktop: Desktop, prepare: Any = make_banked) -> AsyncIterator[Play]:
    """Open the program on tab 2."""
    desktop.script = SCRIPT
    async with desktop.window(prepare, size=(120, 40)) as (pilot, app):
        yield Play(pilot, app)


async def test_words_of_a_quote_are_underlined_and_words_that_are_selected_become_one(
    desktop: Desktop,
) -> None:
    async with tab2(desktop) as play:
        # Words of a quote are underlined until it is rejected also where they are selected.
        await play.until(lambda: play.underlined)
        # The other characters said the same words; the proof is in the first reply.
        assert play.underlined == [QUOTE]
        await play.bank.reject([by_number(await play.bank.items(), 10)])
        await play.until(lambda: not play.underlined)
        await play.bank.undo()
        await play.until(lambda: play.underlined == [QUOTE])
        await play.select("that nobody", "before dawn")
        assert play.underlined == [QUOTE]
        await play.pilot.press("c")
        assert play.app.clipboard == f"that {QUOTE}"
        await play.pilot.press("escape")
        # Words that are selected become a quote of the one who said them.
        await play.select("Jonas [/x]: I hid", "under the stair.")
        await play.pilot.press("q")
        await play.until(lambda: len(play.underlined) == 2)
        quote = next(one for one in await play.bank.items() if one.origin is ItemOrigin.GM)
        assert quote.text == "I hid the brass key [/x] under the stair"
        proved = tuple(ItemId(UUID(int=number)) for number in (3, 5, 9))
        assert quote.details == QuoteDetails(speaker="Jonas [/x]", data_item_ids=proved)
        assert (quote.prompt_index, quote.take) == (2, 1)
        assert play.view.selection.key is None
        assert play.app.session is not None
        await play.app.session.takes.undo()
        await play.app.session.takes.undo()
        # The prompt in which it was said is not part of the story now.
        await play.until(lambda: play.underlined == [QUOTE])


async def test_a_cursor_keeps_the_whole_line_and_two_lines_are_refused(desktop: Desktop) -> None:
    async with tab2(desktop) as play:
        await play.select("1) Prompt", "Mira: I hid")
        await play.pilot.press("q")
        await play.warned(ONE_EVENT)
        await play.pilot.press("escape")
        play.view.mark_at(SourcePos(0, 0))
        await play.pilot.press("q")
        await play.until(lambda: "Prompt number 1" in play.underlined)
        await play.select("1)", "1)")
        await play.pilot.press("q")
        await play.until(lambda: NO_WORDS in screen_text(play.app).replace("\n", " "))
        quotes = [one for one in await play.bank.items() if one.kind is ItemKind.QUOTE]
        assert len(quotes) == 2


async def sheet_of(play: Play) -> ItemList:
    """Open the sheet of the panel's character, of whom two items are known."""
    await play.pilot.press("alt+c")
    await play.until(lambda: isinstance(play.app.screen, SheetModal))
    items = play.app.screen.query_one(ItemList)
    await play.until(lambda: len(items.rows) == 2)
    return items


async def test_a_line_is_added_to_the_sheet_that_shows(desktop: Desktop) -> None:
    async with tab2(desktop) as play:
        items = await sheet_of(play)
        about = items.rows[0].item.about
        await play.pilot.press("+")
        await play.until(lambda: isinstance(play.app.screen, AddItemModal))
        await play.pilot.press(*"Rope", "tab", *"Carries a rope.", "ctrl+s")
        await play.until(lambda: isinstance(play.app.screen, SheetModal) and len(items.rows) == 3)
        [added] = [row.item for row in items.rows if row.item.name == "Rope"]
        assert (added.kind, added.about, added.text) == (ItemKind.STATE, about, "Carries a rope.")
        await play.pilot.press("u")
        await play.until(lambda: len(items.rows) == 2)


async def test_the_sheet_of_the_panels_character_leads_to_its_proofs_and_is_corrected_in_place(
    desktop: Desktop,
) -> None:
    async with tab2(desktop) as play:
        # A proof on the sheet leads to its words in the transcript.
        await sheet_of(play)
        await play.pilot.press("down", "enter")
        await play.until(lambda: isinstance(play.app.screen, ItemScreen))
        await play.pilot.press("enter")
        await play.until(lambda: play.app.screen is play.app.chapter and play.view.has_focus)
        await play.until(lambda: play.view.selection.text_in_one == "the brass key")
        # The sheet of the panels character is corrected in place.
        items = await sheet_of(play)
        assert [row.item.text for row in items.rows] == ["A burn on the left hand.", "Has the log book."]
        await play.pilot.press("x")
        await play.until(lambda: len(items.rows) == 1)
        done = play.app.screen.query_one("#done", Static)
        assert str(done.content).startswith("Rejected: 1 item")
        await play.pilot.press("u")
        await play.until(lambda: len(items.rows) == 2)
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, ItemScreen))
        await play.pilot.press("escape", "escape")
        await play.until(lambda: play.app.screen is play.app.chapter)
        await play.pilot.press("ctrl+n", "alt+c")
        await play.until(lambda: isinstance(play.app.screen, SheetModal))
        nothing = play.app.screen.query_one("#nothing", Static)
        await play.until(lambda: str(nothing.content) == NO_CHANGES)


async def test_a_chapter_without_a_bank_has_neither_quotes_nor_a_sheet(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object, **__: object) -> None:
        raise AssertionError("the bank was read")

    monkeypatch.setattr(Bank, "items", refused)
    async with tab2(desktop, lambda engine: make_active(engine, 1)) as play:
        await play.pilot.press("alt+c")
        assert play.app.screen is play.app.chapter
        await play.select("Mira: I hid", "under")
        await play.pilot.press("q")
        await play.pilot.pause()
        assert not play.underlined
        assert play.app.bug is None
