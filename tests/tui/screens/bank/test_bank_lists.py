"""The lists of the memory bank on tab 3: what they show, and what one key does with their items."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Select, Static

from core.domain.audience import Audience
from core.domain.bank.details import Attribute, ItemKind, PersonDetails, StateDetails
from core.domain.bank.item import Item, Validation
from core.domain.slot import Slot
from core.engine.bank.changes import NO_WIDER, OTHER_KIND
from core.engine.bank.service import Bank
from core.engine.engine import Engine
from storyengine_tui.screens.bank.bank_desk import NO_THREAD, ONE_TO_EDIT
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.bank.item_modal import AddItemModal, ItemModal
from storyengine_tui.screens.bank.item_numbers import NO_SHARE
from storyengine_tui.screens.bank.item_screen import ItemScreen
from storyengine_tui.screens.narrative.memory.remembered_cell import RememberedCell
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.panel_switcher import PanelSwitcher
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.tui.bank_desk import ITEMS, MIRA, SCRIPT, by_number, is_confirmed, keep, make_banked
from tests.tui.engine_app import Desktop, make_active, screen_text, until

pytestmark = pytest.mark.anyio


class Tab:
    """Tab 3 as the GM sees it."""

    def __init__(self, pilot: Pilot[Any], app: StoryEngineApp) -> None:
        self.pilot, self.app = pilot, app

    @property
    def cell(self) -> RememberedCell:
        return self.app.chapter.query_one(RememberedCell)

    @property
    def items(self) -> ItemList:
        return self.cell.query_one(ItemList)

    @property
    def names(self) -> list[str]:
        return [row.item.name for row in self.cell.query_one(ItemList).rows]

    @property
    def title(self) -> str:
        return str(self.cell.query_one("#memory-title", Static).content)

    @property
    def count(self) -> str:
        return str(self.cell.query_one("#memory-count", Static).content)

    @property
    def bank(self) -> Bank:
        assert self.app.session is not None
        return self.app.session.bank

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, holds: Any, what: str = "") -> None:
        await until(self.pilot, holds, what)

    async def stored(self, number: int) -> Item:
        return by_number(await self.bank.items(with_all=True), number)

    async def said(self, words: str) -> None:
        await self.until(lambda: words in self.title, f"{words!r} is not in {self.title!r}")

    async def warned(self, sentence: str) -> None:
        def has_come() -> bool:
            return any(str(one.message) == sentence for one in self.app._notifications)

        await self.until(has_come, sentence)


@asynccontextmanager
async def tab3(
    desktop: Desktop, prepare: Any = make_banked, shown: str = "3", size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Tab]:
    """Open the program on tab 3, with a list of the bank shown."""
    desktop.script = SCRIPT
    async with desktop.window(prepare, size=size) as (pilot, app):
        tab = Tab(pilot, app)
        await pilot.press("f4")
        await tab.until(lambda: tab.cell.is_known and tab.cell.keeps_bank and tab.cell._rows is not None)
        await tab.press(shown)
        await tab.until(lambda: tab.items.has_focus)
        yield tab


async def test_a_chapter_that_keeps_no_bank_has_the_two_forms_of_memory_and_reads_no_items(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object, **__: object) -> Sequence[Item]:
        raise AssertionError("the bank was read")

    monkeypatch.setattr(Bank, "items", refused)
    desktop.script = SCRIPT
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        tab = Tab(pilot, app)
        await pilot.press("f4")
        await tab.until(lambda: tab.cell.is_known)
        await tab.press("3", "f")
        assert len(tab.cell.query_one("#memory-forms", PanelSwitcher).entries) == 2
        assert not tab.cell.query(ItemList)
        assert tab.title == "Structured memory"
        assert not app.chapter.may_do("narrative", "bank_list('people')")
        assert not app.chapter.may_do("play", "sheet")


async def test_each_list_has_its_kinds_and_says_how_many_wait_to_be_confirmed(desktop: Desktop) -> None:
    async with tab3(desktop) as tab:
        assert tab.names == ["Tobias [/x]", "The inspector"]
        assert tab.count == "2 items · 10 to confirm"
        for key, names in (
            ("4", ["The stair"]),
            ("5", ["Who hid the key?"]),
            ("6", ["The brass key", "Mira", "The lamp goes out", "Mira", "Mira"]),
            ("7", ["Mira"]),
        ):
            await tab.until(lambda: tab.items._painted, "the rows are painted")
            await tab.press(key)
            assert tab.names == names
        await tab.until(lambda: tab.items._painted, "the rows are painted")
        # Each list that was looked at is not new any more.
        await tab.press("1")
        await tab.until(lambda: "to confirm" not in tab.count)
        assert tab.cell.query_one(PassageView).display
        assert {item.validation for item in await tab.bank.items()} == {Validation.SEEN}


async def test_one_key_confirms_pins_and_rejects_and_undo_takes_it_back(desktop: Desktop) -> None:
    async with tab3(desktop) as tab:
        await tab.press("c")
        await tab.said("Confirmed: 1 item")
        await tab.press("p")
        await tab.said("Pinned: 1 item")
        await tab.until(lambda: "pinned ✓" in screen_text(tab.app))
        await tab.press("x")
        await tab.said("Rejected: 1 item")
        await tab.until(lambda: tab.names == ["The inspector"])
        stored = await tab.stored(1)
        assert (stored.validation, stored.is_pinned, stored.version) == (Validation.REJECTED, True, 4)
        await tab.press("u")
        await tab.said("Undone for 1 item")
        await tab.until(lambda: len(tab.names) == 2)
        await tab.press("u", "u")
        await tab.until(lambda: "pinned" not in screen_text(tab.app) and "✓" not in screen_text(tab.app))
        await tab.press("U")
        await tab.said("Done again for 1 item")
        assert is_confirmed(await tab.stored(1))


async def test_a_list_that_shows_has_the_keys_again_after_another_tab(desktop: Desktop) -> None:
    async with tab3(desktop, shown="4") as tab:
        await tab.press("f3")
        await tab.until(lambda: not tab.items.has_focus)
        await tab.press("f4")
        await tab.until(lambda: tab.items.has_focus)
        await tab.press("p")
        await tab.said("Pinned: 1 item")


async def test_space_marks_several_on_which_a_key_acts_at_once(desktop: Desktop) -> None:
    async with tab3(desktop, shown="6") as tab:
        await tab.press("space", "space")
        assert tab.count.startswith("5 items · 2 marked")
        await tab.press("e")
        await tab.warned(ONE_TO_EDIT)
        await tab.press("c")
        await tab.said("Confirmed: 2 items")
        first, second = await tab.stored(5), await tab.stored(9)
        assert is_confirmed(first)
        assert first.updated_at == second.updated_at
        await tab.press("t")
        await tab.warned(NO_THREAD)


async def test_what_was_taken_out_is_shown_on_request_and_comes_back_by_the_same_key(
    desktop: Desktop,
) -> None:
    async with tab3(desktop) as tab:
        await tab.press("x")
        await tab.until(lambda: tab.names == ["The inspector"])
        await tab.press("f", "f", "f", "f")
        assert tab.names == ["Tobias [/x]"]
        assert tab.count == "1 taken out · 9 to confirm"
        await tab.press("x")
        await tab.until(lambda: tab.names == [])
        assert "Nothing here is like that" in screen_text(tab.app)
        await tab.press("f")
        assert len(tab.names) == 2


async def test_a_merge_says_why_it_is_refused_and_else_which_item_goes_on(desktop: Desktop) -> None:
    jonas = replace(ITEMS[1], label=Audience.of((Slot.ORANGE,)), id=ITEMS[0].id)

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), (jonas, *ITEMS[1:]))

    async with tab3(desktop, make) as tab:
        await tab.press("space", "space", "m")
        await tab.warned(NO_WIDER)
        await tab.press("6", "space", "space", "m")
        await tab.warned(OTHER_KIND)
        assert all(item.merged_into is None for item in await tab.bank.items(with_all=True))
    async with tab3(desktop, shown="6") as tab:
        await tab.press("down", "space", "down", "down", "space", "m")
        await tab.said("Merged 2 items into “Mira”")
        await tab.until(lambda: len(tab.names) == 4)


async def test_the_words_of_an_item_are_edited_and_stay_with_those_who_knew_it(desktop: Desktop) -> None:
    async with tab3(desktop, shown="5") as tab:
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        tab.app.screen.query_one("#sentiment", CappedTextArea).load_text("-0,5")
        await tab.press(*" Not [/yet].", "ctrl+s")
        await tab.said("Stored; u undoes it")
        stored = await tab.stored(4)
        assert (stored.text, stored.is_by_gm, stored.label, stored.sentiment) == (
            "Jonas has not been told. Not [/yet].",
            True,
            MIRA,
            -0.5,
        )
        await tab.press("enter")
        await tab.until(lambda: "Feeling about it: -0.50 of -1 to 1" in screen_text(tab.app))
        await tab.press("escape")
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        tab.app.screen.query_one("#importance", CappedTextArea).load_text("seven")
        await tab.press("ctrl+s")
        await tab.until(lambda: NO_SHARE in str(tab.app.screen.query_one("#refused", Static).content))
        await tab.press("escape", "t")
        await tab.said("Closed: 1 item")
        await tab.until(lambda: "closed" in screen_text(tab.app))


async def test_how_an_item_is_recalled_and_whom_it_is_about_are_edited_in_its_form(desktop: Desktop) -> None:
    async with tab3(desktop, shown="6") as tab:
        await tab.press("down")
        chosen = tab.items.chosen
        assert chosen is not None
        assert chosen.item.kind is ItemKind.STATE
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        screen = tab.app.screen
        for name, typed in (("confidence", "0.9"), ("decay", "never"), ("until", "40")):
            screen.query_one(f"#{name}", CappedTextArea).load_text(typed)
        screen.query_one("#about", Select).value = Slot.ORANGE.value
        screen.query_one("#is_over", Select).value = True
        await tab.press("ctrl+s")
        await tab.said("Stored; u undoes it")
        stored = await tab.stored(chosen.item.id.int)
        assert (stored.confidence, stored.decay_rate, stored.expires_at) == (0.9, 0.0, 40)
        assert stored.about is Slot.ORANGE
        assert isinstance(stored.details, StateDetails)
        assert stored.details.is_over
        await tab.until(lambda: "over" in screen_text(tab.app))
        tab.items.go_to(stored.id)
        await tab.press("enter")
        await tab.until(lambda: isinstance(tab.app.screen, ItemScreen))
        view = tab.app.screen.query_one(PassageView)
        await tab.until(lambda: "How it was changed" in view.lines.text)
        for line in ("Confidence: 0.90", "Fading: never", "Recalled no longer after prompt 40"):
            assert line in view.lines.text
        assert "fading, before" in view.lines.text


async def test_details_that_are_typed_are_stored_shown_and_undone(desktop: Desktop) -> None:
    async with tab3(desktop, shown="3") as tab:
        before = await tab.stored(1)
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        for name, typed in (("attributes", "age: sixty [/x]"), ("exposure_desired", "0,75")):
            tab.app.screen.query_one(f"#{name}", CappedTextArea).load_text(typed)
        await tab.press("ctrl+s")
        await tab.said("Stored; u undoes it")
        stored = await tab.stored(1)
        assert stored.details == PersonDetails(
            relationship="her cousin",
            attributes=(Attribute(name="age", value="sixty [/x]"),),
            exposure_desired=0.75,
        )
        await tab.press("enter")
        await tab.until(lambda: "Qualities: age: sixty [/x]" in screen_text(tab.app))
        assert "Last changed by: you" in screen_text(tab.app)
        await tab.press("escape", "u")
        await tab.said("Undone for 1 item")
        assert (await tab.stored(1)).details == before.details


async def test_an_item_of_the_gms_own_is_added_for_those_who_are_ticked(desktop: Desktop) -> None:
    async with tab3(desktop, shown="4") as tab:
        await tab.press("plus")
        await tab.until(lambda: isinstance(tab.app.screen, AddItemModal))
        screen = tab.app.screen
        await tab.press(*"It has a cellar.")
        screen.query_one("#name", CappedTextArea).focus()
        await tab.press(*"The inn")
        screen.query_one("#known-to").focus()
        await tab.press("2", "3", "ctrl+s")
        await tab.said("Added")
        await tab.until(lambda: "The inn" in tab.names)
        added = next(item for item in await tab.bank.items() if item.name == "The inn")
        assert (added.label, added.text, added.take) == (MIRA, "It has a cellar.", None)


async def test_the_lists_show_what_one_character_knows_and_what_has_the_words(desktop: Desktop) -> None:
    async with tab3(desktop) as tab:
        await tab.press("f12", "f12")
        assert tab.names == ["Tobias [/x]"]
        assert "as 2 Jonas" in tab.title
        await tab.press("escape", "slash", *"TIDE next")
        assert tab.names == ["The inspector"]
        await tab.press("enter")
        assert tab.items.has_focus
        await tab.press("6")
        assert tab.names == []
        tab.cell.query_one("#memory-search", Input).value = "reef"
        await tab.press()
        assert tab.names == ["The lamp goes out"]


async def test_the_details_have_the_proof_which_leads_to_its_line_in_the_transcript(desktop: Desktop) -> None:
    async with tab3(desktop, shown="7") as tab:
        await tab.press("p")
        await tab.said("Pinned")
        await tab.press("enter")
        await tab.until(lambda: isinstance(tab.app.screen, ItemScreen))
        view = tab.app.screen.query_one(PassageView)
        await tab.until(lambda: "How it was changed" in view.lines.text)
        assert "Known to: everyone" in view.lines.text
        assert "Recalled: never" in view.lines.text
        assert ": pinned" in view.lines.text
        assert "prompt 1: “nobody crosses the bar before dawn”" in screen_text(tab.app)
        await tab.press("enter")
        chapter = tab.app.chapter
        await tab.until(lambda: chapter.active_tab == "play")
        from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel

        panel = chapter.query_one(TranscriptPanel)
        await tab.until(lambda: panel.transcript.marked_place is not None)
        assert panel.transcript.selected_in_one == "nobody crosses the bar before dawn"
        assert panel.marked_prompt == 1


async def test_what_an_undone_prompt_had_is_gone_and_comes_back_with_it(desktop: Desktop) -> None:
    late = replace(ITEMS[0], prompt_index=3, evidence=(replace(ITEMS[0].evidence[0], prompt_index=3),))

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), (late, *ITEMS[1:]))

    async with tab3(desktop, make) as tab:
        assert len(tab.names) == 2
        assert tab.app.session is not None
        await tab.app.session.takes.undo()
        await tab.until(lambda: tab.names == ["The inspector"])
        await tab.app.session.takes.redo()
        await tab.until(lambda: len(tab.names) == 2)
