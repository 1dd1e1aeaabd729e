"""Ctrl+C while the program is being loaded, which takes half a second, and while it ends."""

import signal
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

INTERRUPTED_AT_THE_END = """
import os, signal
from storyengine_tui import cli
cli._main = lambda: None
signal.signal(signal.SIGINT, signal.default_int_handler)
cli.main()
os.kill(os.getpid(), signal.SIGINT)
"""


def ended(tmp_path: Path, program: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


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
    stopped = ended(tmp_path, INTERRUPTED_AT, *words)
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (ExitCode.INTERRUPTED, "", f"{STOPPED}\n")


def test_ctrl_c_while_the_program_ends_shows_no_traceback(tmp_path: Path) -> None:
    stopped = ended(tmp_path, INTERRUPTED_AT_THE_END)
    assert (stopped.returncode, stopped.stderr) == (-signal.SIGINT, "")
