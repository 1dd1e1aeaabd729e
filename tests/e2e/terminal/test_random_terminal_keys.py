"""Keys, pastes, clicks and new sizes in any order at a real terminal, for `make torture`."""

import os
import random
import time

import pytest

from tests.e2e.program import Machine
from tests.e2e.terminal.test_terminal_window import Open
from tests.e2e.terminal.test_terminal_window import home as home
from tests.e2e.terminal.test_terminal_window import open_window as open_window
from tests.e2e.terminal.test_terminal_window import played as played
from tests.e2e.terminal.test_terminal_window import url as url
from tests.terminal import Size

pytestmark = pytest.mark.skipif(
    os.environ.get("STORYENGINE_TORTURE") != "full", reason="minutes of keys: `make torture`"
)

SEEDS = range(51, 57)
ROUNDS = 250
PACES = (0.0, 0.02, 0.1, 0.3)
"""Seconds between two bursts of keys, as people and slow lines have them; nothing waits for what shows."""
SIZES = (Size(80, 24), Size(120, 40), Size(40, 12), Size(20, 6))
CLICK = "\x1b[<0;{0};{1}M\x1b[<0;{0};{1}m"
KEYS = (
    *("enter", "tab", "shift+tab", "escape", "backspace", "up", "down", "left", "right"),
    *("home", "end", "pageup", "pagedown"),
    *(f"f{number}" for number in range(1, 10)),
    *"0123456789acdehklnNrsvy/? ",
    *(f"ctrl+{letter}" for letter in "acejklnprtuvxy"),
    *("\x1b[1;2A", "\x1b[1;2B", "\x1b[1;2H", "\x1b1", "\x1b2", "\x1b3"),
    *("UNHURRIED\r", "AT LENGTH\r", "hello there\r", "\x1b[200~a paste\x1b[201~"),
    *("\r\r", "\r\r\r", "\x1b\x1b", "\x10\r\r", "\x10\x1b[B\x1b[B\r", "\x1b[19~\t\r"),
    *("\x1b[15~\r\r", "\x1b[15~s\r", "\x1b[15~n", "\x1bOR\t\r", CLICK),
)
"""Without Ctrl+Q, which ends the program. The command palette can end it too; then it is started again."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_keys_at_a_terminal_leave_no_traceback_and_a_program_that_runs(
    open_window: Open, home: Machine, seed: int
) -> None:
    chance = random.Random(seed)
    window = open_window()
    window.wait_for("━ To 3 ")
    for _ in range(ROUNDS):
        if chance.random() < 0.01:
            window.resize(chance.choice(SIZES))
        for _ in range(chance.randint(1, 6)):
            key = chance.choice(KEYS)
            window.press(key.format(chance.randint(1, 80), chance.randint(1, 24)) if key == CLICK else key)
        time.sleep(chance.choice(PACES))
        if window.process.poll() == 0:
            window = open_window()
    log = home.data / "logs" / "storyengine.log"
    assert "Traceback" not in (log.read_text("utf-8") if log.exists() else "")
    assert window.process.poll() is None
