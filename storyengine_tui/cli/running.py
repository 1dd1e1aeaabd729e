"""Runs a command: one sentence and a hint for what the GM can mend, a log entry for what is a bug."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path

import typer

from core.chapter_script import ChapterScriptError
from core.errors import ErrorCode, StoryEngineError
from core.export import ImportRefusedError
from core.paths import find_paths
from storyengine_tui.cli.exit_codes import ExitCode, exit_code_of
from storyengine_tui.cli.words import LOG_NAME as LOG_NAME
from storyengine_tui.cli.words import console as console
from storyengine_tui.cli.words import errors as errors
from storyengine_tui.cli.words import say as say
from storyengine_tui.cli.words import say_error as say_error
from storyengine_tui.cli.words import say_wrong as say_wrong
from storyengine_tui.cli.words import start_log as start_log

log = logging.getLogger(__name__)


def run(command: Coroutine[object, object, None], *, is_debug: bool = False) -> None:
    """Run `command` to its end; raise typer.Exit with a documented code when it fails."""
    paths = find_paths()
    start_log(paths)
    try:
        asyncio.run(_until_stopped(command))
    except StoryEngineError as error:
        if is_debug:
            raise
        say_error(error)
        raise typer.Exit(_code(error)) from error
    except (KeyboardInterrupt, asyncio.CancelledError) as stopped:
        say_wrong("Stopped. What was stored stays stored; run the same command again.")
        raise typer.Exit(ExitCode.INTERRUPTED) from stopped
    except BrokenPipeError as closed:
        # Whoever read our output has seen enough; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ExitCode.OK) from closed
    except (typer.Abort, typer.Exit):
        raise
    except Exception as bug:
        if is_debug:
            raise
        log.error("a command failed by a bug", exc_info=bug)
        say_wrong(f"Something in the program went wrong ({type(bug).__name__}). What was stored is safe.")
        say_wrong(f"The details are in {paths.logs / LOG_NAME}; please report them.")
        raise typer.Exit(ExitCode.BUG) from bug


def cannot_write(out: Path, error: OSError) -> StoryEngineError:
    """Return the error for a file that could not be written; what it was to hold is in the database."""
    return StoryEngineError(
        ErrorCode.STORAGE_SAVE_FAILED,
        f"{out} cannot be written: {error.strerror or error}; the chapter itself is stored.",
        "Name another place with --out.",
    )


def _code(error: StoryEngineError) -> ExitCode:
    if isinstance(error, ChapterScriptError | ImportRefusedError):
        return ExitCode.BAD_FILE
    return exit_code_of(error.code)


async def _until_stopped(command: Coroutine[object, object, None]) -> None:
    """Have SIGTERM and SIGHUP end the command as Ctrl+C does, after what runs is settled.

    What the shell asked the program to ignore, as nohup does with SIGHUP, stays ignored.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(command)
    if sys.platform != "win32":
        for stop in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(stop) is not signal.SIG_IGN:
                loop.add_signal_handler(stop, task.cancel)
    await task
