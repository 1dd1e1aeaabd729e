"""`storyengine db`: the schema, backups, and the address of the database."""

from pathlib import Path
from typing import Annotated

import typer

from storyengine_tui.bootstrap import (
    back_up,
    configure,
    restore_backup,
    running_database,
    running_store,
    shown_address,
)
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.running import run, say
from storyengine_tui.cli.sessions import Debug

app = typer.Typer(help="The database: schema, backup, restore, address.")


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


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    debug: Debug = False,
) -> None:
    """Write a verified backup of everything with pg_dump; works while the program plays."""
    run(_backup(file), is_debug=debug)


async def _backup(file: Path) -> None:
    await back_up(await unlocked(), file)
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
    await restore_backup(await unlocked(), file, replace=replace)
    say(f"Restored from {file}")
