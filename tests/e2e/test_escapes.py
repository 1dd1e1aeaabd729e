"""What the GM names on the command line is repeated as data: the terminal gets no escape of it."""

import re
import sys
from pathlib import Path

import pytest

from tests.bad_text import KINDS, acts
from tests.e2e.program import Machine
from tests.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
START = "from storyengine_tui.cli import main; main()"
TITLE = "\x1b]0;owned\x07\x1b[31mX"
# No program can be given these.
GIVEN = [kind for kind in KINDS if "\x00" not in kind.middle and kind.name != "lone surrogates"]


@pytest.mark.parametrize("command", [("import",), ("export",), ("slots", "restore"), ("play",)])
def test_what_is_named_on_the_command_line_is_repeated_without_its_escapes(
    here: Machine, command: tuple[str, ...]
) -> None:
    more = ("1",) if command[-1] == "restore" else ()
    refused = here.call(*command, TITLE + ".json", *more)
    assert refused.returncode != 0
    assert "X.json" in refused.stderr
    assert not acts(refused.stdout + refused.stderr)


def test_a_terminal_gets_only_the_program_s_own_colours(here: Machine) -> None:
    named = "".join(kind.text for kind in GIVEN)
    environment = {**here.environment, "PYTHONPATH": str(ROOT)}
    with Terminal([sys.executable, "-c", START, "import", named], environment, cwd=here.work) as window:
        window.wait_for(lambda: b"nothing was changed" in window.received)
        sent = bytes(window.received).decode()
    # The sentence is bold and red, and a terminal ends its lines with both characters.
    assert not acts(re.sub("\x1b\\[(?:1;31|0)?m", "", sent).replace("\r\n", "\n"))
