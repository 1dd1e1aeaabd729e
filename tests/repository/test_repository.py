"""What every file of the repository keeps to: size, no traces of a machine, hashed lock files."""

import re
import shutil
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 400
LOCK_FILES = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-build.lock",
    "requirements-model.txt",
)
# Written in parts, or this file would find itself. A made-up home in a test is no trace of a machine.
_HOMES = r"/ro" + r"ot/\w|/Us" + r"ers/\w"
_OURS = r"(?<![\w.])/wo" + r"rk/(?:main|shared)"
MACHINE = re.compile(f"{_HOMES}|{_OURS}")
REGISTRY = re.compile(
    r"(?:pypi|pytho" + r"nhosted)\.(?:org|io)|--(?:extra-)?index-u" + r"rl\b|--find-l" + r"inks", re.I
)


def tracked() -> list[Path]:
    """Return the files that git tracks, or all that is there when this is no clone."""
    git = ["git", "ls-files", "-z"]
    done = shutil.which("git") and subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    if done and done.returncode == 0:
        return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def test_no_source_file_is_longer_than_one_can_hold_in_mind() -> None:
    long = {
        str(path): count
        for path in tracked()
        if path.suffix == ".py" and (count := len(text_of(path).splitlines())) > MAX_LINES
    }
    assert not long


def test_no_two_test_files_have_one_name() -> None:
    """Test folders are no packages, so pytest cannot import two modules of one name in one process."""
    names = Counter(path.name for path in tracked() if path.suffix == ".py" and "tests" in path.parts)
    assert not {name for name, count in names.items() if count > 1 and name.startswith("test_")}


def test_no_two_files_play_chapters_of_one_title_on_the_machine_they_share() -> None:
    """Two files may run on one machine of a worker, in any order: a chapter of that title is played on."""
    files = (
        path for path in tracked() if path.is_relative_to(ROOT / "tests" / "e2e") and path.suffix == ".py"
    )
    titles = Counter(
        title
        for path in files
        for title in set(re.findall(r'(?:chapter_script|here\.play)\(\s*"([^"]+)"', text_of(path)))
    )
    assert len(titles) > 20, "scripts are found"
    assert [title for title, files_of_it in titles.items() if files_of_it > 1] == []


@pytest.mark.parametrize("pattern", [MACHINE, REGISTRY], ids=["machine path", "registry"])
def test_no_file_names_a_machine_or_a_registry(pattern: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked()
        for match in pattern.finditer(text_of(path))
    ]
    assert not found


@pytest.mark.parametrize("name", LOCK_FILES)
def test_every_library_is_pinned_and_hashed(name: str) -> None:
    entries = re.split(r"(?<!\\)\n", re.sub(r"(?m)^#.*\n", "", text_of(ROOT / name)).strip())
    assert entries
    assert not [
        entry for entry in entries if not re.match(r"[\w.-]+==\S+.*--hash=sha256:[0-9a-f]{64}", entry, re.S)
    ]


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", text_of(ROOT / name)))


@pytest.mark.parametrize("part", ["requirements.lock", "requirements-build.lock"])
def test_what_is_tested_is_what_runs(part: str) -> None:
    everything = pins("requirements-dev.lock")
    assert pins(part).items() <= everything.items()


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))
    declared = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in declared}
    locked = {name.lower().replace("_", "-") for name in pins("requirements-dev.lock")}
    assert names
    assert names <= locked


LINK = re.compile(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", [one for one in tracked() if one.suffix == ".md"], ids=lambda one: one.name)
def test_a_link_of_a_page_leads_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(page.read_text("utf-8")):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"
