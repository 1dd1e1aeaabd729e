"""The library on screen: books, chapters, cast and lore, with the same keys in each list."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static

from core.domain.errors import ErrorCode, StorageError
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.exchange.library.library_files import ENDINGS
from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.cast.character_modals import IdentityModal
from storyengine_tui.screens.library.chapters.books_screen import BooksScreen
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.lore.lore_screen import LoreScreen
from storyengine_tui.screens.library.shelf.shelf_screen import ShelfScreen
from storyengine_tui.screens.library.shelf.title_modal import FileModal, NameModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.core.library.cards.card_samples import V2, V3, text_of
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, screen_text, until

pytestmark = pytest.mark.anyio
LORE = {"name": "Harbour [/x]", "entries": {"0": {"uid": 0, "key": ["lamp"], "content": "By the sea."}}}


async def ended(engine: Engine, title: str) -> Any:
    session_id = await make_active(engine, 1)
    session = await engine.open(session_id)
    await session.edits.retitle(title)
    await session.end_chapter()
    await session.wait_idle()
    await session.aclose()
    return session_id


async def make_library(engine: Engine) -> None:
    """Store a book of two chapters, a chapter in none, two characters and a lorebook."""
    first = await ended(engine, "The [/x] Light")
    await make_draft(engine)
    second = await engine.library.books.next_chapter(first)
    await engine.retitle(second, "Dusk")
    [book] = await engine.library.books.listed()
    await engine.library.books.save(_named(book))
    joss = {**V2, "data": {**V2["data"], "name": "Joss", "description": "A sailor who owes money."}}
    await engine.library.characters.import_card(text_of(V3), "kara.json")
    await engine.library.characters.import_card(text_of(joss), "joss.json")
    await engine.library.lore.import_lore(json.dumps(LORE).encode(), "harbour.json")


def _named(book: Any) -> Any:
    return replace(book, title="Grey Point", author="N. N.")


async def shelf(pilot: Pilot[Any], key: str, kind: type[ShelfScreen[Any]]) -> ShelfScreen[Any]:
    """Open the library, and in it the list of a key."""
    await pilot.press("f5")
    # In a chapter of a book it opens with the books.
    await until(pilot, lambda: isinstance(pilot.app.screen, ShelfScreen) and bool(cells(pilot.app.screen)))
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, kind))
    screen = pilot.app.screen
    assert isinstance(screen, kind)
    await until(pilot, lambda: bool(cells(screen)) or screen.query_one("#empty").display)
    return screen


def cells(screen: Any) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(row)] for row in range(table.row_count)]


def heading(screen: Any) -> str:
    return str(screen.query_one("#heading", Static).content)


async def narrow(pilot: Pilot[Any], screen: ShelfScreen[Any], typed: str, names: set[str]) -> None:
    everything = cells(screen)
    await pilot.press("slash")
    await until(pilot, lambda: isinstance(screen.focused, Input))
    await pilot.press(*typed)
    await until(pilot, lambda: {row[0] for row in cells(screen)} == names, typed)
    await pilot.press("escape")
    await until(pilot, lambda: cells(screen) == everything)
    assert screen.is_active


SEARCHES: tuple[tuple[str, type[ShelfScreen[Any]], dict[str, set[str]]], ...] = (
    ("1", BooksScreen, {"dusk": {"  2. Dusk"}, "n. n. light": {"  1. The [/x] Light"}}),
    ("2", ChaptersScreen, {"BOAT late": {"The relief boat is late."}, "LİEF": {"The relief boat is late."}}),
    ("3", CastScreen, {"money": {"Joss"}, "k": {"Kara"}}),
    ("4", LoreScreen, {"world": {"Harbour [/x]"}, "nothing like it": set[str]()}),
)


async def test_the_four_lists_show_what_there_is_under_the_same_keys_and_narrow_with_each_letter(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        await shelf(pilot, "2", ChaptersScreen)
        assert [row[0] for row in cells(app.screen)] == ["The relief boat is late."]
        books = await shelf_of(pilot, "1", BooksScreen)
        assert [row[0] for row in cells(books)] == ["Grey Point", "  1. The [/x] Light", "  2. Dusk"]
        cast = await shelf_of(pilot, "3", CastScreen)
        assert [row[0] for row in cells(cast)] == ["Joss", "Kara"]
        lore = await shelf_of(pilot, "4", LoreScreen)
        assert [row[:3] for row in cells(lore)] == [["Harbour [/x]", "1", "world info"]]
        assert "1 Books 1   2 Chapters   3 Cast 2  [4 Lore 1]" in screen_text(app)
        # What is archived is not counted among the chapters.
        chapters = await shelf_of(pilot, "2", ChaptersScreen)
        assert "[2 Chapters 1]" in screen_text(app)
        await pilot.press("v")
        await until(pilot, lambda: not cells(chapters))
        await until(pilot, lambda: "[2 Chapters]" in screen_text(app))
        await pilot.press("v")
        await until(pilot, lambda: "[2 Chapters 1]" in screen_text(app))
        # A list narrows with each letter, and Esc shows all again.
        for key, kind, searches in SEARCHES:
            screen = await shelf_of(pilot, key, kind)
            for typed, found in searches.items():
                await narrow(pilot, screen, typed, found)
        await pilot.press("f5")
        await until(pilot, lambda: app.screen is app.chapter)


async def shelf_of(pilot: Pilot[Any], key: str, kind: type[ShelfScreen[Any]]) -> ShelfScreen[Any]:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, kind) and bool(cells(pilot.app.screen)))
    screen = pilot.app.screen
    assert isinstance(screen, kind)
    return screen


async def test_beside_chapters_alone_a_card_is_imported_edited_exported_archived_and_deleted(
    desktop: Desktop, tmp_path: Path
) -> None:
    card, out = tmp_path / "kara.json", tmp_path / "out.json"
    card.write_bytes(text_of(V3))
    (tmp_path / "bad.json").write_text("[]")

    async def draft(engine: Engine) -> None:
        await make_draft(engine)

    async with desktop.window(draft) as (pilot, app):
        # With chapters alone the list looks as it did.
        chapters = await shelf(pilot, "2", ChaptersScreen)
        assert not chapters.query_one("#shelves").display
        assert not chapters.query_one("#find").display
        assert heading(chapters) == "Your chapters, last played first"
        # In an empty list nothing has the focus once a dialog closes, least of all the field that is hidden.
        await pilot.press("1")
        await until(pilot, lambda: isinstance(app.screen, BooksScreen))
        books = app.screen
        await until(pilot, lambda: books.query_one("#empty").display)
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is not books)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is books)
        # A card is imported, edited, exported, archived and deleted.
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        screen = app.screen
        assert isinstance(screen, CastScreen)
        await until(pilot, lambda: screen.query_one("#empty").display)
        await pilot.press("i")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press(*str(tmp_path), "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: isinstance(app.screen, CastScreen) and bool(cells(app.screen)))
        screen = app.screen
        assert isinstance(screen, CastScreen)
        assert [row[0] for row in cells(screen)] == ["Kara"]
        assert heading(screen) == "1 imported; 1 refused (bad.json holds no card, lorebook or chapter.)"
        await pilot.press("x")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press(*str(out), "enter")
        await until(pilot, out.exists)
        assert out.read_bytes() == card.read_bytes()
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, IdentityModal))
        await pilot.press(*" Tall.", "tab", "tab", "enter")
        await until(pilot, lambda: app.screen is screen)
        assert app.engine is not None
        [character] = await app.engine.library.characters.listed()
        assert character.identity.endswith("dry Tall.")
        await pilot.press("a")
        await until(pilot, lambda: not cells(screen))
        await pilot.press("v")
        await until(pilot, lambda: bool(cells(screen)))
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is screen and not cells(screen))
        assert not await app.engine.library.characters.listed(is_archived=True)


async def test_a_chapter_goes_into_a_book_and_out_of_it_and_one_in_between_is_asked_about(
    desktop: Desktop,
) -> None:
    async def sizes() -> list[int]:
        async with desktop.engine() as engine:
            return [len(book.chapters) for book in await engine.library.books.listed()]

    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "2", ChaptersScreen)
        await pilot.press("b")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press(*"grey point", "enter")
        await until(pilot, lambda: not cells(screen))
        books = await shelf_of(pilot, "1", BooksScreen)
        assert cells(books)[3][0].startswith("  3. The relief boat")
        await pilot.press("down", "down", "down", "b")
        await until(pilot, lambda: app.screen is not books)
        await pilot.press("ctrl+g", "delete", "enter")
        await until(pilot, lambda: len(cells(books)) == 3)
        # Where a book goes on already, the GM is asked before a chapter comes in between.
        await until(pilot, lambda: app.screen is books)
        await pilot.press("ctrl+home", "down", "c")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        assert "“Grey Point” goes on with chapter 2 already" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is books)
        assert await sizes() == [2]
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.click("#confirm")
        await until(pilot, lambda: app.screen is app.chapter)
        assert await sizes() == [3]
        assert app.session is not None
        assert app.session.snapshot.tab1.carried
        assert app.engine is not None
        [book] = await app.engine.library.books.listed()
        assert book.number_of(app.session.id) == 2
        assert not books.is_attached
        # F5 lists the book of the open chapter with the cursor on it.
        await app.workspace.open(book.chapters[0])
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, BooksScreen) and bool(cells(app.screen)))
        again = app.screen
        assert isinstance(again, BooksScreen)
        assert again.chapter is not None
        assert again.chapter.id == book.chapters[0]
        await shelf_of(pilot, "2", ChaptersScreen)
        assert [row[0] for row in cells(app.screen)] == ["The relief boat is late."], "2 stays there"


def test_a_list_of_the_library(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_library)

    async def chapters(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await shelf(pilot, "2", ChaptersScreen)

    async def another(pilot: Pilot[Any], key: str, kind: type[ShelfScreen[Any]]) -> None:
        await shelf_of(pilot, key, kind)

    assert pictures_match(
        desktop.app(),
        {
            "chapters": chapters,
            "books": partial(another, key="1", kind=BooksScreen),
            "cast": partial(another, key="3", kind=CastScreen),
            "lore": partial(another, key="4", kind=LoreScreen),
        },
    )


async def test_an_ended_chapter_offers_the_next_one(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await ended(engine, "Dawn")

    async with desktop.window(make) as (pilot, app):
        assert isinstance(app, StoryEngineApp)
        names = {command.title for command in app.get_system_commands(app.screen)}
        assert "Next chapter" in names
        app.action_next_chapter()
        await until(pilot, lambda: app.session is not None and bool(app.session.snapshot.tab1.carried))
        assert app.session is not None
        assert app.session.snapshot.session.name_of(Slot.RED)


async def test_a_key_that_comes_twice_begins_one_chapter(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await ended(engine, "Dawn")
        await make_draft(engine)

    async with desktop.window(make) as (pilot, app):
        screen = await shelf(pilot, "2", ChaptersScreen)
        assert isinstance(screen, ChaptersScreen)
        titles = [row[0] for row in cells(screen)]
        screen.query_one(DataTable).move_cursor(row=titles.index("Dawn"))
        await until(pilot, lambda: screen.chosen is not None and screen.chosen.title == "Dawn")
        screen.action_next_chapter()
        screen.action_next_chapter()
        await until(pilot, lambda: app.screen is app.chapter)
        async with desktop.engine() as engine:
            assert len(await engine.sessions()) == 3


async def test_an_identity_opens_once_and_what_failed_is_not_called_imported_or_archived(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        assert app.engine is not None
        # A path of a user that does not exist is a file that is not there.
        screen = await shelf(pilot, "3", CastScreen)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, FileModal))
        assert all(ending in FileModal.NOTE for ending in ENDINGS - {".jpeg"})
        await pilot.press(*"~no_such_user/a.json", "enter")
        await until(pilot, lambda: "cannot be read" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        # An identity is opened once for Enter that comes twice.
        for _ in range(2):
            app.post_message(Key("enter", "\r"))
        await until(pilot, lambda: isinstance(app.screen, IdentityModal))
        await until(pilot, lambda: all(one.is_finished for one in app.workers if one.node is screen))
        assert sum(isinstance(one, IdentityModal) for one in app.screen_stack) == 1
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        # The cursor stays on a character whose new name puts it elsewhere.
        assert [row[0] for row in cells(screen)] == ["Joss", "Kara"]
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, NameModal))
        await pilot.press("ctrl+g", *"Zoe", "enter")
        await until(pilot, lambda: [row[0] for row in cells(screen)] == ["Kara", "Zoe"])
        assert screen.query_one(DataTable).cursor_row == 1

        # A character that could not be archived is not called archived.
        async def fail(_: object) -> None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, "The database is away.")

        monkeypatch.setattr(app.engine.library.characters, "archive", fail)
        await pilot.press("a")
        await until(pilot, lambda: screen.query_one(Banner).is_shown)
        await pilot.press("v")
        await until(pilot, lambda: screen.query_one("#empty").display)
        assert heading(screen) == "Archived: restore a character, or purge it for good"


async def test_a_chapter_keeps_its_place_where_the_title_of_its_book_is_confirmed(desktop: Desktop) -> None:
    async with desktop.window(make_library) as (pilot, app):
        books = await shelf(pilot, "1", BooksScreen)
        first = cells(books)[1][0]
        await pilot.press("ctrl+home", "down", "b")
        await until(pilot, lambda: app.screen is not books)
        await pilot.press("enter")
        await until(pilot, lambda: heading(books).startswith("It is chapter 1 of “Grey Point”"))
        assert cells(books)[1][0] == first


async def test_a_chapter_of_a_book_that_is_archived_is_found_where_the_list_says(desktop: Desktop) -> None:
    async with desktop.window(make_library) as (pilot, app):
        books = await shelf(pilot, "1", BooksScreen)
        await pilot.press("ctrl+home", "down", "down", "a")
        await until(pilot, lambda: heading(books) == "“Dusk” is archived; 2 and then v show it")
        assert cells(books)[0][1] == "1 of 2 archived"
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, ChaptersScreen) and bool(cells(app.screen)))
        await pilot.press("v")
        await until(pilot, lambda: [row[0] for row in cells(app.screen)] == ["Dusk"])
