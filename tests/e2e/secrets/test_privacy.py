"""No one in: what the program keeps is its user's alone, and it does not start where that is not so."""

import stat
import sys
from pathlib import Path

import pytest

from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.program import WORDS_ALONE, Machine, chapter_script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX rights")


@pytest.mark.parametrize("command", [("sessions",), ("db", "url"), ("model", "show"), ()], ids=str)
def test_nothing_starts_where_others_can_read(
    here: Machine, tmp_path: Path, command: tuple[str, ...]
) -> None:
    data = tmp_path / "open"
    data.mkdir(mode=0o755)
    refused = here.call(*command, STORYENGINE_DATA_DIR=str(data))
    assert refused.returncode == ExitCode.STORAGE_FAILED
    assert f"{data} can be read by others" in refused.stderr
    assert f"chmod 700 '{data}'" in refused.stderr


def test_doctor_says_which_directory_is_open_and_how_to_close_it(here: Machine, tmp_path: Path) -> None:
    config = tmp_path / "open"
    config.mkdir(mode=0o755)
    told = here.call("doctor", STORYENGINE_CONFIG_DIR=str(config), **WORDS_ALONE)
    assert told.returncode == ExitCode.REFUSED
    assert told.stdout.count(f"chmod 700 '{config}'") == 1


def test_everything_that_was_written_is_for_its_user_alone(here: Machine) -> None:
    script = here.write("private.toml", chapter_script("Private", 1))
    out, backup, export = here.root / "new" / "out", here.root / "all.backup", here.root / "all.json"
    for command in (
        ("play", script, "--provider", "scripted", "--out", out),
        ("consent", "grant", "https://api.example.com/v1"),
        ("db", "backup", backup),
        ("export", "last", "--out", export),
    ):
        ended = here.run(*command)
        assert ended.returncode == ExitCode.OK, ended.stderr
    home = here.root / "home"
    written = [here.data, *here.data.rglob("*"), *home.rglob("*"), *out.parent.rglob("*"), backup, export]
    here.lines("consent", "revoke", "https://api.example.com/v1")
    # Inside the server's directory only the directory counts: nobody gets through it.
    assert [path for path in written if path.is_file() and not closed(path)] == []
    assert closed(here.data)
    assert closed(out)


def closed(path: Path) -> bool:
    """Whether the owner alone gets at `path`, by its own rights or by those of a directory above."""
    return any(
        not stat.S_IMODE(part.stat().st_mode) & 0o077
        for part in (path, *path.parents)
        if not part.name.startswith("se-e2e-") and len(part.parts) > 3
    )
