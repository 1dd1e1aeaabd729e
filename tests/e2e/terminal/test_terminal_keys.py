"""What leaves and enters the program at a real terminal besides plain keys: copies, Alt, and early typing."""

import base64
import re
import time

import pytest

from tests.e2e.terminal.game_master import GameMaster
from tests.e2e.terminal.test_terminal_window import Open
from tests.e2e.terminal.test_terminal_window import home as home
from tests.e2e.terminal.test_terminal_window import open_window as open_window
from tests.e2e.terminal.test_terminal_window import played as played
from tests.e2e.terminal.test_terminal_window import url as url

SHIFT_HOME = "\x1b[1;2H"

# With `make e2e`: real terminals take minutes on a busy machine.
pytestmark = pytest.mark.chapter


def copied(window: GameMaster) -> list[str]:
    """Return what was put into the clipboard of the terminal, which is the user's own over SSH too."""
    sent = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", bytes(window.received))
    return [base64.b64decode(text).decode() for text in sent]


def test_a_copy_leaves_the_program_for_the_clipboard_of_the_terminal(open_window: Open) -> None:
    window = open_window()
    window.wait_for("2) Prompt number 2.")
    window.wait_for("━ To 3 ")
    window.type("Grüße, 灯台")
    window.wait_for("┃ Grüße, 灯")
    window.type(SHIFT_HOME)
    window.press("ctrl+c")
    window.wait_for(lambda: copied(window) == ["Grüße, 灯台"])
    window.press("shift+tab")
    window.wait_for("Select text")
    window.press("ctrl+a")
    window.wait_for("c Copy")
    window.press("c")
    window.wait_for(lambda: len(copied(window)) == 2)
    transcript = copied(window)[1].split("\n")
    assert transcript[0] == "1) Prompt number 1."
    assert [line for line in transcript if line.startswith(("2)", "Jonas [/x]: "))] != []


def test_a_letter_with_alt_types_nothing(open_window: Open) -> None:
    window = open_window()
    window.wait_for("━ To 3 ")
    window.type("a\x1bxb")
    window.wait_for("┃ ab ")


def test_what_is_typed_into_the_starting_program_stands_in_the_panel(open_window: Open) -> None:
    window = open_window()
    window.wait_for(lambda: b"\x1b[?1049h" in window.received)
    window.type("Typed too early?")
    window.wait_for("━ To 3 ")
    window.wait_for("┃ Typed too early? ")


def test_nothing_typed_goes_nowhere_behind_a_paste_whose_end_a_slow_line_cut(
    open_window: Open,
) -> None:
    window = open_window()
    window.wait_for("━ To 3 ")
    window.type("\x1b[200~Pasted\x1b[20")
    time.sleep(0.4)  # What is tried: a line that stands still for longer than a key may take.
    window.type("1~ and typed")
    window.wait_for("┃ Pasted and typed ")
