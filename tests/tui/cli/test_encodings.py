"""What commands print where the encoding of the output is not UTF-8."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from storyengine_tui.cli.running import print_json

ROOT = Path(__file__).resolve().parents[3]


def test_a_character_that_the_terminal_lacks_ends_no_command(tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    data = {"name": "Zoë Жук", "description": "Tall."}
    card.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}))
    homes = {f"STORYENGINE_{name}_DIR": str(tmp_path / name) for name in ("DATA", "CONFIG")}
    ended = subprocess.run(
        [sys.executable, "-c", "from storyengine_tui.cli import main; main()", "cast", "show", card],
        cwd=tmp_path,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
            **homes,
            "PYTHONIOENCODING": "latin-1",
        },
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.decode("latin-1").startswith("Zoë ???\n")


def test_json_is_utf_8_in_every_terminal(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with open(1, "w", encoding="latin-1", closefd=False) as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        print_json(["Жук"])
    assert json.loads(capfdbinary.readouterr().out) == ["Жук"]
