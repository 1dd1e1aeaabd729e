"""`storyengine` without a command: the screen."""

import asyncio

from core.errors import StoryEngineError
from core.password import PasswordRefusedError
from core.paths import find_paths
from core.private_file import NotPrivateError
from storyengine_tui.app import StoryEngineApp
from storyengine_tui.bootstrap import Configuration, configure, running_engine
from storyengine_tui.cli.exit_codes import ExitCode
from storyengine_tui.cli.words import say_error, start_log
from storyengine_tui.running import run_until_left


def open_app() -> int:
    """Open the screen; return the exit code when the GM has left it."""
    start_log(find_paths())
    try:
        configuration = asyncio.run(_unlocked_by_environment(configure()))
    except PasswordRefusedError as error:
        say_error(error)
        return ExitCode.REFUSED
    except StoryEngineError as error:
        say_error(error)
        return ExitCode.STORAGE_FAILED if isinstance(error, NotPrivateError) else ExitCode.USAGE
    return asyncio.run(run_until_left(_app, configuration))


def _app(configuration: Configuration, after: Exception | None) -> StoryEngineApp:
    return StoryEngineApp(running_engine, configuration, after=after)


async def _unlocked_by_environment(configuration: Configuration) -> Configuration:
    """Return the configuration without its gate where the environment has the password."""
    if configuration.settings.password is None:
        return configuration
    from storyengine_tui.cli.gate import open_gate

    await open_gate(configuration)
    settings = configuration.settings.model_copy(update={"password_hash": None})
    return Configuration(configuration.paths, settings)
