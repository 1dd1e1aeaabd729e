"""The page of dependencies: complete, true, and the same wherever it is made."""

import shutil
from pathlib import Path

import pytest

from tools.dependencies import FACTS, PAGE, ROOT, Dependencies, UnexplainedError

FILES = (
    "pyproject.toml",
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-build.lock",
    "requirements-model.txt",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the page is made from, to be changed at will."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    shutil.copy(FACTS, tmp_path)
    return tmp_path


def made(project: Path) -> Dependencies:
    return Dependencies(project, project / FACTS.name)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_the_page_is_what_the_command_would_write() -> None:
    assert PAGE.read_text("utf-8") == Dependencies().page()


def test_every_library_of_every_lock_file_is_on_the_page_once() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    names = [line.split(" | ")[0].removeprefix("| ") for line in lines]
    locked = {
        line.partition("==")[0]
        for name in FILES[1:]
        for line in (ROOT / name).read_text("utf-8").splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    }
    libraries = [name for name in names if name not in ("library", "---")]
    assert set(libraries) == locked
    assert len(libraries) == len(set(libraries))


def test_a_library_that_nobody_needs_and_nobody_gave_a_reason_for_is_refused(project: Path) -> None:
    lock = project / "requirements.lock"
    lock.write_text(lock.read_text("utf-8") + "left-pad==1.0 \\\n    --hash=sha256:00\n", "utf-8")
    with pytest.raises(UnexplainedError, match="left-pad: nobody needs it"):
        made(project).page()


def test_a_library_that_we_name_ourselves_needs_a_sentence(project: Path) -> None:
    edit(project / FACTS.name, "\nrich = ", "\n# rich = ")
    with pytest.raises(UnexplainedError, match=r"rich: pyproject\.toml names it"):
        made(project).page()


def test_a_reason_for_a_library_that_is_gone_is_refused(project: Path) -> None:
    edit(project / FACTS.name, "[elsewhere]", 'requests-of-old = "history"\n[elsewhere]')
    with pytest.raises(UnexplainedError, match="requests-of-old"):
        made(project).page()


def test_a_library_of_one_system_only_must_be_known_by_the_facts(project: Path) -> None:
    edit(project / FACTS.name, "\ncolorama = ", "\n# colorama = ")
    with pytest.raises(UnexplainedError, match="colorama: it is not installed everywhere"):
        made(project).page()


def test_licences_are_read_from_the_version_that_is_locked_and_from_no_other(project: Path) -> None:
    edit(project / "requirements.lock", "\nrich==", "\nrich==0.")
    edit(project / "requirements-dev.lock", "\nrich==", "\nrich==0.")
    with pytest.raises(UnexplainedError, match=r"rich: .* is installed, .* is locked"):
        made(project).page()
