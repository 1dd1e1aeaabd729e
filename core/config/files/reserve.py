"""Room on the disk that is set aside, so that a text can be written where nothing else can (design 6)."""

import errno
import logging
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from core.config.files.private_files import make_directory, write_privately

log = logging.getLogger(__name__)

SIZE: Final = 1_000_000
"""Bytes of one of the files; the text of a call with an input of 100,000 tokens has half as many."""
COUNT: Final = 2
"""Number of files: a reply, and an answer beside the play."""
_ABANDONED: Final = 86_400.0
"""Seconds after which no program is still filling a file."""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """Files that hold nothing but room; `path` is the beginning of their names. Every method blocks.

    Texts are written into `folder`, which is made with them: a full disk has no room for a directory either.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.folder: Final = folder
        self._path: Final = path
        self._files: Final = [path.with_name(f"{path.name}-{number}") for number in range(COUNT)]

    def fill(self) -> None:
        """Set aside what is missing; a disk without room for it is no error.

        What a killed fill left half made is deleted, a day later: until then another window may be at it.
        """
        self._drop_abandoned()
        for file in self._files:
            try:
                make_directory(self.folder)
                if not file.exists():
                    # Compressed by a file system, a text of one letter would set no room aside.
                    write_privately(file, os.urandom(SIZE // 2).hex(), is_flushed=False)
            except OSError as error:
                log.warning("no room could be set aside in %s: %s", file, error)
                return

    def _drop_abandoned(self) -> None:
        before = time.time() - _ABANDONED
        for file in self._path.parent.glob(f"{self._path.name}-*"):
            with suppress(OSError):
                if file not in self._files and file.stat().st_mtime < before:
                    file.unlink()

    def write_privately(self, target: Path, text: str) -> None:
        """Replace `target` in one step, as `private_files.write_privately`; on a full disk in the room.

        Raises OSError where that is used up, or too small.
        """
        try:
            write_privately(target, text)
        except OSError as error:
            if error.errno not in _FULL or not self._is_written(target, text):
                raise
        else:
            self.fill()

    def _is_written(self, target: Path, text: str) -> bool:
        """Write a text into the first file that is left, or the room of all; return whether it fits."""
        if len(text.encode()) > COUNT * SIZE + shutil.disk_usage(self.folder).free:
            return False
        draft = target.with_name(f"{target.name}.draft")
        for file in self._files:
            # Taken in one step: another window may want it too.
            with suppress(FileNotFoundError):
                make_directory(target.parent)
                os.replace(file, draft)
                try:
                    _overwrite(draft, text)
                except OSError:
                    # A file system that takes another block for each that is changed, or a longer text: the
                    # next file goes with the room of this one.
                    draft.unlink(missing_ok=True)
                    with suppress(OSError):
                        write_privately(target, text)
                        return True
                else:
                    os.replace(draft, target)
                    return True
        return False


def _overwrite(file: Path, text: str) -> None:
    with file.open("r+b") as out:
        out.write(text.encode())
        out.truncate()
        out.flush()
        os.fsync(out.fileno())
