"""Rotates backups in a directory: named by their time, with the newest few kept (design 11)."""

import asyncio
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from core.config.files.private_files import make_directory
from core.domain.errors import ErrorCode, StorageError
from db.backups.dump import backup

_NAME: Final = "storyengine-%Y%m%dT%H%M%S.%fZ.dump"
_BACKUP: Final = re.compile(r"storyengine-\d{8}T\d{6}\.\d{6}Z\.dump")
_DRAFT: Final = re.compile(rf"\.{_BACKUP.pattern}\..*\.part")
_ABANDONED: Final = timedelta(days=1)


async def backup_into(url: str, directory: Path, keep: int, now: datetime) -> Path:
    """Write a backup into `directory`, keep it and the `keep` - 1 newest others, and return the new file.

    A directory that is missing is made, for its owner alone. Removes only files with a name of this form, and
    only once the new one is complete. Leftovers of a killed backup are removed after a day.

    Raises:
        StorageError: The backup could not be written; then nothing is removed.
    """
    file = await add_backup(url, directory, now)
    await keep_newest(file, keep, now)
    return file


async def add_backup(url: str, directory: Path, now: datetime) -> Path:
    """Write a backup into `directory`, remove nothing, and return the new file; raise StorageError."""
    try:
        await asyncio.to_thread(make_directory, directory)
    except OSError as error:
        raise _failure(f"{directory} could not be made.", error) from error
    file = directory / now.astimezone(UTC).strftime(_NAME)
    await backup(url, file)
    return file


async def keep_newest(file: Path, keep: int, now: datetime, *, spared: Path | None = None) -> None:
    """Keep a new backup, the `keep` - 1 newest others beside it, and `spared`; raise StorageError."""
    try:
        await asyncio.to_thread(_prune, file, keep, now, spared)
    except OSError as error:
        raise _failure(f"The backup is in {file}; older ones could not be removed.", error) from error


def _failure(message: str, error: OSError) -> StorageError:
    return StorageError(ErrorCode.STORAGE_SAVE_FAILED, message, error.strerror or "", is_transient=False)


def _prune(new: Path, keep: int, now: datetime, spared: Path | None) -> None:
    directory = new.parent
    # After the clock was set back the new one does not have the last name.
    others = [file for file in _named(directory, _BACKUP) if file.name != new.name]
    for old in others[: max(0, len(others) - keep + 1)]:
        if spared is None or not old.samefile(spared):
            old.unlink(missing_ok=True)
    abandoned_before = (now - _ABANDONED).timestamp()
    for draft in _named(directory, _DRAFT):
        with suppress(FileNotFoundError):
            if draft.stat().st_mtime < abandoned_before:
                draft.unlink()


def _named(directory: Path, pattern: re.Pattern[str]) -> list[Path]:
    """Return the files whose names match, oldest first: the names sort by time."""
    return sorted(file for file in directory.iterdir() if pattern.fullmatch(file.name) and file.is_file())
