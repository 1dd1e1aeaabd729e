"""Imports files one by one: each as a whole or not at all, with a short report."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import typer

from core.exchange.library.library_files import NO_FILE
from core.library.refusal import LARGEST_FILE, FileRefusedError
from storyengine_tui.cli.commands.library.files import PASTE, read_any
from storyengine_tui.cli.exit_codes import ExitCode
from storyengine_tui.cli.words import say, say_error

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
