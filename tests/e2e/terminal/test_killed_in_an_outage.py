"""A paid reply is in the story although the program was killed while the database took nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.program import Machine
from tests.e2e.terminal.game_master import GameMaster
from tests.e2e.terminal.test_terminal_window import SETTING
from tests.store.servers import plain_server

pytestmark = pytest.mark.slow
WORDS = " ".join(f"word{number}" for number in range(30))
REPLIES = f"""
[[reply]]
match = {{ schema = "text" }}
text = "{WORDS}"
between_tokens = 0.1
"""


@contextmanager
def killed(home: Machine) -> Iterator[dict[str, str]]:
    """Kill the program while the server is away; yield its environment once the server is back."""
    with plain_server() as server:
        environment = {
            "STORYENGINE_PROVIDER": "scripted",
            "STORYENGINE_SCRIPT": str(home.write("replies.toml", REPLIES)),
            "STORYENGINE_DATABASE_URL": server.url,
        }
        with GameMaster(home, environment) as window:
            window.begin_empty()
            window.set_up(SETTING)
            window.lock()
            window.prompt("Who is there?")
            window.wait_for("word0")
            server.stop()
            window.wait_for("The database says:")
            window.wait_for(lambda: list((home.data / "unstored").glob("*.json")))
            window.kill()
        server.start()
        yield environment


def test_a_program_that_is_killed_while_the_server_is_away_has_the_reply_at_its_next_start(
    tmp_path: Path,
) -> None:
    home = Machine(tmp_path / "user")
    with killed(home) as environment:
        with GameMaster(home, environment) as window:
            window.wait_for("1) Who is there?")
            window.wait_for("word29")
            assert not list((home.data / "unstored").glob("*"))
            window.leave()
        assert home.call("show", "last", **environment).stdout.count("word29") == 1


@pytest.mark.parametrize("first", ["show", "backup"])
def test_a_command_after_such_a_kill_has_the_reply_too(tmp_path: Path, first: str) -> None:
    home = Machine(tmp_path / "user")
    command = {"show": ["show", "last"], "backup": ["backup", str(tmp_path / "story.dump")]}[first]
    with killed(home) as environment:
        home.call(*command, **environment)
        assert not list((home.data / "unstored").glob("*"))
        assert home.call("show", "last", **environment).stdout.count("word29") == 1
