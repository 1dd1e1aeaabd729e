"""The downloaded chapter: a text file, never over an existing one (design 10)."""

import errno
import os
import re
import tempfile
from pathlib import Path

_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*]+')
_AROUND = " .,;:-–—…"
"""What no name begins or ends with: what file systems drop, and what a cut sentence ends with."""
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)$")


def file_name(title: str) -> str:
    """Return a file name without extension that every common file system takes."""
    name = _UNSAFE.sub(" ", title).strip(_AROUND)
    name = " ".join(name.split())
    while len(name.encode("utf-8")) > 120:
        name = name[:-1]
    name = name.strip(_AROUND) or "Chapter"
    return f"{name} chapter" if _RESERVED.match(name) else name


def write_chapter(text: str, title: str, out: Path) -> Path:
    """Write `text` to `out` and return the path.

    `out` is a file when it ends in .txt, else a folder, which is made. An existing file is kept: one
    with the same content is the result, else the new one gets a number. Raises OSError.
    """
    content = (text.rstrip() + "\n").encode("utf-8")
    is_file = out.suffix == ".txt" and not out.is_dir()
    folder, stem = (out.parent, out.stem) if is_file else (out, file_name(title))
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, 10_000):
        target = folder / (f"{stem}.txt" if number == 1 else f"{stem} ({number}).txt")
        try:
            write_new(target, content)
        except FileExistsError:
            if _has_content(target, content):
                return target
            continue
        return target
    raise FileExistsError(f"{folder} holds ten thousand chapters of this name already")


def _has_content(file: Path, content: bytes) -> bool:
    """Whether a regular file is exactly `content`; one of another size is not read."""
    return file.is_file() and file.stat().st_size == len(content) and file.read_bytes() == content


def write_new(target: Path, content: bytes) -> None:
    """Write a file that does not exist yet, whole or not at all, readable by its owner alone.

    Raises FileExistsError when there is one, and OSError.
    """
    if target.exists() or target.is_symlink():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".storyengine-")
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _move_to_free_name(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def _move_to_free_name(name: str, target: Path) -> None:
    """Give the file its name, in one step where the file system has links, and never over another file."""
    try:
        os.link(name, target)
    except FileExistsError:
        raise
    except OSError:
        with target.open("xb"):
            os.replace(name, target)
