"""The command line: `storyengine` and its commands."""

from typing import Annotated

import typer

from storyengine_tui.cli import consent as consent
from storyengine_tui.cli import database as database
from storyengine_tui.cli import exchange as exchange
from storyengine_tui.cli import model as model
from storyengine_tui.cli import sessions as sessions
from storyengine_tui.cli.doctor import doctor
from storyengine_tui.cli.play import play

app = typer.Typer(
    name="storyengine",
    help="Write a chapter with one to seven AI characters. You are the Game Master.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command()(play)
app.command()(doctor)
app.add_typer(database.app, name="db")
app.add_typer(consent.app, name="consent")
app.add_typer(model.app, name="model")
sessions.register(app)
exchange.register(app)


def _version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"storyengine {version('storyengine')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Write a chapter with one to seven AI characters. You are the Game Master."""


def main() -> None:
    """Run the command line."""
    app()
