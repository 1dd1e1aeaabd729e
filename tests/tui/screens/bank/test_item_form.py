"""The forms of an item: what is edited is stored, and an item of the GM's own is added."""

import pytest
from textual.widgets import Select, Static

from core.domain.bank.checks import NO_SHARE
from core.domain.bank.details import Aspect, Attribute, ItemKind, PersonDetails, QuoteDetails, StateDetails
from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from storyengine_tui.screens.bank.item_commands import SO_ALREADY
from storyengine_tui.screens.bank.item_modal import AddItemModal, ItemModal
from storyengine_tui.screens.bank.item_numbers import MANY_ITEMS, NO_ITEM
from storyengine_tui.screens.bank.item_screen import ItemScreen
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.core.values.sessions import session
from tests.tui.chapters.banked_chapter import MIRA
from tests.tui.engine_app import Desktop, in_front, make_active, screen_text, until
from tests.tui.rooms.bank_tab import tab3

pytestmark = pytest.mark.anyio


async def test_an_item_of_every_kind_is_edited_stored_and_undone_and_one_of_the_gms_own_is_added(
    desktop: Desktop,
) -> None:
    async with tab3(desktop, shown="6") as tab:
        # How an item is recalled and whom it is about are edited in its form.
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
        await tab.said("Saved; u undoes it")
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
        await tab.press("escape")
        await tab.press("5")
        await tab.until(lambda: tab.items.has_focus)
        # The words of an item are edited and stay with those who knew it.
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        tab.app.screen.query_one("#sentiment", CappedTextArea).load_text("-0,5")
        await tab.press(*" Not [/yet].", "ctrl+s")
        await tab.said("Saved; u undoes it")
        stored = await tab.stored(4)
        assert (stored.text, stored.is_by_gm, stored.label, stored.sentiment) == (
            "Jonas has not been told. Not [/yet].",
            True,
            MIRA,
            -0.5,
        )
        await tab.press("enter")
        await tab.until(lambda: "Sentiment: -0.50 of -1 to 1" in screen_text(tab.app))
        await tab.press("escape")
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        tab.app.screen.query_one("#importance", CappedTextArea).load_text("seven")
        await tab.press("ctrl+s")
        await tab.until(lambda: NO_SHARE in str(tab.app.screen.query_one("#refused", Static).content))
        await tab.press("escape")
        await tab.until(lambda: "Discard the changes?" in screen_text(tab.app))
        await tab.press("escape")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        assert tab.app.screen.query_one("#importance", CappedTextArea).text == "seven", "it is kept"
        await tab.press("escape")
        await tab.until(lambda: "Discard the changes?" in screen_text(tab.app))
        await tab.press("right", "enter")
        await tab.until(lambda: not isinstance(tab.app.screen, ItemModal))
        await tab.press("t")
        await tab.said("Closed: 1 item")
        await tab.until(lambda: "closed" in screen_text(tab.app))
        await tab.press("3")
        await tab.until(lambda: tab.items.has_focus)
        # Details that are typed are stored, shown and undone.
        before = await tab.stored(1)
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        for name, typed in (("attributes", "age: sixty [/x]"), ("exposure_desired", "0,75")):
            tab.app.screen.query_one(f"#{name}", CappedTextArea).load_text(typed)
        await tab.press("ctrl+s")
        await tab.said("Saved; u undoes it")
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
        await tab.said("Undone for “Tobias [/x]”")
        assert (await tab.stored(1)).details == before.details
        await tab.press("7")
        await tab.until(lambda: tab.items.has_focus)
        # What a quote proves is typed by names and ids and undone.
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        field = tab.app.screen.query_one("#data_item_ids", CappedTextArea)
        refused = tab.app.screen.query_one("#refused", Static)
        for typed, sentence in (("Nobody", NO_ITEM.format("Nobody")), ("mira", MANY_ITEMS.format(3, "mira"))):
            field.load_text(typed)
            await tab.press("ctrl+s")
            await tab.until(lambda: sentence in str(refused.content))  # noqa: B023 - it is awaited here
        field.load_text("tobias [/x]; 00000005;")
        await tab.press("ctrl+s")
        await tab.said("Saved; u undoes it")
        quote = await tab.stored(10)
        assert isinstance(quote.details, QuoteDetails)
        assert [one.int for one in quote.details.data_item_ids] == [1, 5]
        await tab.press("enter")
        await tab.until(lambda: "Proves: “Tobias [/x]”, “The brass key”" in screen_text(tab.app))
        assert "Id: 0000000a" in screen_text(tab.app)
        await tab.press("escape", "e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        assert tab.app.screen.query_one("#data_item_ids", CappedTextArea).text == "00000001; 00000005"
        await tab.press("escape", "u")
        await tab.said("Undone for “")
        assert (await tab.stored(10)).details == QuoteDetails(speaker="Mira")
        await tab.press("4")
        await tab.until(lambda: tab.items.has_focus)
        # An item of the GM's own is added for those who are ticked.
        await tab.press("plus")
        await tab.until(lambda: isinstance(tab.app.screen, AddItemModal))
        screen = tab.app.screen
        await tab.press(*"The inn", "tab", *"It has a cellar.")
        screen.query_one("#known-to").focus()
        await tab.press("2", "3", "ctrl+s")
        await tab.said("Added")
        await tab.until(lambda: "The inn" in tab.names)
        added = next(item for item in await tab.bank.items() if item.name == "The inn")
        assert (added.label, added.text, added.take) == (MIRA, "It has a cellar.", None)


async def test_a_state_that_is_added_is_of_the_chosen_part_of_the_sheet(desktop: Desktop) -> None:
    async with tab3(desktop, shown="4") as tab:
        await tab.press("plus")
        await tab.until(lambda: isinstance(tab.app.screen, AddItemModal))
        form = tab.app.screen
        kind, aspect = form.query_one("#kind", Select), form.query_one("#aspect", Select)
        assert not aspect.is_on_screen
        kind.value = "state"
        await tab.until(lambda: aspect.is_on_screen)
        kind.value = "place"
        await tab.until(lambda: not aspect.is_on_screen)
        kind.value = "state"
        aspect.value = "mood"
        form.query_one("#name").focus()
        await tab.press(*"Mira", "tab", *"Angry.", "ctrl+s")
        await tab.said("Places · Added to ")
        added = next(item for item in await tab.bank.items() if item.text == "Angry.")
        assert added.details == StateDetails(aspect=Aspect.MOOD)


async def test_a_relation_that_is_added_says_toward_whom(desktop: Desktop) -> None:
    async with tab3(desktop, shown="4") as tab:
        await tab.press("plus")
        await tab.until(lambda: isinstance(tab.app.screen, AddItemModal))
        form = tab.app.screen
        kind, aspect = form.query_one("#kind", Select), form.query_one("#aspect", Select)
        other = form.query_one("#other", CappedTextArea)
        kind.value = "state"
        await tab.until(lambda: aspect.is_on_screen)
        assert not other.is_on_screen
        aspect.value = "relation"
        await tab.until(lambda: other.is_on_screen)
        other.focus()
        await tab.press(*"Kara ")
        aspect.value = "mood"
        await tab.until(lambda: not other.is_on_screen)
        aspect.value = "relation"
        await tab.until(lambda: other.is_on_screen)
        kind.value = "fact"
        await tab.until(lambda: not other.is_on_screen)
        kind.value = "state"
        await tab.until(lambda: other.is_on_screen)
        assert other.text == "Kara ", "another choice drops nothing that was typed"
        form.query_one("#name").focus()
        await tab.press(*"Mira", "tab", *"Trusts her.", "ctrl+s")
        await tab.said("Places · Added to ")
        added = next(item for item in await tab.bank.items() if item.text == "Trusts her.")
        assert added.details == StateDetails(aspect=Aspect.RELATION, other="Kara")


@pytest.mark.parametrize(
    ("aspect", "typed", "stored"),
    [
        (Aspect.RELATION, " 1 ", StateDetails(aspect=Aspect.RELATION, other="Mira")),
        (Aspect.MOOD, "Kara", StateDetails(aspect=Aspect.MOOD)),
    ],
    ids=["a number names the character", "only a relation is toward someone"],
)
async def test_what_a_state_is_toward_is_stored_by_its_part_of_the_sheet(
    desktop: Desktop, aspect: Aspect, typed: str, stored: StateDetails
) -> None:
    async with tab3(desktop, shown="4") as tab:
        await tab.press("plus")
        await tab.until(lambda: isinstance(tab.app.screen, AddItemModal))
        form = tab.app.screen
        form.query_one("#kind", Select).value = "state"
        form.query_one("#aspect", Select).value = aspect.value
        form.query_one("#other", CappedTextArea).load_text(typed)
        form.query_one("#name").focus()
        await tab.press(*"Jonas", "tab", *"So it is.", "ctrl+s")
        await tab.said("Places · Added to ")
        added = next(item for item in await tab.bank.items() if item.text == "So it is.")
        assert added.details == stored


async def test_a_refused_state_of_a_cast_of_seven_leaves_room_for_the_buttons(desktop: Desktop) -> None:
    async def refuse(*_: object) -> None:
        raise IllegalCommandError("A reason of two lines, " + "which goes on and on, " * 4)

    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        app.push_screen(AddItemModal(session(characters=7), refuse, ItemKind.STATE))
        await in_front(pilot, AddItemModal)
        app.screen.query_one("#aspect", Select).value = "relation"
        await until(pilot, lambda: "Toward" in screen_text(app))
        await pilot.press(*"Mira", "tab", *"Angry.", "ctrl+s")
        await until(pilot, lambda: "A reason of two lines" in screen_text(app))
        assert all(words in screen_text(app) for words in ("Cancel  ", "Add  ", "Toward", "4 Agent Green"))
        await pilot.press("escape")
        await in_front(pilot, ConfirmModal)
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is app.chapter)


async def test_a_form_that_changes_nothing_promises_no_undo(desktop: Desktop) -> None:
    """u would take back an earlier change."""
    async with tab3(desktop, shown="6") as tab:
        chosen = tab.items.chosen
        assert chosen is not None
        await tab.press("e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        await tab.press("ctrl+s")
        await tab.said(SO_ALREADY)
        assert (await tab.stored(chosen.item.id.int)).version == chosen.item.version
