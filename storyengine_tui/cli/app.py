"""The commands of `storyengine`."""

from typing import Annotated

import typer

from storyengine_tui.cli.commands.chapter import bank, exchange, scene, sessions, slots, speaking, takes
from storyengine_tui.cli.commands.chapter.cost import cost
from storyengine_tui.cli.commands.chapter.play import play
from storyengine_tui.cli.commands.chapter.search import search
from storyengine_tui.cli.commands.library import book, cast, lore, nature, proposals
from storyengine_tui.cli.commands.models import consent, model
from storyengine_tui.cli.commands.system import database, queue
from storyengine_tui.cli.commands.system.doctor import doctor
from storyengine_tui.cli.commands.system.password import password
from storyengine_tui.cli.refusals import Commands
from storyengine_tui.cli.running import command, first_clause

app = typer.Typer(
    name="storyengine",
    cls=Commands,
    help="Write a chapter with one to seven AI characters. You are the Game Master.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for work in (play, cost, doctor, password, database.backup):
    command(app)(work)
command(app, "restore")(database.restore_any)
command(app, "next")(book.next_)
for cast_work in (proposals.assist, proposals.proposals, nature.trait, nature.topic):
    command(cast.app)(cast_work)
for name, group in {
    "db": database.app,
    "consent": consent.app,
    "model": model.app,
    "slots": slots.app,
    "bank": bank.app,
    "book": book.app,
    "cast": cast.app,
    "lore": lore.app,
    "queue": queue.app,
}.items():
    app.add_typer(group, name=name, short_help=first_clause(group.info.help))
for session_work in (
    proposals.ceremony,
    *sessions.COMMANDS,
    *takes.COMMANDS,
    *scene.COMMANDS,
    *speaking.COMMANDS,
    exchange.export,
    search,
):
    command(app)(session_work)
command(app, "import")(exchange.import_)


def _version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"storyengine {version('storyengine')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Write a chapter with one to seven AI characters. You are the Game Master.

    Without a command the screen opens.
    """
    if context.invoked_subcommand is None:
        from storyengine_tui.cli.commands.chapter.open_app import open_app

        raise typer.Exit(open_app())
