"""Which interpreter `.venv` is made with."""

import subprocess
from pathlib import Path

FIND = Path(__file__).parents[2] / "tools" / "find_python.sh"


def put(folder: Path, name: str, microseconds: int, *, makes_environments: bool = True) -> Path:
    """Write a program that answers what the script asks of an interpreter."""
    folder.mkdir(exist_ok=True)
    place = folder / name
    described = f"echo {place}" if makes_environments else "exit 1"
    place.write_text(
        f"""#!/bin/sh
case "$*" in
*process_time*) echo {microseconds} ;;
*ensurepip*) {described} ;;
*version_info*) exit 0 ;;
*) exit 2 ;;
esac
"""
    )
    place.chmod(0o755)
    return place


def found(*folders: Path) -> subprocess.CompletedProcess[str]:
    path = ":".join(map(str, folders))
    return subprocess.run(
        ["/bin/sh", FIND], capture_output=True, text=True, env={"PATH": path}, timeout=60, check=False
    )


def test_an_older_python_that_is_clearly_faster_makes_the_environment(tmp_path: Path) -> None:
    put(tmp_path / "new", "python3.13", 10_000)
    older = put(tmp_path / "old", "python3.11", 5_000)

    assert found(tmp_path / "new", tmp_path / "old").stdout == f"{older}\n"


def test_a_newer_python_is_kept_where_an_older_one_is_a_little_faster(tmp_path: Path) -> None:
    newer = put(tmp_path / "new", "python3.13", 10_000)
    put(tmp_path / "old", "python3.11", 8_100)

    assert found(tmp_path / "old", tmp_path / "new").stdout == f"{newer}\n"


def test_of_two_builds_of_one_version_the_faster_one_is_found_behind_the_other(tmp_path: Path) -> None:
    put(tmp_path / "first", "python3.11", 10_000)
    faster = put(tmp_path / "a folder", "python3.11", 6_000)

    assert found(tmp_path / "first", tmp_path / "a folder").stdout == f"{faster}\n"


def test_a_python_that_can_make_no_environment_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "fast", "python3.13", 1_000, makes_environments=False)
    able = put(tmp_path / "slow", "python3.12", 10_000)

    assert found(tmp_path / "fast", tmp_path / "slow").stdout == f"{able}\n"


def test_a_name_without_a_version_is_called_only_where_there_is_no_other(tmp_path: Path) -> None:
    plain = put(tmp_path / "plain", "python3", 1_000)
    versioned = put(tmp_path / "versioned", "python3.12", 10_000)

    assert found(tmp_path / "plain", tmp_path / "versioned").stdout == f"{versioned}\n"
    assert found(tmp_path / "plain").stdout == f"{plain}\n"


def test_folders_of_the_path_are_taken_as_they_are_written(tmp_path: Path) -> None:
    put(tmp_path / "abc", "python3.13", 1_000)
    placed = put(tmp_path / "a[x] *", "python3.12", 10_000)

    assert found(tmp_path / "a*", tmp_path / "a[x] *").stdout == f"{placed}\n"


def test_without_a_python_the_search_fails_and_names_none(tmp_path: Path) -> None:
    put(tmp_path, "python3.13", 1_000, makes_environments=False)

    nothing = found(tmp_path)

    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (1, "", "")
