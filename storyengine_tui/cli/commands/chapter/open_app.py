"""`storyengine` without a command: the screen, and after a bug a new one from stored data."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import replace

from core.config.files.paths import find_paths
from core.domain.errors import IllegalCommandError, StoryEngineError
from storyengine_tui.bootstrap import Configuration, Unread, configure, find_private_paths, running_engine
from storyengine_tui.cli.exit_codes import exit_code_of
from storyengine_tui.cli.printing import say_error, start_log
from storyengine_tui.shell.app import StoryEngineApp

log = logging.getLogger(__name__)
SWITCH_INTERVAL = 0.0005
"""Seconds for which the event loop may delay a thread: one of them writes to the terminal.

With Python's 5 ms, a key that is painted while a reply streams is sent only when the loop is next idle.
"""

MOST_BUGS = 5
"""Bugs after which the program ends."""

MakeApp = Callable[[Configuration | Unread, Exception | None], StoryEngineApp]


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
        configuration = asyncio.run(_read())
        require_terminal()
        return asyncio.run(run_until_left(_app, configuration))
    except StoryEngineError as error:
        say_error(error)
        return exit_code_of(error.code)


def require_terminal() -> None:
    """Raise IllegalCommandError where keys come from no terminal, or what is drawn goes to none.

    The screen would wait for keys without an end. It is drawn on standard error.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise IllegalCommandError(
            "The screen opens at a terminal only.", "`storyengine --help` lists the commands that need none."
        )


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
    return replace(configuration, settings=settings)


async def run_until_left(make: MakeApp, configuration: Configuration | Unread) -> int:
    """Run apps made by `make` until the GM leaves one; return the exit code.

    Raises the last of `MOST_BUGS` bugs, and StoryEngineError when the settings are not valid.
    """
    bug: Exception | None = None
    for _ in range(MOST_BUGS):
        app = make(configuration, bug)
        try:
            await app.run_async()
        finally:
            if not app.has_exited:
                log.warning("the app ended without being left")
            # However the app ended, store unsaved text and settle running requests.
            await (app.close_everything() if app.bug is None else app.close_in_time())
        if app.refusal is not None:
            raise app.refusal
        if app.bug is None:
            return app.return_code or 0
        bug, configuration = app.bug, app.unread or app.configuration
    if bug is None:
        raise AssertionError("only a bug ends an app that the user did not quit")
    raise bug
