"""Finds the number of parameters of a model, by its name or by the beginning of its file."""

import re
import stat
import struct
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

LARGEST_SMALL: Final = 2.0
"""Billions of parameters of the largest model that gets short prompts with an example."""

_SIZE = re.compile(r"(?<![a-z0-9.])(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z0-9])")
_LONGEST_NAME: Final = 300
_LARGEST: Final = 100_000.0
"""Billions; a number beyond it is no size."""

_HEADER_BYTES: Final = 65_536
"""Bytes of a file that are read: its general fields come first, before the vocabulary, which is long."""
_MOST_FIELDS: Final = 64
_STRING, _ARRAY = 8, 9
_WIDTHS: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value of each of GGUF's types that have a fixed width."""


def is_small_by_name(name: str) -> bool:
    """Whether a model of which only the name is known is small; not where its name tells no size."""
    return _is_small(size_in_name(name))


def is_small_file(file: Path) -> bool:
    """Return whether the model in a GGUF file is small, by its header, else by its name (`size_of_file`)."""
    size = size_of_file(file)
    return _is_small(size_in_name(file.stem) if size is None else size)


def _is_small(billions: float | None) -> bool:
    return billions is not None and billions <= LARGEST_SMALL


def size_in_name(name: str) -> float | None:
    """Return the billions of parameters that a model's name tells, such as 1.5 for `qwen2.5:1.5b`; else None.

    Of several sizes the largest counts: `30b-a3b` has thirty, of which three are at work. `8x7b` has 56.
    """
    found = [
        int(copies or 1) * float(number) / (1 if unit == "b" else 1000)
        for copies, number, unit in _SIZE.findall(name[:_LONGEST_NAME].casefold())
    ]
    return max(found, default=None)


def size_of_file(file: Path) -> float | None:
    """Return the billions of parameters that a GGUF file says it has; None where it says nothing.

    Blocking, but reads 64 KB at most, and of a file that has not changed only once. Never raises.
    """
    try:
        file = file.expanduser()
        facts = file.stat()
    except (OSError, ValueError, RuntimeError):  # a NUL in the path; a `~` of an unknown user
        return None
    return _size(file, facts.st_mtime_ns) if stat.S_ISREG(facts.st_mode) else None


@lru_cache(maxsize=16)
def _size(file: Path, _: int) -> float | None:
    with suppress(OSError, ValueError, struct.error), file.open("rb") as opened:
        return _size_in(opened.read(_HEADER_BYTES))
    return None


def _size_in(header: bytes) -> float | None:
    """Return the size that a header tells; raise ValueError or struct.error where it is no header of GGUF."""
    if header[:4] != b"GGUF":
        raise ValueError("not a GGUF file")
    (fields,) = struct.unpack_from("<Q", header, 16)
    at = 24
    for _ in range(min(fields, _MOST_FIELDS)):
        if at > len(header):
            raise ValueError("the header is longer than the part that was read")
        key, at = _string(header, at)
        (kind,) = struct.unpack_from("<I", header, at)
        at += 4
        if key == "general.size_label" and kind == _STRING:
            return size_in_name(_string(header, at)[0])
        if key == "general.parameter_count" and _WIDTHS.get(kind) == 8:
            (count,) = struct.unpack_from("<Q", header, at)
            return float(count) / 1e9 if 0 < count / 1e9 <= _LARGEST else None
        at = _after(header, at, kind)
    return None


def _string(header: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", header, at)
    end = at + 8 + length
    if end > len(header):
        raise ValueError("the header is longer than the part that was read")
    return header[at + 8 : end].decode("utf-8", "replace"), end


def _after(header: bytes, at: int, kind: int) -> int:
    """Return where the value of type `kind` at `at` ends."""
    if kind in _WIDTHS:
        return at + _WIDTHS[kind]
    if kind == _STRING:
        return _string(header, at)[1]
    inner, count = struct.unpack_from("<IQ", header, at)
    at += 12
    if kind == _ARRAY and inner in _WIDTHS:
        return at + _WIDTHS[inner] * int(count)
    if kind != _ARRAY or inner != _STRING:
        raise ValueError("a value of an unknown type")
    for _ in range(count):
        at = _string(header, at)[1]
    return at
