"""Forms: what was typed into their fields is there again after the program was ended (design 10)."""

import json
from pathlib import Path

import pytest
from textual.widgets import Button, Select, Static

from core.domain.bank.details import Aspect, StateDetails
from storyengine_tui.screens.bank.item_modal import AddItemModal, ItemModal
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.stored_text_modal import BEGUN_OVER
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.one_line import LineField
from tests.tui.chapters.banked_chapter import make_banked
from tests.tui.engine_app import Desktop, until
from tests.tui.rooms.bank_tab import Tab, tab3
from tests.tui.screens.library.cast.test_details import details
from tests.tui.screens.library.cast.test_nature import form, nature, with_nature
from tests.tui.screens.library.shelf.test_shelves import make_library
from tests.tui.screens.setup.assist.test_assist_screen import helped

pytestmark = pytest.mark.anyio


def files(desktop: Desktop, pattern: str) -> list[Path]:
    """Return the files of texts, without those that only lock them."""
    return [file for file in desktop.paths.data.glob(pattern) if file.suffix != ".lock"]


def texts(tab: Tab) -> dict[str | None, str]:
    return {field.id: field.text for field in tab.app.screen.query(CappedTextArea)}


async def test_toward_whom_a_relation_is_shows_again_and_is_stored(desktop: Desktop) -> None:
    await desktop.prepare(make_banked)
    async with tab3(desktop, None, shown="4") as tab:
        await tab.press("plus")
        await tab.until(lambda: isinstance(tab.app.screen, AddItemModal) and tab.app.focused)
        tab.app.screen.query_one("#kind", Select).value = "state"
        tab.app.screen.query_one("#aspect", Select).value = "relation"
        other = tab.app.screen.query_one("#other", CappedTextArea)
        await tab.until(lambda: other.is_on_screen)
        other.focus()
        await tab.press(*"Kara")
    async with tab3(desktop, None, shown="4") as tab:
        await tab.press("plus")
        await tab.until(lambda: isinstance(tab.app.screen, AddItemModal) and tab.app.focused)
        other = tab.app.screen.query_one("#other", CappedTextArea)
        await tab.until(lambda: other.is_on_screen)
        assert other.text == "Kara"
        await tab.press("escape")
        await tab.until(lambda: isinstance(tab.app.screen, ConfirmModal))
        await tab.press("escape")
        await tab.until(lambda: isinstance(tab.app.screen, AddItemModal))
        tab.app.screen.query_one("#name").focus()
        await tab.press(*"Mira", "tab", *"Trusts her.", "ctrl+s")
        await tab.until(lambda: len(tab.app.screen_stack) == 1)
        added = next(item for item in await tab.bank.items() if item.text == "Trusts her.")
        assert added.details == StateDetails(aspect=Aspect.RELATION, other="Kara")


@pytest.mark.parametrize(("key", "kind"), [("plus", AddItemModal), ("e", ItemModal)])
async def test_fields_of_an_item_are_as_they_were_typed_before_the_program_was_killed(
    desktop: Desktop, key: str, kind: type[AddItemModal | ItemModal]
) -> None:
    await desktop.prepare(make_banked)
    async with tab3(desktop, None, shown="4") as tab:
        await tab.press(key)
        await tab.until(lambda: isinstance(tab.app.screen, kind) and tab.app.focused)
        await tab.press(*"Dark")
        typed = texts(tab)
        assert isinstance(tab.app.screen, kind)
        assert not tab.app.screen.unsaved
        [file] = files(desktop, "item*-*")
        assert list(json.loads(file.read_text()).values()) == [
            tab.app.screen.query_one("CappedTextArea:focus", CappedTextArea).text
        ], "the others are as they are stored"
    async with tab3(desktop, None, shown="4") as tab:
        await tab.press(key)
        await tab.until(lambda: isinstance(tab.app.screen, kind) and tab.app.focused)
        assert texts(tab) == typed
        refused = tab.app.screen.query_one("#refused", Static)
        assert (refused.display, str(refused.content)) == (True, BEGUN_OVER)
        await tab.press("escape")
        await tab.until(lambda: isinstance(tab.app.screen, ConfirmModal))
        assert file.exists(), "it is discarded only once that is confirmed"
        await tab.press("right", "enter")
        await tab.until(lambda: len(tab.app.screen_stack) == 1)
        assert not file.exists()


@pytest.mark.parametrize(("key", "file"), [("n", "trait-*"), ("o", "trait.*-*"), ("t", "topic-*")])
async def test_a_trait_or_a_topic_is_as_it_was_typed_before_the_program_was_killed(
    desktop: Desktop, key: str, file: str
) -> None:
    async with desktop.window(with_nature) as (pilot, _):
        await nature(pilot)
        modal = await form(pilot, key)
        await pilot.press(*"Dark", "tab", *"As pitch")
        typed = modal.typed
        assert len(files(desktop, file)) == 1
    async with desktop.window() as (pilot, app):
        screen = await nature(pilot)
        modal = await form(pilot, key)
        assert modal.typed == typed
        assert str(modal.query_one("#refused", Static).content) == BEGUN_OVER
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is screen)
        assert not list(desktop.paths.data.glob(file))


async def test_a_note_for_help_with_a_text_is_as_it_was_typed_before_the_program_was_killed(
    desktop: Desktop,
) -> None:
    async with desktop.window(lambda engine: engine.create()) as (pilot, _):
        screen = await helped(pilot)
        screen.query_one("#note").focus()
        await pilot.press(*"Darker")
    async with desktop.window() as (pilot, app):
        world, chapter = (app.chapter.query_one(f"SetupPane {name}") for name in ("#world", "#chapter"))
        for text, note in ((chapter, ""), (world, "Darker")):
            text.focus()
            screen = await helped(pilot)
            assert screen.query_one("#note", LineField).text == note, "it is for one text"
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)
        # Esc before anything was asked drops nothing; once it was asked with, it is on record.
        screen = await helped(pilot)
        assert screen.query_one("#note", LineField).text == "Darker"
        await pilot.press("s")
        await until(pilot, lambda: not screen.query_one("#take", Button).disabled)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert not list(desktop.paths.data.glob("note*"))


@pytest.mark.parametrize("kept", ["{", "[]", '{"short": 3, "other": "x"}', "[" * 3000])
async def test_a_file_that_has_no_texts_of_fields_is_passed_over(desktop: Desktop, kept: str) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await details(pilot)
        before = screen.typed
        await pilot.press(*"A sailor")
        [file] = files(desktop, "details-*")
        assert json.loads(file.read_text()) == {"short": "A sailor"}
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: not file.exists())
        file.write_text(kept)
        assert (await details(pilot)).typed == before


async def test_what_one_window_discards_of_a_character_leaves_the_text_of_another_window(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_library) as (pilot, _), desktop.window() as (other, app):
        for window, text in ((pilot, "A sailor"), (other, "A cook")):
            await details(window)
            await window.press(*text)
        kept = [json.loads(file.read_text()) for file in files(desktop, "details-*")]
        assert sorted(one["short"] for one in kept) == ["A cook", "A sailor"]
        await other.press("escape")
        await until(other, lambda: isinstance(app.screen, ConfirmModal))
        await other.press("right", "enter")
        await until(other, lambda: len(files(desktop, "details-*")) == 1)
        [file] = files(desktop, "details-*")
        assert json.loads(file.read_text()) == {"short": "A sailor"}
