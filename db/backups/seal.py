"""The SHA-256 at the end of a backup, which a restore checks.

The format of PostgreSQL has a check of the rows, and none of the table of contents: one wrong bit in it may
leave out a rule, or the rows of a whole table. `pg_restore` does not read what follows them.
"""

import hashlib
import re
from pathlib import Path
from typing import Final

_MARK: Final = b"\nstoryengine-sha256:"
_LENGTH: Final = len(_MARK) + 64
_SEAL: Final = re.compile(re.escape(_MARK) + rb"([0-9a-f]{64})")
_PIECE: Final = 1_000_000


def seal(file: Path) -> None:
    """Append the SHA-256 of a backup to it; blocking. Raises OSError."""
    made = _sha256(file, file.stat().st_size)
    with file.open("ab") as out:
        out.write(_MARK + made)


def is_damaged(file: Path) -> bool:
    """Return whether a backup is not what was sealed; False for one without a seal. Blocking.

    Raises OSError. A directory, which `pg_dump` can write too, has none.
    """
    if not file.is_file():
        return False
    length = file.stat().st_size
    with file.open("rb") as content:
        content.seek(max(0, length - _PIECE))
        end = content.read()
    found = _SEAL.fullmatch(end[-_LENGTH:])
    if found is None:
        return _has_rest(end)
    return found[1] != _sha256(file, length - _LENGTH)


def _has_rest(end: bytes) -> bool:
    """Return whether a file without a whole seal had one: it was cut in it, changed in it, or goes on.

    A file of `pg_dump` ends with zeros.
    """
    is_cut = any(end.endswith(_MARK[:count]) for count in range(1, len(_MARK)))
    return is_cut or _MARK in end or re.search(rb"[0-9a-f]{64}\Z", end) is not None


def _sha256(file: Path, length: int) -> bytes:
    """Return the SHA-256 of the first bytes of a file, in hexadecimal."""
    made = hashlib.sha256()
    with file.open("rb") as content:
        while length > 0 and (piece := content.read(min(_PIECE, length))):
            made.update(piece)
            length -= len(piece)
    return made.hexdigest().encode()
