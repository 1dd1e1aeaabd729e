"""The server's cache: of the size of the stored data, within bounds, and filled again at the start.

The server takes memory of it only as it reads, and a small library has the cache that it always had. What
does not fit is read from the system each time: with 128 MB recall in a book of 100,000 items (860 MB) took a
quarter longer.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

LEAST_MB: Final = 128
MOST_MB: Final = 512
_SHARE_OF_MEMORY: Final = 8
"""Beyond the least, at most one part of so many of the memory."""
_STEP_MB: Final = 64
_MB: Final = 1 << 20


def cache_megabytes(data: Path, memory: int) -> int:
    """Return the megabytes of the cache of a server with this data directory, and so many of memory."""
    wanted = -(-_stored_bytes(data / "base") // (_STEP_MB * _MB)) * _STEP_MB
    return max(LEAST_MB, min(wanted, MOST_MB, memory // _SHARE_OF_MEMORY))


def cache_settings(megabytes: int, libraries: Path) -> dict[str, str]:
    """Return the server's settings for a cache of this size; `libraries` is the directory of its modules.

    One larger than the least is filled at the start, by processes of the server, with its pages at the last
    end. Else the first hundred questions about a large book read their pages one by one, and take half as
    long again.
    """
    settings = {"shared_buffers": f"{megabytes}MB"}
    if megabytes > LEAST_MB and any(libraries.glob("pg_prewarm.*")):
        settings["shared_preload_libraries"] = "pg_prewarm"
    return settings


def _stored_bytes(folder: Path) -> int:
    """Return the size of the files of all databases, without those that go meanwhile or cannot be read."""
    stored = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                stored += os.stat(os.path.join(path, name)).st_size
    return stored
