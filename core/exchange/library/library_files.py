"""Files of the library's kinds: which of a folder are read, how much of each, and what an ending means."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Final

from core.config.files.bounded_file import FileTooLargeError, read_bounded
from core.domain.errors import ErrorCode, StoryEngineError
from core.exchange import chapter_file
from core.library.cards.card_file import CardFormat
from core.library.refusal import FileRefusedError

ENDINGS: Final = frozenset({".json", ".png", ".charx", ".jpg", ".jpeg", ".lorebook"})
"""The endings of those files in a folder that may hold a card or a lorebook."""
CHAT_ENDING: Final = ".jsonl"
LARGEST_CHAPTER: Final = 512 * 1024 * 1024
"""Bytes of the largest file of a chapter that is read."""
MOST_FILES: Final = 10_000
NO_FILE: Final = "No file there can be imported here."


async def read_file(file: Path, most: int) -> bytes:
    """Return the content of a file; raise FileRefusedError if it is unreadable or too large."""
    try:
        return await asyncio.to_thread(read_bounded, file, most)
    except FileTooLargeError as error:
        raise FileRefusedError(f"{file} is larger than {most // 1024**2} MB.") from error
    except OSError as error:
        raise FileRefusedError(f"{file} cannot be read ({error.strerror or error}).") from error


def files_in(paths: Iterable[Path], endings: Set[str] = ENDINGS) -> list[Path]:
    """Return the files among `paths`, and those in its folders with one of these endings, in order.

    Raises FileRefusedError for folders with too many of them.
    """
    found = [file for path in paths for file in _files_of(path, endings)]
    if len(found) > MOST_FILES:
        raise FileRefusedError(f"There are more than {MOST_FILES:,} files; nothing was imported.")
    return found


def chats_in(paths: Iterable[Path]) -> int:
    """Return the number of chats in the folders among `paths`, which are no files of cast or lore."""
    return len(files_in(filter(os.path.isdir, paths), {CHAT_ENDING}))


def _files_of(path: Path, endings: Set[str]) -> Iterator[Path]:
    if not os.path.isdir(path):  # False, and not an error, for a name that no file can have
        yield path
        return
    # Links to folders are not followed: they may lead in a circle.
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if Path(name).suffix.lower() in endings:
                yield Path(folder, name)


def format_of(file: Path) -> CardFormat:
    """Return the format of an export by the ending of its file; raise StoryEngineError for any other."""
    try:
        return CardFormat(file.suffix.lower().removeprefix("."))
    except ValueError as error:
        raise StoryEngineError(
            ErrorCode.ILLEGAL_COMMAND,
            f"{file} has no ending that says a format; nothing was written.",
            "Use .json, .png or .charx.",
        ) from error


def refuse_present(file: Path) -> None:
    """Raise StoryEngineError for a file that is there already: nothing is written over."""
    if os.path.isdir(file):
        raise StoryEngineError(
            ErrorCode.ILLEGAL_COMMAND, f"{file} is a directory; nothing was written.", "Name a file in it."
        )
    if os.path.lexists(file):
        raise StoryEngineError(
            ErrorCode.ILLEGAL_COMMAND, f"{file} is there already; nothing was written.", "Name another file."
        )


async def write_new(file: Path, content: bytes) -> None:
    """Write a file that is not there yet, whole or not at all; raise StoryEngineError."""
    try:
        await asyncio.to_thread(chapter_file.write_new, file, content)
    except OSError as error:
        refuse_present(file)
        raise StoryEngineError(
            ErrorCode.STORAGE_SAVE_FAILED,
            f"{file} cannot be written: {error.strerror or error}; the library is as it was.",
            "Name another place.",
        ) from error
