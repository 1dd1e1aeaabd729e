"""Keys in any order, faster than the program takes them, leave it running, and no traceback in its log."""

import os
import random

import pytest
from textual.events import Key

from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.textual_ext.parts import Part
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import at_window

pytestmark = pytest.mark.anyio

KEYS = (
    *(f"f{number}" for number in range(1, 10)),
    *"0123456789acdehklnrsvy/",
    *("tab", "shift+tab", "escape", "enter", "space", "backspace", "delete"),
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown"),
    *(f"ctrl+{letter}" for letter in "aejklnprtuvx"),
    *("alt+1", "alt+2", "shift+up", "shift+down"),
)
"""Without those that end the program."""
BURSTS = ("enter enter", "escape escape", "ctrl+p enter enter", "ctrl+p pagedown", "ctrl+p escape ctrl+p")
MOST_AT_ONCE = 8
IS_FULL = os.environ.get("STORYENGINE_TORTURE") == "full"
"""`make torture` presses thousands of keys, from many a seed."""


@pytest.mark.needs(Part.OPTION_LISTS, Part.COMMAND_PALETTE, Part.CRASH_RECOVERY)
@pytest.mark.parametrize("seed", range(11, 16) if IS_FULL else [11])
async def test_random_keys_leave_no_traceback_and_a_program_that_runs(
    desktop: Desktop, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # The palette has a command that ends the program, too.
    monkeypatch.setattr(StoryEngineApp, "action_leave", lambda _: None)
    chance = random.Random(seed)
    async with at_window(desktop, prompts=3) as table:
        assert isinstance(table.app, StoryEngineApp)
        for _ in range(100 if IS_FULL else 25):
            keys = [chance.choice(KEYS) for _ in range(chance.randint(1, MOST_AT_ONCE))]
            for key in keys + chance.choice(BURSTS).split():
                character = key if len(key) == 1 else " " if key == "space" else None
                table.app.post_message(Key(key, character))
            await table.pilot.pause()
            assert table.app.bug is None
        assert table.app.is_running
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
