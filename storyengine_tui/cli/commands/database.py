"""`storyengine db`, `backup` and `restore`: the schema, backups, and the address of the database."""

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
from storyengine_tui.cli.commands.sessions import Debug, restore_chapter
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.running import run, say

app = typer.Typer(help="The database: schema, backup, restore, address.")


def register(commands: typer.Typer) -> None:
    """Add the commands that are worth a name of their own to the command line."""
    commands.command()(backup)
    commands.command("restore")(restore_any)


@app.command()
def upgrade(debug: Debug = False) -> None:
    """Bring the schema up to date. Every start does this too."""
    run(_upgrade(), is_debug=debug)


async def _upgrade() -> None:
    async with running_store(configure()):
        say("The database is up to date.")


@app.command()
def url(debug: Debug = False) -> None:
    """Print the database's address, without its password."""
    run(_url(), is_debug=debug)


async def _url() -> None:
    async with running_database(configure()) as database:
        say(shown_address(database))


BACKUPS_KEPT = 14
"""How many backups a directory keeps, unless told otherwise: two weeks of daily ones."""


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="The file to write, or a directory to write it into.")],
    keep: Annotated[int, typer.Option("--keep", min=1, help="How many a directory keeps.")] = BACKUPS_KEPT,
    debug: Debug = False,
) -> None:
    """Write a verified backup of everything with pg_dump; works while the program plays.

    In a directory it is named by its time, and only the newest are kept.
    """
    run(_backup_into(target, keep) if target.is_dir() else _backup(target), is_debug=debug)


async def _backup(file: Path) -> None:
    await back_up(await unlocked(), file)
    say(f"Backed up to {file}")


async def _backup_into(directory: Path, keep: int) -> None:
    file = await back_up_into(await unlocked(), directory, keep)
    say(f"Backed up to {file}")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A file written by `storyengine db backup`.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace what the database holds now.")] = False,
    debug: Debug = False,
) -> None:
    """Restore a backup into an empty database, or with --replace over what is there."""
    run(_restore(file, replace=replace), is_debug=debug)


async def _restore(file: Path, *, replace: bool) -> None:
    before = await restore_backup(await unlocked(), file, replace=replace)
    say(f"Restored from {file}")
    if before is not None:
        say(f"What was there before is in {before}")


def restore_any(
    name: Annotated[
        str, typer.Argument(metavar="FILE|SESSION", help="A file of `backup`, or an archived session.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Of a file: replace what the database holds now.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Restore everything from a backup, or bring an archived chapter back."""
    file = Path(name)
    run(_restore(file, replace=replace) if file.is_file() else restore_chapter(name), is_debug=debug)
