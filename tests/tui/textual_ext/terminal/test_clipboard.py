"""Copies reach the user's clipboard also from inside tmux, and a tmux that fails harms nothing."""

import stat
from pathlib import Path

import pytest

from core.config.files.paths import Paths
from storyengine_tui.shell.overlay_app import OverlayApp
from storyengine_tui.textual_ext.terminal.clipboard import hand_to_tmux

pytestmark = pytest.mark.anyio


@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `tmux` on the path that writes what it is given, and return where to."""
    taken = tmp_path / "taken"
    program = tmp_path / "tmux"
    program.write_text(f'#!/bin/sh\n[ "$*" = "load-buffer -w -" ] && cat >"{taken}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return taken


def taken(tmux: Path) -> str:
    return tmux.read_text() if tmux.exists() else ""


@pytest.mark.parametrize(("variable", "is_taken"), [("/tmp/tmux-0/default,1,0", True), ("", False)])
async def test_a_copy_goes_to_tmux_only_inside_of_it(
    tmux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, is_taken: bool
) -> None:
    monkeypatch.setenv("TMUX", variable)
    app = OverlayApp(Paths(tmp_path, tmp_path, tmp_path, tmp_path))
    async with app.run_test():
        app.copy_to_clipboard("été 語")
        await app.workers.wait_for_complete()
    assert app.clipboard == "été 語"
    assert taken(tmux) == ("été 語" if is_taken else "")


async def test_a_tmux_that_is_missing_or_refuses_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not hand_to_tmux("x")
    program = tmp_path / "tmux"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert not hand_to_tmux("x")
