"""The lists of the memory bank on tab 3: what they show, and what one key does with their items."""

import asyncio
from asyncio import Event
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Input, Static

from core.domain.audience import Audience
from core.domain.bank.item import Item, Validation
from core.domain.ids import ItemId
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.services.bank.bank import NO_THREAD, Bank
from core.engine.services.bank.item_changes import NO_WIDER, OTHER_KIND
from storyengine_tui.screens.bank.bank_rows import rows_of
from storyengine_tui.screens.bank.item_commands import ONE_TO_EDIT
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.bank.item_screen import ItemScreen
from storyengine_tui.screens.bank.sheet_modal import SheetModal
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.memory.item_list_reader import NONE_ALIKE
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.panel_switcher import PanelSwitcher
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.core.values.bank import fact
from tests.tui.chapters.banked_chapter import ITEMS, SCRIPT, is_confirmed, keep, make_banked
from tests.tui.chapters.chapter import session
from tests.tui.engine_app import Desktop, make_active, screen_text
from tests.tui.rooms.bank_tab import Tab, tab3

pytestmark = pytest.mark.anyio


async def test_the_last_column_stands_beside_the_scroll_bar_of_a_long_list() -> None:
    chapter = session(40)
    items = [fact(number, session_id=chapter.id) for number in range(1, 60)]
    view = ItemList(lambda: chapter, id="items")

    class ListApp(App[None]):
        def compose(self) -> ComposeResult:
            yield view

    app = ListApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for count, room in ((3, 80), (59, 79)):
            rows = rows_of(items[:count], {}, 40)
            view.show_items(rows)
            await pilot.pause()
            assert view.show_vertical_scrollbar is (count > 24)
            assert view.render_line(0).text[:room].endswith(f"{rows[0].strength:.2f}"[-3:])


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
        await tab.until(lambda: tab.cell.memory.is_known)
        await tab.press("3", "f")
        assert len(tab.cell.query_one("#memory-forms", PanelSwitcher).entries) == 2
        assert not tab.cell.query(ItemList)
        assert tab.title == "Structured memory"
        assert not app.chapter.may_do("narrative", "bank_list('people')")
        assert not app.chapter.may_do("play", "sheet")


async def test_each_list_has_its_kinds_says_how_many_are_new_and_has_the_keys_while_it_shows(
    desktop: Desktop,
) -> None:
    async with tab3(desktop) as tab:
        assert tab.names == ["Tobias [/x]", "The inspector"]
        assert tab.count == "2 items · 10 new in lists 3 to 7"
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
        await tab.until(lambda: " new" not in tab.count)
        assert tab.cell.query_one(PassageView).display
        assert {item.validation for item in await tab.bank.items()} == {Validation.SEEN}
        # A letter that is no key of a list is not typed into the wishes.
        await tab.press("3")
        await tab.until(lambda: tab.items.has_focus)
        await tab.press("D", "Q", "q", "z")
        assert tab.items.has_focus
        assert not tab.app.chapter.query_one(DefinitionCell).area.text
        await tab.press("p")
        await tab.said("Pinned: 1 item")
        # A list that shows has the keys again after another tab.
        await tab.press("4", "f3")
        await tab.until(lambda: not tab.items.has_focus)
        await tab.press("f4")
        await tab.until(lambda: tab.items.has_focus)
        assert "pinned" not in screen_text(tab.app)
        await tab.press("p")
        await tab.until(lambda: "pinned" in screen_text(tab.app))


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
        await tab.said("Undone for “Tobias [/x]”")
        await tab.until(lambda: len(tab.names) == 2)
        await tab.press("u", "u")
        await tab.until(lambda: "pinned" not in screen_text(tab.app) and "✓" not in screen_text(tab.app))
        await tab.press("U")
        await tab.said("Done again for “Tobias [/x]”")
        assert is_confirmed(await tab.stored(1))


async def test_marked_items_are_those_on_which_a_key_acts_at_once(desktop: Desktop) -> None:
    async with tab3(desktop, shown="6") as tab:
        # Space marks several on which a key acts at once.
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
        # A marks all items that show and a key acts on them.
        await tab.press("space", "a")
        assert tab.count.startswith("5 items · 5 marked")
        await tab.press("a")
        assert "marked" not in tab.count
        await tab.press("a", "p")
        await tab.said("Pinned: 5 items")


