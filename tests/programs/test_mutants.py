"""`make mutants` changes what it says, in copies alone, and counts what the tests notice."""

import subprocess
from pathlib import Path

import pytest

from tools.mutant_kinds import Mutant, mutants_of
from tools.mutant_trials import Copy, Coverage, Outcome
from tools.mutants import Equivalent, draw, find_mutants, read_equivalent, report

SOURCE = b'''"""Counts."""


def is_late(days: int = 7) -> bool:
    if not days:
        raise ValueError("no days")
    return days > 3 and days < 30
'''
TEST = (
    "from core.count import is_late\n\ndef test_a_month_is_late(): assert is_late(29) and not is_late(31)\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one file with one test."""
    root = tmp_path / "project"
    files = {"core/__init__.py": b"", "core/count.py": SOURCE, "tests/core/test_count.py": TEST.encode()}
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


def changes(source: bytes) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in mutants_of("core/count.py", source)}


def the_one(root: Path, after: str) -> Mutant:
    [mutant] = [one for one in find_mutants(root, ["core/*.py"]) if one.after == after]
    return mutant


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if not days:", "if days:"),
        ("if not days:", "if ((not days) and False):"),
        ("if not days:", "if ((not days) or True):"),
        ('raise ValueError("no days")', "pass"),
        ("return days > 3 and days < 30", "return days >= 3 and days < 30"),
        ("return days > 3 and days < 30", "return days > 3 or days < 30"),
        ("return days > 3 and days < 30", "return days > 3 and days < 31"),
        ("return days > 3 and days < 30", "return None"),
        ("def is_late(days: int = 7) -> bool:", "def is_late(days: int = 8) -> bool:"),
    ],
)
def test_operators_numbers_branches_statements_and_results_are_changed(before: str, after: str) -> None:
    assert (before, after) in changes(SOURCE)


@pytest.mark.parametrize(
    "source",
    [
        b'"""Docstring."""\nlimit: "int | None"\n',
        b'if sys.platform == "win32":\n    start(1)\n',
        b'log.warning("%d", 3)\n',
        b"assert_never(kind)\n",
        b"@dataclass(frozen=True, slots=True)\nclass Seen:\n    name: str\n",
        b'text = f"{count + 1}"\n',
    ],
)
def test_what_no_behaviour_shows_is_left_alone(source: bytes) -> None:
    assert not changes(source)


def test_an_operator_is_changed_where_it_stands_among_brackets_and_lines() -> None:
    source = b"kept = (\n    (one or two)\n    and (\n        three\n    )\n)\n"
    assert {mutant.applied_to(source) for mutant in mutants_of("core/count.py", source)} == {
        source.replace(b"and", b"or"),
        source.replace(b"one or two", b"one and two"),
    }


def test_a_seed_always_draws_the_same(project: Path) -> None:
    mutants = find_mutants(project, ["core/*.py"])
    assert draw(mutants, 5, 4, project) == draw(mutants, 5, 4, project)
    assert draw(mutants, 5, 4, project) != draw(mutants, 6, 4, project)
    assert len(draw(mutants, 5, None, project)) == len(mutants)


def test_a_mutant_is_noticed_when_a_test_of_its_line_fails_and_the_tree_stays_as_it_was(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # They take longer to import than it runs.
    test = "tests/core/test_count.py::test_a_month_is_late"
    coverage = Coverage({"core/count.py": {5: [test], 7: [test]}}, {test: 0.1})
    with Copy(project, tmp_path / "copy") as copy:
        noticed = copy.try_out(the_one(project, "return days > 3 or days < 30"), coverage, 60.0)
        survived = copy.try_out(the_one(project, "return days >= 3 and days < 30"), coverage, 60.0)
        unseen = copy.try_out(the_one(project, "pass"), coverage, 60.0)
    assert (noticed.outcome, noticed.tests) == (Outcome.NOTICED, 1)
    assert "test_a_month_is_late" in noticed.by
    assert survived.outcome is Outcome.SURVIVED
    assert (unseen.outcome, unseen.tests) == (Outcome.SURVIVED, 0)
    assert (
        (project / "core/count.py").read_bytes() == (tmp_path / "copy/core/count.py").read_bytes() == SOURCE
    )
    said = report([noticed, survived, unseen], 2, 5, 60.0)
    assert "core/count.py:7 (comparison), got past 1 tests" in said
    assert "\n+ return days >= 3 and days < 30" in said
    assert "seed 5: 1 of 3 mutants noticed (33.3%" in said


def test_a_line_that_runs_at_import_is_tried_with_the_tests_that_use_its_file() -> None:
    coverage = Coverage(
        {"core/count.py": {4: [], 5: ["tests/core/slow", "tests/core/quick"]}},
        {"tests/core/slow": 2.0, "tests/core/quick": 0.1},
    )
    assert coverage.tests_of("core/count.py", 4, 60.0) == ["tests/core/quick", "tests/core/slow"]
    assert coverage.tests_of("core/count.py", 6, 60.0) == []


def test_of_the_tests_of_a_line_one_of_each_kind_comes_before_the_second_of_any_for_so_long() -> None:
    durations = {
        "tests/core/one[a]": 0.1,
        "tests/core/one[b]": 0.2,
        "tests/core/other": 1.0,
        "tests/core/gone": 0.1,
    }
    coverage = Coverage(
        {"core/count.py": {5: ["tests/core/one[b]", "tests/core/other", "tests/core/one[a]"]}}, durations
    )
    assert coverage.tests_of("core/count.py", 5, 60.0) == [
        "tests/core/one[a]",
        "tests/core/other",
        "tests/core/one[b]",
    ]
    assert coverage.tests_of("core/count.py", 5, 1.2) == ["tests/core/one[a]", "tests/core/other"]
    assert coverage.tests_of("core/count.py", 5, 0.0) == ["tests/core/one[a]"]


def test_the_tests_of_one_directory_come_before_those_of_the_next_and_leave_them_their_time() -> None:
    durations = {"tests/core/slow": 9.0, "tests/engine/quick": 0.1, "tests/engine/slow": 9.5}
    coverage = Coverage({"core/count.py": {5: list(durations)}}, durations)
    assert coverage.tests_of("core/count.py", 5, 10.0) == list(durations)


def test_every_change_that_is_listed_as_equal_has_a_reason(tmp_path: Path) -> None:
    assert all(reason.strip() for reason in read_equivalent().values())
    file = tmp_path / "list.toml"
    line = "return days > 3 and days < 30"
    entry = {"file": "core/count.py", "before": line, "after": line.replace("30", "31"), "reason": "Why."}
    file.write_text("[[equivalent]]\n" + "".join(f'{name} = "{text}"\n' for name, text in entry.items()))
    listed = read_equivalent(file)
    assert sum(Equivalent.of(mutant) in listed for mutant in mutants_of("core/count.py", SOURCE)) == 1


def test_a_line_that_few_tests_run_is_tried_with_the_others_of_its_file_too_its_namesakes_first() -> None:
    other, own, last = (
        "tests/core/test_a.py::test_x",
        "tests/core/test_count.py::test_y",
        "tests/core/test_b.py::test_z",
    )
    coverage = Coverage(
        {"core/count.py": {1: [], 2: [other, own], 3: [last]}}, {other: 0.1, own: 0.3, last: 0.2}
    )
    assert coverage.tests_of("core/count.py", 1, 60.0) == [own, other, last]
    assert coverage.tests_of("core/count.py", 3, 60.0) == [last, own, other]
    assert coverage.tests_of("core/count.py", 9, 60.0) == []
