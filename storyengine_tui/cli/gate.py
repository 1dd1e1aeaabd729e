"""Asks for the password before a command shows or changes chapters; does nothing where no password is set."""

import asyncio
from pathlib import Path

from pydantic import SecretStr

from core.config.password import PasswordRefusedError
from core.config.sections import ProviderName
from core.domain.errors import ErrorCode, StoryEngineError
from storyengine_tui.bootstrap import Configuration, configure
from storyengine_tui.cli import asking

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
        file = configuration.paths.tries_file
        raise StoryEngineError(
            ErrorCode.STORAGE_SAVE_FAILED,
            f"{file}, where wrong passwords are counted, cannot be written: {error.strerror or error}; "
            "nothing was opened.",
            "`storyengine doctor` says what is wrong with the data directory.",
        ) from error


def _asked() -> SecretStr:
    if not asking.is_attended():
        raise PasswordRefusedError(
            "The chapters are protected by a password, and there is no terminal to ask for it.", hint=UNSEEN
        )
    return asking.ask_hidden("Password", otherwise=UNSEEN)
