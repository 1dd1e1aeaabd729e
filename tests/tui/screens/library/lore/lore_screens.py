"""Lorebooks on a machine, and the way to their screens."""

import json
from dataclasses import replace
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import DataTable, Static

from core.engine.engine import Engine
from core.library.cards.card_file import CardFormat
from core.library.lore.book import Lorebook, LoreEntry
from core.library.lore.edits import with_entry
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.lore.entry_screen import EntryScreen
from storyengine_tui.screens.library.lore.lore_screen import LoreScreen
from storyengine_tui.screens.library.lore.lorebook_screen import LorebookScreen
from storyengine_tui.screens.library.lore.try_screen import TryScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.reading.row_list import RowList
from tests.tui.engine_app import in_front, make_draft, opened, until

BOOK: dict[str, Any] = {
    "name": "Grey Point",
    "entries": {
        "0": {
            "uid": 0,
            "key": ["lamp", "old light"],
            "comment": "The lamp",
            "content": "It was lit in 1871.",
            "order": 90,
            "x_mine": 1.50,
        },
        "1": {"uid": 1, "key": ["harbour"], "comment": "Harbour", "content": "Deep, and never warm."},
        "2": {"uid": 2, "key": [], "comment": "Weather", "content": "It rains.", "constant": True},
        "3": {"uid": 3, "key": ["/sh.ps?/i"], "comment": "Ships", "content": "Two.", "disable": True},
    },
}
CONTENT = json.dumps(BOOK, indent=2).encode()
NOVEL = {"lorebookVersion": 5, "entries": [{"keys": ["lamp"], "text": "Old.", "displayName": "Lamp"}]}


async def make_lore(engine: Engine) -> None:
    await make_draft(engine)
    await engine.library.lore.import_lore(CONTENT, "grey.json")


async def make_novel(engine: Engine) -> None:
    await make_draft(engine)
    await engine.library.lore.import_lore(json.dumps(NOVEL).encode(), "novel.json")


async def lorebook_shown(pilot: Pilot[Any]) -> LorebookScreen:
    """Open the library, its lorebooks, and the first of them."""
    await opened(pilot)
    await pilot.press("f5")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChaptersScreen))
    await until(pilot, lambda: pilot.app.screen.query_one(DataTable).row_count > 0)
    await pilot.press("4")
    await until(pilot, lambda: isinstance(pilot.app.screen, LoreScreen))
    await until(pilot, lambda: pilot.app.screen.query_one(DataTable).row_count > 0)
    await pilot.press("enter")
    screen = await in_front(pilot, LorebookScreen)
    await until(pilot, lambda: screen.editor is not None and bool(entries(screen).columns))
    return screen


async def entry_shown(pilot: Pilot[Any]) -> EntryScreen:
    await pilot.press("enter")
    return await in_front(pilot, EntryScreen)


async def try_shown(pilot: Pilot[Any]) -> TryScreen:
    await pilot.press("t")
    return await in_front(pilot, TryScreen)


def entries(screen: LorebookScreen) -> RowList[LoreEntry]:
    found: RowList[LoreEntry] = screen.query_one("#entries", RowList)
    return found


def names(screen: LorebookScreen) -> list[str]:
    return [entry.name for entry in entries(screen).rows]


def text_of(screen: Screen[Any], selector: str) -> str:
    return str(screen.query_one(selector, Static).content)


async def stored(engine: Engine) -> Lorebook:
    """Return the book as it is in its file."""
    [kept] = await engine.library.lore.listed()
    return (await engine.library.lore.read(kept)).book


async def stored_content(engine: Engine) -> bytes:
    [kept] = await engine.library.lore.listed()
    return (await engine.library.lore.export(kept, CardFormat.JSON)).content


def engine_of(app: StoryEngineApp) -> Engine:
    assert app.engine is not None
    return app.engine


async def edit_elsewhere(engine: Engine, uid: str, content: str) -> None:
    """Edit an entry as another window does."""
    lore = engine.library.lore
    [kept] = await lore.listed()
    file = await lore.read(kept)
    entry = next(one for one in file.book.entries if one.uid == uid)
    await lore.edit(kept, file, with_entry(file.book, replace(entry, content=content)))