async def test_what_was_taken_out_is_shown_on_request_and_comes_back_by_the_same_key(
    desktop: Desktop,
) -> None:
    async with tab3(desktop) as tab:
        await tab.press("x")
        await tab.until(lambda: tab.names == ["The inspector"])
        # The filters for confirmed and pinned items are skipped, since there are no such items.
        await tab.press("f", "f")
        assert tab.names == ["Tobias [/x]"]
        assert tab.count == "1 taken out · 9 new in lists 3 to 7"
        await tab.press("x")
        await tab.until(lambda: tab.names == [])
        assert "No item matches" in screen_text(tab.app)
        await tab.press("f")
        assert len(tab.names) == 2
        await tab.press("a", "x")
        await tab.until(lambda: tab.names == [])
        assert "All items of this list were taken out; f shows them." in screen_text(tab.app)
        await tab.press("f")
        assert len(tab.names) == 2


async def test_a_merged_item_that_counts_again_is_rejected_by_one_key(desktop: Desktop) -> None:
    late = replace(ITEMS[1], prompt_index=3, evidence=(replace(ITEMS[1].evidence[0], prompt_index=3),))
    merged = replace(ITEMS[0], merged_into=late.id)

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), (merged, late))

    async with tab3(desktop, make) as tab:
        assert tab.app.session is not None
        assert tab.names == [late.name]
        await tab.app.session.takes.undo()
        await tab.until(lambda: tab.names == [merged.name])
        await tab.press("enter")
        await tab.until(lambda: isinstance(tab.app.screen, ItemScreen))
        view = tab.app.screen.query_one(PassageView)
        await tab.until(lambda: "Learned by" in view.lines.text)
        assert "State: merged" not in view.lines.text
        await tab.press("escape", "x")
        await tab.said("Rejected: 1 item")
        await tab.until(lambda: tab.names == [])
        assert (await tab.stored(1)).validation is Validation.REJECTED


async def test_a_list_and_the_sheet_show_what_another_window_made_of_their_items(desktop: Desktop) -> None:
    async with desktop.engine("elsewhere") as elsewhere:
        writer = await elsewhere.open(await make_banked(elsewhere))
        async with tab3(desktop, None) as tab:
            assert tab.app.session is not None
            assert tab.app.session.is_read_only
            await tab.press("f3", "alt+c")
            await tab.until(lambda: isinstance(tab.app.screen, SheetModal))
            lines = tab.app.screen.query_one(ItemList)
            await tab.until(lambda: len(lines.rows) == 2)
            await writer.bank.reject([lines.rows[0].item])
            await tab.until(lambda: len(lines.rows) == 1)
            await tab.press("escape", "f4")
            await tab.until(lambda: tab.items.has_focus)
            [tobias] = [one for one in await writer.bank.items() if one.id == ITEMS[0].id]
            await writer.bank.pin([tobias])
            await tab.until(lambda: "pinned" in screen_text(tab.app))
            await writer.bank.reject([replace(tobias, version=2, is_pinned=True)])
            await tab.until(lambda: tab.names == ["The inspector"])


