"""The beginning of a model file: kept over a failure or a crash until the rest has come."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from core.config.files.bounded_file import read_bounded
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.local.catalogue import CatalogueEntry

Progress = Callable[[str, float], None]
"""Is told what is being done and how far it is, 0 to 1."""
Result = TypeVar("Result")
_HASHED_AT_ONCE = 1 << 26
_LONGEST_VALIDATOR = 1_000


class PartialFile:
    """Bytes of one model that have arrived, always from its first one on. Its methods block.

    The name holds the expected hash, so that what was begun for another file is never continued.
    """

    def __init__(self, folder: Path, entry: CatalogueEntry) -> None:
        self._file = folder / f".{entry.file_name}.{entry.sha256[:12]}.part"
        self._validator = self._file.with_suffix(".from")

    @property
    def size(self) -> int:
        """Number of bytes that have arrived."""
        return self._file.stat().st_size if self._file.exists() else 0

    @property
    def validator(self) -> str:
        """Version that the server gave its file, of which this is the beginning; empty if unknown."""
        try:
            text = read_bounded(self._validator, _LONGEST_VALIDATOR).decode("ascii")
        except (OSError, ValueError):
            return ""
        return text if text.isprintable() else ""

    def restart(self, validator: str = "") -> None:
        """Forget what has arrived, and note the version that comes now."""
        self._file.unlink(missing_ok=True)
        self._write(self._validator, validator.encode("utf-8"), os.O_TRUNC)

    def cut(self, size: int) -> None:
        """Forget what arrived behind the first `size` bytes."""
        if self.size > size:
            os.truncate(self._file, size)

    def append(self, content: bytes) -> None:
        """Add the bytes that come next."""
        self._write(self._file, content, os.O_APPEND)

    def _write(self, file: Path, content: bytes, mode: int) -> None:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | mode, 0o600), "wb") as out:
            out.write(content)

    async def sha256(self, progress: Progress) -> str:
        """Return the hash of all that has arrived."""
        digest, size = hashlib.sha256(), max(1, self.size)
        with self._file.open("rb") as source:
            while block := await in_thread(source.read, _HASHED_AT_ONCE):
                await in_thread(digest.update, block)
                progress("checking", source.tell() / size)
        return digest.hexdigest()

    def finish(self, target: Path) -> None:
        """Move the whole file to its place, in one step and safe against a power cut."""
        with self._file.open("rb") as whole:
            os.fsync(whole.fileno())
        os.replace(self._file, target)
        self._validator.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete what has arrived."""
        self._file.unlink(missing_ok=True)
        self._validator.unlink(missing_ok=True)


async def in_thread(work: Callable[..., Result], *arguments: object) -> Result:
    """Do blocking work in a thread. Cancelled, wait for its end first: two threads never share a file."""
    task = asyncio.create_task(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


class FetchFailedError(ProviderError):
    """A model could not be fetched, for a `reason` in words."""

    def __init__(
        self,
        reason: str,
        what: str = "The local model",
        hint: str = "Try it again, or set STORYENGINE_MODEL_PATH to a GGUF file that you have.",
    ) -> None:
        message = f"{what} could not be fetched: {reason}; nothing is lost."
        super().__init__(ErrorCode.LLM_REQUEST_ERROR, message, hint=hint)
        self.reason = reason
