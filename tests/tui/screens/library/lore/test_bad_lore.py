"""Lorebooks of strangers on screen: text never acts, keys in any order are survived, a large one is quick."""

import asyncio
import json
import random
import time
from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Input

from core.engine.engine import Engine
from storyengine_tui.screens.library.lore.lorebook_screen import LorebookScreen
from storyengine_tui.textual_ext.parts import Part
from tests.bad_text import KINDS, acts
from tests.tui.engine_app import Desktop, make_draft, screen_text, until
from tests.tui.screens.library.lore.lore_screens import (
    entries,
    entry_shown,
    lorebook_shown,
    make_lore,
    names,
    stored,
    stored_content,
    text_of,
    try_shown,
)
from tests.tui.shell.test_bad_text_on_screen import GROUPS

pytestmark = pytest.mark.anyio
KEYS = (
    *"ndtbc/ox0",
    *("tab", "shift+tab", "escape", "enter", "space", "backspace", "delete", "comma"),
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown"),
    *("f1", "f5", "ctrl+a", "ctrl+g", "ctrl+z", "ctrl+v", "ctrl+x"),
)
MOST_AT_ONCE = 8


async def make_bad(engine: Engine) -> None:
    await make_draft(engine)
    listed = {
        str(number): {
            "uid": kind.text,
            "key": [kind.text, "lamp"],
            "keysecondary": [kind.text],
            "comment": kind.text,
            "content": kind.text * 3,
            "group": f"{number}{kind.text}",
            "selectiveLogic": 1,
        }
        for number, kind in enumerate(GROUPS)
    }
    book = {"name": "".join(kind.text for kind in KINDS), "entries": listed}
    await engine.library.lore.import_lore(json.dumps(book).encode(), "[/b].json")


async def test_bad_text_in_a_lorebook_is_shown_and_never_acts(desktop: Desktop) -> None:
    async with desktop.window(make_bad, size=(120, 40)) as (pilot, app):
        screen = await lorebook_shown(pilot)
        before = await stored_content(app.engine) if app.engine is not None else b""
        shown = screen_text(app) + app.export_screenshot().replace("\r", "")
        for number in range(len(GROUPS)):
            entries(screen).move_to(number)
            await entry_shown(pilot)
            shown += screen_text(app) + app.export_screenshot().replace("\r", "")
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is screen)
        tried = await try_shown(pilot)
        await pilot.press(*"lamp")
        await until(pilot, lambda: text_of(tried, "#sum").startswith(f"{len(GROUPS)} of"))
        shown += screen_text(app) + app.export_screenshot().replace("\r", "")
        assert not acts(shown)
        assert "[link=http://owned.example]x[/link]" in shown
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("d")
        await until(pilot, lambda: "Delete “" in screen_text(app))
        assert not acts(screen_text(app))
        await pilot.press("escape", "escape")
        assert app.engine is not None
        assert await stored_content(app.engine) == before


@pytest.mark.needs(Part.OPTION_LISTS, Part.CRASH_RECOVERY)
@pytest.mark.parametrize("seed", [5, 6])
async def test_random_keys_leave_no_traceback_and_a_book_that_is_stored(
    desktop: Desktop, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    chance = random.Random(seed)
    async with desktop.window(make_lore) as (pilot, app):
        await lorebook_shown(pilot)
        for _ in range(25):
            for key in (chance.choice(KEYS) for _ in range(chance.randint(1, MOST_AT_ONCE))):
                character = key if len(key) == 1 else {"space": " ", "comma": ","}.get(key)
                app.post_message(Key(key, character))
            await pilot.pause()
            assert app.bug is None
            if not any(isinstance(one, LorebookScreen) for one in app.screen_stack):
                while app.screen is not app.chapter:
                    await pilot.press("escape")
                    await pilot.pause()
                await lorebook_shown(pilot)
        assert app.is_running
        await app.workspace.close(insists=True)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def test_a_book_of_two_thousand_entries_is_read_found_in_and_edited(desktop: Desktop) -> None:
    async def made(engine: Engine) -> None:
        await make_draft(engine)
        listed = {
            str(number): {
                "uid": number,
                "key": [f"key{number}"],
                "comment": f"E {number}",
                "content": "Old. " * 9,
            }
            for number in range(2_000)
        }
        content = json.dumps({"name": "Large", "entries": listed}).encode()
        await engine.library.lore.import_lore(content, "large.json")

    async with desktop.window(made) as (pilot, app):
        screen = await lorebook_shown(pilot)
        await pilot.press("end")
        assert entries(screen).cursor == 1_999
        await pilot.press("slash")
        field = screen.query_one("#find", Input)
        field.value = "key199"
        began = time.thread_time()
        await until(pilot, lambda: names(screen)[:2] == ["E 199", "E 1990"])
        assert time.thread_time() - began < 5
        await pilot.press("enter")
        editor = await entry_shown(pilot)
        # One key: a pause between two, on a busy machine, stores the first alone.
        await pilot.press("!")
        await until(pilot, lambda: text_of(editor, "#saved") == "stored")
        assert app.engine is not None
        book = await stored(app.engine)
        assert [one.uid for one in book.entries if "!" in one.content] == ["199"]
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is screen)
        tried = await try_shown(pilot)
        await pilot.press(*"the key1998")
        await until(pilot, lambda: text_of(tried, "#sum").startswith("4 of 2,000"))


async def test_a_book_that_is_deleted_takes_what_was_kept_of_it_along(desktop: Desktop) -> None:
    async with desktop.window(make_lore) as (pilot, app):
        screen = await lorebook_shown(pilot)
        assert screen.editor is not None
        kept: Path = desktop.paths.data / f"lore-{screen.editor.kept.id}"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)
        await asyncio.to_thread(kept.write_text, "x")
        await pilot.press("a")
        await until(pilot, lambda: "is archived" in screen_text(app))
        await pilot.press("v")
        await until(pilot, lambda: "Archived: restore" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "Purge this lorebook" in screen_text(app))
        await pilot.press("right", "enter")
        await until(pilot, lambda: not kept.exists())
