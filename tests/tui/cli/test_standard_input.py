"""A text that a command reads from standard input."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from storyengine_tui.cli.commands.chapter import sessions
from storyengine_tui.cli.exit_codes import ExitCode

ROOT = Path(__file__).resolve().parents[3]
READS = """
import sys
import typer
from storyengine_tui.cli.asking import read_standard_input
from storyengine_tui.cli.running import run
async def read():
    print("reading", flush=True)
    print(await read_standard_input(6), flush=True)
try:
    run(read())
except typer.Exit as end:
    sys.exit(end.exit_code)
"""


def reading(tmp_path: Path) -> subprocess.Popen[bytes]:
    """Return a program that reads, which has said so."""
    homes = {f"STORYENGINE_{name}_DIR": str(tmp_path / name) for name in ("DATA", "CONFIG")}
    program = subprocess.Popen(
        [sys.executable, "-c", READS],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), **homes},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"reading\n"
    return program


def test_ctrl_c_ends_a_command_that_waits_for_standard_input(tmp_path: Path) -> None:
    with reading(tmp_path) as program:
        program.send_signal(signal.SIGINT)
        try:
            assert program.wait(30) == ExitCode.INTERRUPTED
        finally:
            program.kill()
        assert program.stderr is not None
        said = program.stderr.read().decode()
    assert said.startswith("Stopped. Everything stored so far is safe")
    assert "Fatal" not in said


def test_standard_input_is_read_as_far_as_it_is_wanted(tmp_path: Path) -> None:
    with reading(tmp_path) as program:
        said, _ = program.communicate(b"One\nTwo\n", 30)
    assert said == b"b'One\\nTw'\n"


def test_a_byte_order_mark_is_no_part_of_a_text_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(most: int) -> bytes:
        return "\ufeffThe boat is red.".encode()[:most]

    monkeypatch.setattr(sessions, "read_standard_input", read)
    assert asyncio.run(sessions.standard_input(100)) == "The boat is red."


def test_the_screen_without_a_terminal_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """It would wait for keys without an end, as in a timetable of jobs or over ssh without -t."""
    ended = subprocess.run(
        [sys.executable, "-c", "from storyengine_tui.cli import main; main()"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (ExitCode.REFUSED, "")
    assert ended.stderr == (
        "The screen opens at a terminal only.\n`storyengine --help` lists the commands that need none.\n"
    )