async def test_what_a_key_asked_for_on_the_sheet_is_stored_where_esc_comes_first(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    reject, begun, may_go_on = Bank.reject, Event(), Event()

    async def slow(bank: Bank, items: Sequence[Item], *, is_on: bool = True) -> Sequence[Item]:
        begun.set()
        await may_go_on.wait()
        return await reject(bank, items, is_on=is_on)

    monkeypatch.setattr(Bank, "reject", slow)
    async with tab3(desktop, make_banked) as tab:
        await tab.press("f3", "alt+c")
        await tab.until(lambda: isinstance(tab.app.screen, SheetModal))
        lines = tab.app.screen.query_one(ItemList)
        await tab.until(lambda: len(lines.rows) == 2)
        await tab.press("x")
        await tab.until(begun.is_set)
        sheet = tab.app.screen
        tab.app.simulate_key("escape")
        while sheet.query("#done"):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
        may_go_on.set()  # The dialog is being removed: its parts are gone, and it is not.
        await tab.until(lambda: not lines.is_attached)
        await tab.press("alt+c")
        await tab.until(lambda: isinstance(tab.app.screen, SheetModal))
        again = tab.app.screen.query_one(ItemList)
        await tab.until(lambda: len(again.rows) == 1)


async def test_a_key_shows_what_may_say_the_same_and_merges_one_group_after_the_other(
    desktop: Desktop,
) -> None:
    key = ITEMS[4]
    doubled = [
        replace(key, id=ItemId(UUID(int=20 + number)), text=f"{text} It is under the stair.", name=name)
        for number, (name, text) in enumerate((("The brass key", "Still."), ("the brass key", "Now.")))
    ]
    lamp = replace(ITEMS[5], id=ItemId(UUID(int=30)))

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), (*ITEMS, *doubled, lamp))

    async with tab3(desktop, make, shown="6") as tab:
        await tab.press("d")
        keys, lamps = ["The brass key", "The brass key", "the brass key"], ["The lamp goes out"] * 2
        await tab.until(lambda: tab.names == [*keys, *lamps])
        assert tab.count.startswith("5 alike")
        assert all(sign in screen_text(tab.app) for sign in ("┌ new", "│ new", "└ new"))
        await tab.press("down", "m")
        await tab.said("Merged 3 items into “The brass key”")
        await tab.until(lambda: tab.names == lamps)
        await tab.press("u")
        await tab.said("Undone for 2 items")
        await tab.until(lambda: tab.names == [*keys, *lamps])
        await tab.press("3")
        empty = tab.cell.query_one("#items-empty", Static)
        await tab.until(lambda: empty.display and str(empty.content) == NONE_ALIKE)
        await tab.press("6", "d")
        await tab.until(lambda: len(tab.names) == 8)
        assert "┌ new" not in screen_text(tab.app)
        next(one for one in commands_of(tab.app, lambda: None) if one.title == "Find duplicates").callback()
        await tab.until(lambda: tab.names == [*keys, *lamps])


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


async def test_a_list_shows_what_one_character_knows_and_what_has_the_words_and_is_left_for_memory(
    desktop: Desktop,
) -> None:
    async with tab3(desktop) as tab:
        await tab.press("f12", "f12")
        assert tab.names == ["Tobias [/x]"]
        assert "as 2 Jonas" in tab.title
        await tab.press("5")
        assert tab.names == []
        assert "Jonas [/x] knows no item of this list; F12" in screen_text(tab.app)
        await tab.press("3")
        await tab.press("escape", "slash", *"TIDE next")
        assert tab.names == ["The inspector"]
        await tab.press("enter")
        assert tab.items.has_focus
        await tab.press("6")
        assert tab.names == []
        tab.cell.query_one("#memory-search", Input).value = "reef"
        await tab.press()
        assert tab.names == ["The lamp goes out"]
        await tab.press("3")
        await tab.until(lambda: tab.items.has_focus)
        # Words that were typed for a list are searched in memory once that shows.
        word = next(one.text.split()[0] for one in tab.cell.memory.view.lines.paragraphs if one.text.strip())
        tab.cell.query_one("#memory-search", Input).value = word
        await tab.press()
        assert not tab.cell.memory.view.matches
        await tab.press("1")
        assert tab.cell.memory.view.matches
        assert str(tab.cell.query_one("#memory-found", Static).content) == tab.cell.memory.found != ""
        tab.cell.query_one("#memory-search", Input).value = ""
        await tab.press("3")
        await tab.until(lambda: tab.items.has_focus)
        # A list is left for the strip of forms where memory has no block yet.
        tab.cell.memory.show_memory((), ())
        tab.items.focus()
        await tab.press("1")
        assert tab.app.focused is tab.cell.query_one("#memory-forms")
        await tab.press("3")
        assert tab.names


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
        await tab.until(lambda: panel.transcript.selection.place is not None)
        assert panel.transcript.selection.text_in_one == "nobody crosses the bar before dawn"
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
