"""`storyengine password`: sets, changes and removes the password that guards the chapters."""

import asyncio
from typing import Annotated

import typer

from core.config.password import hash_password
from core.domain.errors import IllegalCommandError
from storyengine_tui.bootstrap import configure
from storyengine_tui.cli.asking import ask_hidden
from storyengine_tui.cli.gate import open_gate
from storyengine_tui.cli.printing import say
from storyengine_tui.screens.models.settings_file import change_settings

WHAT_IT_DOES = (
    "From now on the screen, and every command that shows or changes chapters, asks for it. It guards your "
    "unlocked terminal; it does not encrypt your data on the disk."
)
UNSEEN = "Start it at a terminal, or set STORYENGINE_PASSWORD_HASH to an argon2 hash of the password."
FORGOTTEN = "If you forget it, take the line password_hash out of {file}."


async def password(
    remove: Annotated[bool, typer.Option("--remove", help="Stop asking for a password.")] = False,
) -> None:
    """Set the password that guards the chapters, or change it; with --remove take it away."""
    configuration = configure()
    await open_gate(configuration)
    file = configuration.paths.config_file
    if remove:
        if configuration.gate is None:
            say("No password is set.")
            return
        await asyncio.to_thread(change_settings, file, {("password_hash",): None})
        _refuse_other(None)
        say("The password is removed: Story Engine no longer asks for one.")
        return
    new = ask_hidden("New password", otherwise=UNSEEN, is_asked_twice=True)
    made = await asyncio.to_thread(hash_password, new)
    await asyncio.to_thread(change_settings, file, {("password_hash",): made})
    _refuse_other(made)
    say(f"The password is set. {WHAT_IT_DOES}")
    say(FORGOTTEN.format(file=file))


def _refuse_other(wanted: str | None) -> None:
    """Raise StoryEngineError where another hash than this one holds: that of a variable comes first."""
    holds = configure().settings.password_hash
    if (holds and holds.get_secret_value()) != wanted:
        raise IllegalCommandError(
            "config.toml is changed, but Story Engine still asks for the password that the variable "
            "STORYENGINE_PASSWORD_HASH sets.",
            "Take that variable out of the environment, or out of the file .env of this directory.",
        )
