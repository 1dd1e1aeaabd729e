"""The state file of the private server, as supervisors of other versions of the program write it."""

import json
from pathlib import Path

import pytest

from db.embedded.state import STATE_FILE, Phase, ServerState


def test_the_state_that_another_version_wrote_is_read(tmp_path: Path) -> None:
    """After an upgrade the server may still run below the supervisor of before."""
    written = {"phase": "ready", "pid": 7, "data": "/d", "socket_dir": "/s", "notice": "", "later": [1]}
    (tmp_path / STATE_FILE).write_text(json.dumps(written))
    assert ServerState.read(tmp_path) == ServerState(Phase.READY, pid=7, data="/d", socket_dir="/s")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"phase": "asleep"}', '{"pid": 7}', "7"])
def test_a_state_that_cannot_be_read_is_the_default(tmp_path: Path, content: str) -> None:
    (tmp_path / STATE_FILE).write_text(content)
    assert ServerState.read(tmp_path) == ServerState()
