"""Exported chapters that are dropped on the library: several at once, large ones, and by a path."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from textual import events

from core.engine.catalog import SessionCatalog
from core.exchange.library.library_files import read_file
from core.exchange.session_export import ImportRefusedError
from core.library.refusal import LARGEST_FILE
from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.chapters.books_screen import BooksScreen
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.lore.lore_screen import LoreScreen
from storyengine_tui.screens.library.shelf import arriving
from storyengine_tui.screens.library.shelf.arriving import LIST_LEFT
from storyengine_tui.screens.library.shelf.shelf_screen import ShelfScreen
from storyengine_tui.screens.library.shelf.title_modal import FileModal
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.core.exchange.test_arrivals import CHAT, VERSIONS
from tests.core.library.cards.card_samples import V2, V3, text_of
from tests.tui.engine_app import Desktop, in_front, screen_text, until
from tests.tui.screens.library.shelf.test_arriving import confirm, draft, paste, question, type_path
from tests.tui.screens.library.shelf.test_shelves import cells, heading, shelf

pytestmark = pytest.mark.anyio
BOOK = (VERSIONS / "export-5-book.json").read_bytes()


async def test_a_chapter_that_the_database_refuses_does_not_end_the_import_of_the_others(
    desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.json", "b.json", "c.json"):
        (tmp_path / name).write_bytes(BOOK)
    asked = 0
    stored = SessionCatalog.import_body

    async def refuse_the_second(catalog: SessionCatalog, *of: Any, **options: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise ImportRefusedError("the database refuses what is in it")
        return await stored(catalog, *of, **options)

    monkeypatch.setattr(SessionCatalog, "import_body", refuse_the_second)
    async with desktop.window(draft) as (pilot, _):
        await shelf(pilot, "2", ChaptersScreen)
        await paste(pilot, str(tmp_path))
        books = await confirm(pilot, BooksScreen)
        assert heading(books).startswith("2 imported; 1 refused (The file cannot be imported: the database ")


async def test_an_exported_chapter_may_be_larger_than_a_card(desktop: Desktop, tmp_path: Path) -> None:
    large, card = tmp_path / "large.json", tmp_path / "card.json"
    for file, content in ((large, BOOK), (card, text_of(V3))):
        file.write_bytes(content + b" " * LARGEST_FILE)
    async with desktop.window(draft, size=(120, 40)) as (pilot, app):
        await shelf(pilot, "2", ChaptersScreen)
        await paste(pilot, str(large))
        assert "large.json:\nAn exported chapter with " in question(app.screen)
        await pilot.press("escape")
        app.post_message(events.Paste(str(card)))
        await until(pilot, lambda: "card.json is larger than 64 MB." in screen_text(app))


async def test_the_heading_says_that_several_files_are_being_imported(
    desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(BOOK)
    gate = asyncio.Event()
    stored = SessionCatalog.import_body

    async def wait(catalog: SessionCatalog, *of: Any, **options: Any) -> Any:
        await gate.wait()
        return await stored(catalog, *of, **options)

    monkeypatch.setattr(SessionCatalog, "import_body", wait)
    async with desktop.window(draft) as (pilot, app):
        await shelf(pilot, "2", ChaptersScreen)
        await paste(pilot, str(tmp_path))
        await pilot.click(app.screen.query_one("#confirm"))
        await until(pilot, lambda: "Importing 2 files …" in screen_text(app))
        gate.set()
        books = await in_front(pilot, BooksScreen)
        await until(pilot, lambda: heading(books).startswith("2 imported"))


async def test_a_path_may_be_typed_in_every_list_and_in_no_archive(desktop: Desktop, tmp_path: Path) -> None:
    chapter, chat, card = (tmp_path / name for name in ("a.json", "Late.jsonl", "kara.json"))
    chapter.write_bytes(BOOK)
    chat.write_text("\n".join(map(json.dumps, CHAT)))
    card.write_bytes(text_of(V3))
    async with desktop.window(draft, size=(120, 40)) as (pilot, app):
        screen: ShelfScreen[Any] = await shelf(pilot, "4", LoreScreen)
        for file, kind in ((chapter, BooksScreen), (card, CastScreen), (chat, ChaptersScreen)):
            await type_path(pilot, file)  # each is in another list than the one that shows
            screen = await confirm(pilot, kind)
            assert "was imported" in heading(screen)
        await pilot.press("v")
        await until(pilot, lambda: not screen.check_action("import", ()))
        await pilot.press("i")
        assert app.screen is screen


async def test_no_question_comes_over_another_list_while_a_file_is_read(
    desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = {"group": "Crew", "groups_visible": ["Guests"]}
    card = {**V2, "data": {**V2["data"], "extensions": {"story_engine": claims}}}
    (tmp_path / "spy.json").write_bytes(text_of(card))
    gate = asyncio.Event()

    async def read_late(file: Path, most: int) -> bytes:
        await gate.wait()
        return await read_file(file, most)

    monkeypatch.setattr(arriving, "read_file", read_late)
    async with desktop.window(draft, size=(120, 40)) as (pilot, app):
        await shelf(pilot, "3", CastScreen)
        await pilot.press("i")
        await in_front(pilot, FileModal)
        app.post_message(events.Paste(str(tmp_path / "spy.json")))
        await pilot.press("enter")
        await in_front(pilot, CastScreen)
        await pilot.press("4")
        lore = await in_front(pilot, LoreScreen)
        gate.set()
        await until(pilot, lambda: LIST_LEFT in [one.message for one in app._notifications])
        assert app.screen is lore
        assert app.engine is not None
        assert not (await app.engine.library.counts()).characters


@pytest.mark.parametrize("quoted", ["'{}'", "file://{}", "{}"])
async def test_a_file_that_is_dropped_on_the_field_for_its_path_is_found(
    desktop: Desktop, tmp_path: Path, quoted: str
) -> None:
    chapter, card = tmp_path / "a chapter.json", tmp_path / "a card.json"
    chapter.write_bytes(BOOK)
    card.write_bytes(text_of(V3))
    async with desktop.window(draft, size=(120, 40)) as (pilot, app):
        await shelf(pilot, "2", ChaptersScreen)
        await pilot.press("i")
        await in_front(pilot, FileModal)
        app.post_message(events.Paste(quoted.format(chapter)))
        await pilot.press("enter")
        await until(pilot, lambda: "An exported chapter with " in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
        await pilot.press("3")
        await in_front(pilot, CastScreen)
        await pilot.press("i")
        await in_front(pilot, FileModal)
        app.post_message(events.Paste(quoted.format(card)))
        await pilot.press("enter")
        await in_front(pilot, ConfirmModal)
        taken = await confirm(pilot, CastScreen)
        assert [row[0] for row in cells(taken)] == ["Kara"]
