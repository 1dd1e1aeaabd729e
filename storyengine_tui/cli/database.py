"""`storyengine db`: the schema, backups, and the address of the database."""

from pathlib import Path
from typing import Annotated

import typer

from storyengine_tui.bootstrap import configure, running_database, running_store
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
    """Print the database's address, without its password, and keep the private server up meanwhile."""
    run(_url(), is_debug=debug)


async def _url() -> None:
    from db.connect import parse_url

    async with running_database(configure()) as database:
        say(parse_url(database.url).render_as_string(hide_password=True))


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    debug: Debug = False,
) -> None:
    """Write a verified backup of everything with pg_dump; works while the program plays."""
    run(_backup(file), is_debug=debug)


async def _backup(file: Path) -> None:
    from db.backup import backup as write_backup

    async with running_database(configure()) as database:
        await write_backup(database.url, file)
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
    from db.backup import restore as read_backup

    async with running_database(configure()) as database:
        await read_backup(database.url, file, replace=replace)
    say(f"Restored from {file}")
