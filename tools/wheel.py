"""Builds the wheel and plays a chapter with it; needs no network.

    python -m tools.wheel [--out dist]

The wheel is built with the build tools that are installed, compared with the files of the repository, and
installed into a bare environment, where it plays an example. The libraries come from this environment; the
project's own packages do not, because a path that a `.pth` file adds has its own `.pth` files ignored.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 300.0


class WheelError(Exception):
    """The wheel cannot be built, lacks a file, or does not run."""


def build(source: Path, out: Path) -> Path:
    """Build the wheel of the project at `source` into `out`; raise WheelError when that fails."""
    _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)], source)
    (wheel,) = out.glob("*.whl")
    return wheel


def expected_files(source: Path) -> set[str]:
    """Return the names that the wheel must have: all files of the packages, and what is included."""
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    packages = {package: package for package in wheel["packages"]}
    return {
        f"{inside}/{file.relative_to(source / outside).as_posix()}"
        for outside, inside in (packages | wheel["force-include"]).items()
        for file in (source / outside).rglob("*")
        if file.is_file() and file.suffix not in (".pyc", ".pyo")
    }


def check_contents(wheel: Path, expected: Iterable[str]) -> None:
    """Raise WheelError when the wheel lacks one of the files, or its licence or command."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    endings = {name.partition(".dist-info/")[2] for name in names}
    missing = {*expected} - names | {"entry_points.txt", "licenses/LICENSE"} - endings
    if missing:
        raise WheelError(f"{wheel.name} lacks {', '.join(sorted(missing))}.")


def check_program(wheel: Path, home: Path) -> None:
    """Install the wheel into a bare environment below `home`, and play an example with it."""
    venv.create(home / "venv", with_pip=True)
    python = home / "venv" / "bin" / "python"
    _run([str(python), "-I", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)], home)
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(_run([str(python), "-I", "-c", asked], home).strip())
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    where = _run([str(python), "-I", "-c", "import core; print(core.__file__)"], home).strip()
    if not Path(where).is_relative_to(site):
        raise WheelError(f"The check would run {where} and not the wheel.")
    chapter = site / "storyengine_tui" / "examples" / "the_lamp_at_grey_point.toml"
    program = python.with_name("storyengine")
    _run([str(program), "play", str(chapter), "--provider", "scripted", "--out", str(home / "out")], home)
    if not any((home / "out").iterdir()):
        raise WheelError("The installed program played a chapter and wrote no file.")


def _run(command: list[str], where: Path) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(where),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode != 0:
        raise WheelError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    """Build and check the wheel, then put it into `--out`."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheel", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheel goes")
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory(prefix="se-wheel-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        wheel = build(ROOT, home / "built")
        check_contents(wheel, expected_files(ROOT))
        check_program(wheel, home)
        out.mkdir(parents=True, exist_ok=True)
        made = out / wheel.name
        made.write_bytes(wheel.read_bytes())
    sys.stdout.write(f"{made}: complete, and it plays a chapter.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
