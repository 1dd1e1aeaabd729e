"""The commands of `storyengine`."""

from typing import Annotated

import typer

from storyengine_tui.cli.commands.chapter import bank, exchange, scene, sessions, takes
from storyengine_tui.cli.commands.chapter.cost import cost
from storyengine_tui.cli.commands.chapter.play import play
from storyengine_tui.cli.commands.chapter.search import search
from storyengine_tui.cli.commands.library import book, cast, lore, proposals
from storyengine_tui.cli.commands.models import consent, model
from storyengine_tui.cli.commands.system import database, queue
from storyengine_tui.cli.commands.system.doctor import doctor
from storyengine_tui.cli.commands.system.password import password
from storyengine_tui.cli.running import command

app = typer.Typer(
    name="storyengine",
    help="Write a chapter with one to seven AI characters. You are the Game Master.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for work in (play, cost, doctor, password, database.backup):
    command(app)(work)
command(app, "restore")(database.restore_any)
app.add_typer(database.app, name="db")
app.add_typer(consent.app, name="consent")
app.add_typer(model.app, name="model")
app.add_typer(takes.app, name="slots")
app.add_typer(bank.app, name="bank")
app.add_typer(book.app, name="book")
command(app, "next")(book.next_)
for cast_work in (proposals.assist, proposals.proposals, proposals.trait, proposals.topic):
    command(cast.app)(cast_work)
app.add_typer(cast.app, name="cast")
command(app)(proposals.ceremony)
app.add_typer(lore.app, name="lore")
app.add_typer(queue.app, name="queue")
for session_work in (*sessions.COMMANDS, *takes.COMMANDS, *scene.COMMANDS, exchange.export, search):
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
