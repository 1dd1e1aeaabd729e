"""Resolves an argument of the library's commands: a file, standard input or a name."""

import os
from pathlib import Path

from core.exchange.library.library_files import ENDINGS, read_file
from core.library.refusal import FileRefusedError
from storyengine_tui.cli.asking import read_standard_input

PASTE = "-"


async def read_any(file: Path, most: int) -> bytes:
    """Return the content of a file, or of standard input for `-`; raise FileRefusedError."""
    if str(file) != PASTE:
        return await read_file(file, most)
    content = await read_standard_input(most + 1)
    if len(content) > most:
        raise FileRefusedError(f"Standard input is larger than {most // 1024**2} MB.")
    return content


def named_file(name: str) -> Path | None:
    """Return the file that an argument means, if it is a path or has the ending of one; else None."""
    path = Path(name)
    is_path = os.sep in name or path.suffix.lower() in ENDINGS
    return path if is_path or path.exists() else None
