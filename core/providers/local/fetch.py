"""Fetches a model of the catalogue: whole and with the right hash, or not at all (design 8)."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.config.files.paths import Paths
from core.config.files.private_files import make_directory
from core.providers.local.catalogue import CatalogueEntry
from core.providers.local.partial_file import FetchFailedError, PartialFile, Progress, in_thread
from core.providers.local.registry import SCRATCH_PREFIX, Download, fetch_parts

_LOCK_NAME = ".fetching"
_RESERVE_BYTES = 300_000_000
"""Bytes that stay free on the disk, where the chapters are stored too."""


async def fetch(
    entry: CatalogueEntry, paths: Paths, progress: Progress, download: Download | None = None
) -> Path:
    """Fetch the model into `paths.models` and return its file; asking the GM first is up to the caller.

    What has arrived is kept when this fails, is cancelled or crashes, and the next call goes on from there.
    Raises ProviderError.
    """
    target = paths.models / entry.file_name
    try:
        await in_thread(make_directory, paths.models)
        with alone_in(paths.models):
            await in_thread(clear, paths.models)
            partial = PartialFile(paths.models, entry)
            require_room(lacking_room(entry, paths))
            progress("downloading", partial.size / entry.bytes)
            if entry.parts:
                await fetch_parts(entry, paths.models, partial, progress, download)
            else:
                from core.providers.local import download as http

                await http.download(entry, partial, progress)
            await _check(entry, partial, progress)
            await in_thread(partial.finish, target)
    except OSError as error:
        raise FetchFailedError(f"it could not be stored ({error.strerror})") from error
    progress("ready", 1.0)
    return target


async def _check(entry: CatalogueEntry, partial: PartialFile, progress: Progress) -> None:
    if await partial.sha256(progress) != entry.sha256:
        await in_thread(partial.discard)
        raise FetchFailedError("the download is not the expected file, and was deleted")


def is_here(entry: CatalogueEntry, paths: Paths) -> bool:
    """Whether the model was fetched; blocking."""
    file = paths.models / entry.file_name
    return file.is_file() and file.stat().st_size == entry.bytes


def free_disk(folder: Path) -> int:
    """Return how many bytes the disk of a folder, which may be missing yet, has left for models; blocking."""
    while not folder.exists():
        folder = folder.parent
    return max(0, shutil.disk_usage(folder).free - _RESERVE_BYTES)


def lacking_room(entry: CatalogueEntry, paths: Paths) -> int:
    """Return the bytes that the disk lacks for the rest of the model, 0 for none; blocking."""
    wheel = max((part.bytes for part in entry.parts), default=0)
    missing = entry.bytes - PartialFile(paths.models, entry).size
    return max(0, missing + wheel - free_disk(paths.models))


def require_room(lacking: int) -> None:
    """Raise FetchFailedError if the disk lacks bytes."""
    if lacking > 0:
        raise FetchFailedError(f"the disk has too little room, {lacking / 1_000_000:,.0f} MB more are needed")


def clear(folder: Path) -> None:
    """Delete what a program that was killed left of a wheel."""
    for scratch in folder.glob(f"{SCRATCH_PREFIX}*/"):
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other programs from fetching at the same time; the system ends this with the process."""
    lock = os.open(folder / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FetchFailedError("another window is fetching a model now") from None
        yield
    finally:
        os.close(lock)
