"""Writes a chapter to a text file, never over an existing one (design 10)."""

import errno
import os
import re
from pathlib import Path

from core.config.files.drafts import locked_draft, move_to_free_name
from core.text.graphemes import head

_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*…]+')
_AROUND = " .,;:-–—…"
"""Stripped from both ends of a name: what file systems drop, and punctuation of a cut sentence."""
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)$")


def file_name(title: str) -> str:
    """Return a file name without extension that is valid on all common file systems."""
    name = _UNSAFE.sub(" ", title).strip(_AROUND)
    name = " ".join(name.split())
    while len(name.encode("utf-8")) > 120:
        name = head(name, len(name) - 1)
    name = name.strip(_AROUND) or "Chapter"
    return f"{name} chapter" if _RESERVED.match(name) else name


def write_chapter(text: str, title: str, out: Path) -> Path:
    """Write `text` to `out` and return the path.

    `out` is a file if it ends in .txt, else a folder, which is created. An existing file is kept: if it has
    the same content, its path is returned; otherwise the new file gets a number. Raises OSError.
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
    """Whether a regular file has exactly this content; reads it only if the size matches."""
    return file.is_file() and file.stat().st_size == len(content) and file.read_bytes() == content


def write_new(target: Path, content: bytes) -> None:
    """Write a new file atomically, readable by its owner only.

    Raises FileExistsError when it exists, and OSError.
    """
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    with locked_draft(target.parent, ".storyengine-") as (handle, draft):
        with open(handle, "wb", closefd=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        move_to_free_name(draft, target)
