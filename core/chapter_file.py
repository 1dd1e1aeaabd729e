"""The downloaded chapter: a text file, never over an existing one (design 10)."""

import os
import re
from pathlib import Path

_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*]+')
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)$")


def file_name(title: str) -> str:
    """Return a file name without extension that every common file system takes."""
    name = _UNSAFE.sub(" ", title).strip(" .")
    name = " ".join(name.split())
    while len(name.encode("utf-8")) > 120:
        name = name[:-1]
    name = name.strip(" .") or "Chapter"
    return f"{name} chapter" if _RESERVED.match(name) else name


def write_chapter(text: str, title: str, out: Path) -> Path:
    """Write `text` to `out` and return the path.

    `out` is a file when it ends in .txt, else a folder, which is made. An existing file is kept: one
    with the same content is the result, else the new one gets a number. Raises OSError.
    """
    content = text.rstrip() + "\n"
    folder, stem = (out.parent, out.stem) if out.suffix == ".txt" else (out, file_name(title))
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, 10_000):
        target = folder / (f"{stem}.txt" if number == 1 else f"{stem} ({number}).txt")
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if target.is_file() and target.read_bytes() == content.encode("utf-8"):
                return target
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return target
    raise FileExistsError(f"{folder} holds ten thousand chapters of this name already")
