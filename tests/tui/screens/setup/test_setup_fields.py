"""The fields of tab 1 show what is stored, and hold what is typed over it."""

import pytest
from textual.app import ComposeResult
from textual.widgets import Select

from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from core.storage.snapshot import Snapshot
from storyengine_tui.screens.setup.held_edit import HeldEdit
from storyengine_tui.screens.setup.setup_fields import SetupFields
from storyengine_tui.shell.themed_app import ThemedApp
from storyengine_tui.widgets.fields.capped_text_area import CharCounter
from tests.core.values.sessions import session

pytestmark = pytest.mark.anyio

STORED = Snapshot(session=session(characters=3), tab1=Tab1Inputs(world="A rock.", chapter="Fog."))
COUNTERS = ("world-counter", "chapter-counter")
TYPED = {
    "world": ("A rock.", "A rock in the sea."),
    "2": ("", "Keeps the lamp."),
    "name 2": ("", "Joss"),
    "count": ("", "2"),
}


class FieldsApp(ThemedApp):
    """The fields alone."""

    def __init__(self) -> None:
        super().__init__()
        self.fields = SetupFields()

    def compose(self) -> ComposeResult:
        yield from self.fields.compose()


async def test_fields_that_show_what_is_stored_have_nothing_to_store() -> None:
    app = FieldsApp()
    async with app.run_test():
        app.fields.show_stored(STORED)
        await app.fields.show_panel(Slot.RED, STORED)
        assert app.fields.typed.edit_of(STORED) is None


async def test_the_counters_say_how_long_the_stored_texts_are() -> None:
    app = FieldsApp()
    async with app.run_test():
        app.fields.show_stored(STORED)
        counters = [str(one.content) for one in app.query(CharCounter) if one.id in COUNTERS]
        assert [text.strip().partition("/")[0] for text in counters] == ["7", "4"]


async def test_an_edit_that_could_not_be_stored_is_what_is_typed_once_it_is_put_back() -> None:
    app = FieldsApp()
    held = HeldEdit.of_fields(STORED.session.id, TYPED)
    assert held is not None
    async with app.run_test():
        app.fields.show_stored(STORED)
        await app.fields.put_back(held, STORED)
        assert app.fields.typed.edit_of(STORED) == held.edit


async def test_the_panel_of_a_character_beyond_the_chosen_number_is_that_of_the_last_one() -> None:
    app = FieldsApp()
    async with app.run_test():
        app.fields.show_stored(STORED)
        await app.fields.show_panel(Slot.VIOLET, STORED)
        assert app.fields.cast.slot is list(Slot)[2]


async def test_fields_that_are_only_read_take_no_text_and_no_number() -> None:
    app = FieldsApp()
    async with app.run_test():
        app.fields.set_read_only(True)
        await app.fields.show_panel(Slot.RED, STORED)
        panel = app.fields.cast.shown
        assert panel is not None
        areas = (app.fields.world, app.fields.chapter, *panel.fields)
        assert all(area.read_only for area in areas)
        assert app.query_one(Select).disabled
