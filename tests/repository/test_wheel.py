"""The wheel holds all that the program needs, also where the image builds it from fewer files."""

import shutil
from pathlib import Path

import pytest

from tools.wheel import ROOT, WheelError, build, check_contents, expected_files


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """What the first stage of the image copies before it installs the project."""
    first_stage = (ROOT / "Dockerfile").read_text("utf-8").split("\nFROM ")[1]
    source = tmp_path / "src"
    source.mkdir()
    for line in first_stage.splitlines():
        if line.startswith("COPY "):
            *names, target = line.split()[1:]
            for name in names:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / target, ignore=shutil.ignore_patterns("*.pyc"))
                else:
                    shutil.copy(ROOT / name, source / target)
    return source


def test_the_image_builds_a_complete_wheel_from_what_it_copies(copied: Path, tmp_path: Path) -> None:
    check_contents(build(copied, tmp_path / "dist"), expected_files(ROOT))


def test_a_wheel_that_lacks_a_file_is_refused_and_the_file_is_named(copied: Path, tmp_path: Path) -> None:
    prompt = "core/agents/prompts/narrative.md"
    (copied / prompt).unlink()
    with pytest.raises(WheelError, match=prompt):
        check_contents(build(copied, tmp_path / "dist"), expected_files(ROOT))


def test_a_wheel_that_cannot_be_built_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="Missing `project`"):
        build(tmp_path, tmp_path / "dist")
