"""`storyengine` without a command: the screen."""

import asyncio
import os
import sys

from core.config.paths import find_paths
from core.config.private_files import NotPrivateError
from core.domain.errors import StoryEngineError
from storyengine_tui.bootstrap import Configuration, Unread, configure, find_private_paths, running_engine
from storyengine_tui.cli.exit_codes import ExitCode
from storyengine_tui.cli.words import say_error, start_log
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.run_loop import run_until_left

SWITCH_INTERVAL = 0.0005
"""Seconds for which the event loop may delay a thread: one of them writes to the terminal.

With Python's 5 ms, a key that is painted while a reply streams is sent only when the loop is next idle.
"""


def open_app() -> int:
    """Open the screen; return the exit code once the GM has quit.

    At a terminal the settings are read behind the first paint, since reading takes half as long as painting:
    if one is not valid, the screen closes at once and the error is printed below the command. The same in a
    browser, where only the screen can ask for the password.
    """
    start_log(find_paths())
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        unread = Unread(find_private_paths(), _read)
        if (sys.stdin.isatty() and sys.stdout.isatty()) or "TEXTUAL_DRIVER" in os.environ:
            return asyncio.run(run_until_left(_app, unread))
        return asyncio.run(run_until_left(_app, asyncio.run(_read())))
    except StoryEngineError as error:
        say_error(error)
        return _code_of(error)


def _code_of(error: StoryEngineError) -> ExitCode:
    from core.config.password import PasswordRefusedError

    if isinstance(error, PasswordRefusedError):
        return ExitCode.REFUSED
    return ExitCode.STORAGE_FAILED if isinstance(error, NotPrivateError) else ExitCode.USAGE


def _app(configuration: Configuration | Unread, after: Exception | None) -> StoryEngineApp:
    return StoryEngineApp(running_engine, configuration, after=after)


async def _read() -> Configuration:
    """Return the configuration; without its gate where the environment had the password."""
    configuration = await asyncio.to_thread(configure)
    if configuration.settings.password is None:
        return configuration
    from storyengine_tui.cli.gate import open_gate

    await open_gate(configuration)
    settings = configuration.settings.model_copy(update={"password_hash": None})
    return Configuration(configuration.paths, settings)
