"""Reads a file of the library's kinds, with a bound and in a thread."""

import asyncio
from pathlib import Path

from core.config.bounded_file import FileTooLargeError, read_bounded
from core.library.refusal import FileRefusedError


async def read_file(file: Path, most: int) -> bytes:
    """Return the content of a file; raise FileRefusedError if it is unreadable or too large."""
    try:
        return await asyncio.to_thread(read_bounded, file, most)
    except FileTooLargeError as error:
        raise FileRefusedError(f"{file} is larger than {most // 1024**2} MB.") from error
    except OSError as error:
        raise FileRefusedError(f"{file} cannot be read ({error.strerror or error}).") from error
