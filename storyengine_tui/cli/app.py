"""The commands of `storyengine`, and the refusal of words that it cannot read."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from storyengine_tui.cli.commands.chapter import (
    bank,
    drafts,
    exchange,
    scene,
    sessions,
    slots,
    speaking,
    takes,
)
from storyengine_tui.cli.commands.chapter.cost import cost
from storyengine_tui.cli.commands.chapter.play import play
from storyengine_tui.cli.commands.chapter.search import search
from storyengine_tui.cli.commands.library import book, cast, lore, nature, proposals
from storyengine_tui.cli.commands.models import consent, model
from storyengine_tui.cli.commands.system import database, queue
from storyengine_tui.cli.commands.system.doctor import doctor
from storyengine_tui.cli.commands.system.password import password
from storyengine_tui.cli.printing import shown
from storyengine_tui.cli.running import command, first_clause


class Commands(TyperGroup):
    """The commands; a word that cannot be read is refused in a plain sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = shown(_plain(error))
            raise


def _plain(error: typer.BadParameter) -> str:
    """Return the sentence of a refusal; Typer has the faults of a word from pydantic."""
    from pydantic import ValidationError

    if not isinstance(error.__cause__, ValidationError):
        return error.message
    fault = error.__cause__.errors()[0]
    typed, bounds = f"“{fault['input']}”", fault.get("ctx", {})
    match fault["type"]:
        case "int_parsing" | "int_from_float" | "int_parsing_size":
            return f"{typed} is not a whole number."
        case "float_parsing":
            return f"{typed} is not a number."
        case "greater_than_equal":
            return f"{typed} is too small; the least is {bounds['ge']:g}."
        case "less_than_equal":
            return f"{typed} is too large; the most is {bounds['le']:g}."
        case "value_error":
            return f"{bounds['error']}"
        case _:
            return error.message


app = typer.Typer(
    name="storyengine",
    cls=Commands,
    help=(
        "Write a chapter with one to seven AI characters. You are the Game Master.\n\n"
        "Without a command the screen opens; its keys are at F1."
    ),
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
    drafts.drafts,
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
    """Open the screen where no command is given."""
    if context.invoked_subcommand is None:
        from storyengine_tui.cli.commands.chapter.open_app import open_app

        raise typer.Exit(open_app())
