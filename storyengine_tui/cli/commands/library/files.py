"""Resolves an argument of the library's commands: a file, standard input or a name."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import typer

from core.exchange.library.library_files import ENDINGS, NO_FILE, read_file
from core.library.refusal import LARGEST_FILE, FileRefusedError
from storyengine_tui.cli.asking import read_standard_input
from storyengine_tui.cli.exit_codes import ExitCode
from storyengine_tui.cli.printing import say, say_error

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
    return path if is_path or os.path.exists(path) else None  # False for a name that no file can have


ImportOne = Callable[[bytes, str], Awaitable[tuple[str, tuple[str, ...], bool]]]
"""Stores a file; returns the name in the library, the lines of the report, and whether it is new."""


async def import_each(files: Sequence[Path], import_one: ImportOne) -> None:
    """Import the files and say what became of each; raise typer.Exit when one was refused.

    One that is refused does not keep the others from being imported.
    """
    refused = 0
    for file in files:
        try:
            content = await read_any(file, LARGEST_FILE)
            name, lines, is_new = await import_one(content, "The text" if str(file) == PASTE else file.name)
        except FileRefusedError as error:
            say_error(error)
            refused += 1
            continue
        say(f"{file}: {'imported' if is_new else 'not imported again'}, “{name}”.")
        for line in lines:
            say(f"  {line}")
    if not files:
        say(NO_FILE)
    if refused:
        raise typer.Exit(ExitCode.BAD_FILE)
