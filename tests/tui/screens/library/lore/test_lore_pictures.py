"""How a lorebook looks: its entries, one entry, a text that is tried, and the fields of the book."""

from typing import Any

from textual.pilot import Pilot

from storyengine_tui.screens.library.lore.book_fields_modal import BookFieldsModal
from storyengine_tui.screens.library.lore.lorebook_screen import LorebookScreen
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, in_front, until
from tests.tui.screens.library.lore.lore_screens import (
    entry_shown,
    lorebook_shown,
    make_lore,
    text_of,
    try_shown,
)


async def the_list(pilot: Pilot[Any]) -> None:
    await lorebook_shown(pilot)


async def an_entry(pilot: Pilot[Any]) -> None:
    await entry_shown(pilot)


async def a_trial(pilot: Pilot[Any]) -> None:
    await pilot.press("escape")
    await in_front(pilot, LorebookScreen)
    screen = await try_shown(pilot)
    await pilot.press(*"The lamp is lit.", "enter", "enter", *"A SHIP comes in.")
    await until(pilot, lambda: text_of(screen, "#sum").startswith("2 of 4 entries"))


async def the_book(pilot: Pilot[Any]) -> None:
    await pilot.press("escape")
    await in_front(pilot, LorebookScreen)
    await pilot.press("b")
    await in_front(pilot, BookFieldsModal)


def test_a_lorebook_on_screen(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_lore)
    acts = (the_list, an_entry, a_trial, the_book)
    assert pictures_match(desktop.app(), {act.__name__: act for act in acts})
