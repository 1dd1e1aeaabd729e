"""A lorebook is edited at a real terminal: kill -9 loses nothing, and the file differs in that alone."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.commands.test_library_commands import BOOK, written
from tests.e2e.program import Machine, warm_machine
from tests.e2e.terminal.game_master import GameMaster

pytestmark = pytest.mark.slow
CONTENT = json.dumps({**BOOK, "name": "Harbour", "x_mine": 1.0}, indent=3).encode()
ADDED = " It was lit in 1871."


@pytest.fixture
def home() -> Iterator[Machine]:
    with warm_machine() as (made, _):
        made.write("replies.toml", "")
        yield made


def open_book(window: GameMaster) -> None:
    """Go to the library, its lorebooks, and the first of them."""
    window.press("f5")
    window.wait_for("Your chapters")
    window.type("4")
    window.wait_for("Harbour")
    window.press("enter")
    window.wait_for("Harbour · 3 entries, 3 on")


def test_an_entry_is_typed_killed_tried_and_exported(home: Machine) -> None:
    assert home.call("lore", "import", written(home, "harbour.json", CONTENT)).returncode == 0
    script = {"STORYENGINE_PROVIDER": "scripted", "STORYENGINE_SCRIPT": str(home.work / "replies.toml")}
    with GameMaster(home, script) as window:
        window.wait_for("Welcome to Story Engine")
        window.press("escape")
        window.wait_while("Welcome to Story Engine")
        open_book(window)
        window.press("enter")
        window.wait_for("By the harbour.")
        window.type(ADDED)
        # Letters are painted before the form is told of them; it counts them with the same message for which
        # it keeps them.
        window.wait_for(f"{len('By the harbour.' + ADDED)}/50,000")
        window.kill()
    with GameMaster(home, script) as window:
        window.wait_for("Write world, chapter and cast")
        open_book(window)
        window.press("enter")
        window.wait_for(ADDED)
        window.press("escape")
        window.wait_for("3 entries")
        window.type("t")
        window.wait_for("Write or paste a text")
        window.paste("The lamp.\n\nA SHIP")
        window.wait_for("2 of 3 entries")
        window.wait_for("“lamp” is in message 1.")
        window.press("escape")
        window.wait_for("3 entries")
        window.press("escape")
        window.wait_for("Your lorebooks")
        window.press("escape")
        window.wait_for("Write world, chapter and cast")
        window.leave()
    assert home.call("lore", "export", "Harbour", home.work / "out.json").returncode == 0
    wanted = CONTENT.replace(b"By the harbour.", b"By the harbour." + ADDED.encode())
    assert (home.work / "out.json").read_bytes() == wanted
