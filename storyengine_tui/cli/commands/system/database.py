"""`storyengine db`, `backup` and `restore`: the schema, backups, and the address of the database."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from storyengine_tui.bootstrap import (
    back_up,
    back_up_into,
    configure,
    restore_backup,
    running_database,
    running_store,
    shown_address,
)
from storyengine_tui.cli.commands.chapter.sessions import restore_chapter
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import command

app = typer.Typer(help="The database: schema, backup, restore, address.")


BACKUPS_KEPT = 14
"""Number of backups that a directory keeps by default: two weeks of daily ones."""


@command(app)
async def upgrade() -> None:
    """Bring the schema up to date. Every start does this too."""
    async with running_store(configure()):
        say("The database is up to date.")


@command(app)
async def url() -> None:
    """Print the database's address, without its password."""
    async with running_database(configure()) as address:
        say(shown_address(address))


@command(app)
async def backup(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|DIRECTORY",
            help="The file to write, or a directory to write it into; with / at its end one that is made.",
        ),
    ],
    keep: Annotated[
        int | None,
        typer.Option("--keep", min=1, help=f"How many a directory keeps; {BACKUPS_KEPT} if not given."),
    ] = None,
) -> None:
    """Write a verified backup of everything with pg_dump; works while the program plays.

    In a directory it is named by its time, and only the newest are kept.
    """
    if not target:  # A variable of the shell that is not set; `Path` would make it the current directory.
        raise typer.BadParameter("Name a file or a directory to write the backup to.")
    file = Path(target)
    if target.endswith(os.sep) or await asyncio.to_thread(os.path.isdir, file):
        file = await back_up_into(await unlocked(), file, keep or BACKUPS_KEPT)
    elif keep is not None:
        raise typer.BadParameter(f"There is no directory {target} for --keep; a / at its end makes it.")
    else:
        await back_up(await unlocked(), file)
    say(f"Backed up to {file}")


@command(app)
async def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by `storyengine db backup`.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace the database's content.")] = False,
) -> None:
    """Restore a backup into an empty database, or with --replace over what is there."""
    before = await restore_backup(await unlocked(), file, replace=replace)
    say(f"Restored from {file}")
    if before is not None:
        say(f"The previous content is in {before}")


async def restore_any(
    name: Annotated[
        str, typer.Argument(metavar="FILE|SESSION", help="A file of `backup`, or an archived chapter.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Of a file: replace the database's content.")
    ] = False,
) -> None:
    """Restore everything from a backup, or bring an archived chapter back."""
    file = Path(name)
    # No id has either of the two: one that is not there was mistyped, and means no chapter.
    is_path = os.sep in name or bool(file.suffix)
    if is_path or await asyncio.to_thread(os.path.isfile, file):
        await restore(file, replace)
    else:
        await restore_chapter(name)
