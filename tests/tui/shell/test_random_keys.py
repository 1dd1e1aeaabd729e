"""Keys in any order, faster than the program takes them, leave it running, and no traceback in its log."""

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from textual.events import Key

from core.engine.engine import Engine
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.textual_ext.parts import Part
from tests.tui.engine_app import Desktop, make_active
from tests.tui.rooms.play_table import SCRIPT
from tests.tui.screens.bank.test_bank_of_a_book import make_played
from tests.tui.screens.library.shelf.test_shelves import make_library

pytestmark = pytest.mark.anyio

KEYS = (
    *(f"f{number}" for number in range(1, 13)),
    *"0123456789abcdefghijklmnopqrstuvwxyz/=+?ABCEKMQU",
    *("tab", "shift+tab", "escape", "enter", "space", "backspace", "delete"),
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown"),
    *(f"ctrl+{letter}" for letter in "aejklnoprtuvwxz"),
    *(f"alt+{key}" for key in "12acdlos"),
    *("shift+up", "shift+down"),
)
"""Without those that end the program."""
BURSTS = ("enter enter", "escape escape", "ctrl+p enter enter", "ctrl+p pagedown", "ctrl+p escape ctrl+p")
MOST_AT_ONCE = 8
IS_FULL = os.environ.get("STORYENGINE_TORTURE") == "full"
"""`make torture` presses thousands of keys, from many a seed."""


async def make_chapter(engine: Engine) -> None:
    """Store a chapter of three prompts."""
    await make_active(engine, 3)


@pytest.mark.needs(Part.OPTION_LISTS, Part.COMMAND_PALETTE, Part.CRASH_RECOVERY)
@pytest.mark.parametrize("prepare", [make_chapter, make_library, make_played])
@pytest.mark.parametrize("seed", range(11, 16) if IS_FULL else [11])
async def test_random_keys_leave_no_traceback_and_a_program_that_runs(
    desktop: Desktop,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    prepare: Callable[[Engine], Any],
) -> None:
    # The palette has a command that ends the program, too.
    monkeypatch.setattr(StoryEngineApp, "action_leave", lambda _: None)
    desktop.script = SCRIPT
    chance = random.Random(seed)
    async with desktop.window(prepare, size=(100, 30)) as (pilot, app):
        for _ in range(100 if IS_FULL else 25):
            keys = [chance.choice(KEYS) for _ in range(chance.randint(1, MOST_AT_ONCE))]
            for key in keys + chance.choice(BURSTS).split():
                character = key if len(key) == 1 else " " if key == "space" else None
                app.post_message(Key(key, character))
            await pilot.pause()
            assert app.bug is None
        assert app.is_running
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
