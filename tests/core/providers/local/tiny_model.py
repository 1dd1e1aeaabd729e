"""A made-up entry of the catalogue, and what a fetch of it leaves on the disk."""

import hashlib
from typing import Any

from core.config.files.paths import Paths
from core.providers.local.catalogue import CatalogueEntry


def tiny_entry(content: bytes, **changes: Any) -> CatalogueEntry:
    """Return an entry whose file is `content`; `changes` says where it comes from."""
    facts: dict[str, Any] = {
        "name": "tiny",
        "title": "Tiny",
        "file_name": "tiny.gguf",
        "bytes": len(content),
        "memory": 100,
        "licence": "MIT",
        "quantisation": "Q4_0",
        "context": 8_192,
        "style": "small",
        "sha256": hashlib.sha256(content).hexdigest(),
        "hash_source": "this test",
    }
    return CatalogueEntry.model_validate({**facts, **changes})


def nothing(stage: str, share: float) -> None:
    """Hear of progress."""


def left_behind(paths: Paths) -> list[str]:
    """Return the files of the models' folder, but for the lock."""
    return sorted(file.name for file in paths.models.iterdir() if file.name != ".fetching")
