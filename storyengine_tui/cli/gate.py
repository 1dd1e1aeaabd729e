"""Asks for the password before a command shows or changes chapters; does nothing where no password is set."""

import asyncio
from pathlib import Path

from pydantic import SecretStr

from core.config.password import PasswordRefusedError
from core.config.sections import ProviderName
from storyengine_tui.bootstrap import Configuration, configure
from storyengine_tui.cli import asking
from storyengine_tui.cli.running import cannot_write

UNSEEN = "Start it at a terminal, or give the password in STORYENGINE_PASSWORD."


async def unlocked(*, provider: ProviderName | None = None, script: Path | None = None) -> Configuration:
    """Return the configuration once the gate is open; raise PasswordRefusedError when it stays closed."""
    configuration = configure(provider=provider, script=script)
    await open_gate(configuration)
    return configuration


async def open_gate(configuration: Configuration) -> None:
    """Take the password from the environment, else ask for it; return at once where no password is set."""
    gate = configuration.gate
    if gate is None:
        return
    given = configuration.settings.password
    try:
        await asyncio.to_thread(gate.refuse_too_soon)
        await asyncio.to_thread(gate.check, given if given is not None else _asked())
    except OSError as error:
        raise cannot_write(configuration.paths.tries_file, error) from error


def _asked() -> SecretStr:
    if not asking.is_attended():
        raise PasswordRefusedError(
            "The chapters are protected by a password, and there is no terminal to ask for it.", hint=UNSEEN
        )
    return asking.ask_hidden("Password", otherwise=UNSEEN)
