"""Ctrl+C while the program is being loaded, which takes half a second."""

import subprocess
import sys
from pathlib import Path

import pytest

from storyengine_tui.cli.exit_codes import STOPPED, ExitCode

ROOT = Path(__file__).resolve().parents[3]
INTERRUPTED_AT = """
import os, signal, sys
from storyengine_tui.cli import main
name, *sys.argv[1:] = sys.argv[1:]
class Stop:
    def find_spec(self, wanted, *_):
        if wanted == name:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Stop())
main()
"""


@pytest.mark.parametrize(
    "words",
    [
        ("storyengine_tui.cli.app", "sessions"),
        ("storyengine_tui.cli.commands.chapter.search", "sessions"),
        ("storyengine_tui.cli.commands.chapter.open_app",),
    ],
    ids=["commands", "a command", "the screen"],
)
def test_ctrl_c_while_the_program_is_loaded_ends_it_in_a_sentence(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT, *words],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (ExitCode.INTERRUPTED, "", f"{STOPPED}\n")
