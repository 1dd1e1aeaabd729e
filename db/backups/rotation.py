"""Rotates backups in a directory: named by their time, with the newest few kept (design 11)."""

import asyncio
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from core.domain.errors import ErrorCode, StorageError
from db.backups.dump import backup

_NAME: Final = "storyengine-%Y%m%dT%H%M%S.%fZ.dump"
_BACKUP: Final = re.compile(r"storyengine-\d{8}T\d{6}\.\d{6}Z\.dump")
_DRAFT: Final = re.compile(rf"\.{_BACKUP.pattern}\..*\.part")
_ABANDONED: Final = timedelta(days=1)


async def backup_into(url: str, directory: Path, keep: int, now: datetime) -> Path:
    """Write a backup into `directory`, remove all but the newest `keep` (1 or more), and return the new file.

    Removes only files with a name of this form, and only once the new one is complete. Leftovers of a killed
    backup are removed after a day.

    Raises:
        StorageError: The backup could not be written; then nothing is removed.
    """
    file = directory / now.astimezone(UTC).strftime(_NAME)
    await backup(url, file)
    try:
        await asyncio.to_thread(_prune, directory, keep, now)
    except OSError as error:
        raise StorageError(
            ErrorCode.STORAGE_SAVE_FAILED,
            f"The backup is in {file}; older ones could not be removed.",
            error.strerror or "",
            is_transient=False,
        ) from error
    return file


def _prune(directory: Path, keep: int, now: datetime) -> None:
    for old in _named(directory, _BACKUP)[:-keep]:
        old.unlink(missing_ok=True)
    abandoned_before = (now - _ABANDONED).timestamp()
    for draft in _named(directory, _DRAFT):
        with suppress(FileNotFoundError):
            if draft.stat().st_mtime < abandoned_before:
                draft.unlink()


def _named(directory: Path, pattern: re.Pattern[str]) -> list[Path]:
    """Return the files whose names match, oldest first: the names sort by time."""
    return sorted(file for file in directory.iterdir() if pattern.fullmatch(file.name) and file.is_file())
