"""Runs a command: one sentence and a hint for what the GM can mend, a log entry for what is a bug."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from core.chapter_script import ChapterScriptError
from core.errors import ErrorCode, StoryEngineError
from core.export import ImportRefusedError
from core.paths import Paths, find_paths
from core.private_file import make_directory
from storyengine_tui.cli.exit_codes import ExitCode, exit_code_of

log = logging.getLogger(__name__)

LOG_NAME = "storyengine.log"

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


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
        say_wrong("Stopped. Everything up to here is stored; run the same command to go on.")
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


def say(line: str, style: str = "") -> None:
    """Print a line whose text is data, never markup; the terminal breaks it where it must."""
    console.print(Text(line, style=style), soft_wrap=True)


def say_wrong(line: str) -> None:
    """Print a line about what went wrong; its text is data, never markup."""
    errors.print(Text(line), soft_wrap=True)


def say_error(error: StoryEngineError) -> None:
    """Print the sentence and the hint of an error; its texts are data, never markup."""
    errors.print(Text(error.message, style="bold red"), soft_wrap=True)
    if error.hint:
        say_wrong(error.hint)


def cannot_write(out: Path, error: OSError) -> StoryEngineError:
    """Return the error for a file that could not be written; what it was to hold is in the database."""
    return StoryEngineError(
        ErrorCode.STORAGE_SAVE_FAILED,
        f"{out} cannot be written: {error.strerror or error}; the chapter itself is stored.",
        "Name another place with --out.",
    )


def start_log(paths: Paths) -> None:
    """Write the log to a file that this user alone can read; where that is impossible there is none."""
    handler: logging.Handler
    try:
        make_directory(paths.logs)
        target = paths.logs / LOG_NAME
        with suppress(FileExistsError):
            target.touch(mode=0o600, exist_ok=False)
        handler = RotatingFileHandler(target, maxBytes=1_000_000, backupCount=3, encoding="utf-8")
    except OSError:
        # What is wrong with the directory is said by whoever needs it for more than this.
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for chatty in ("httpx", "httpcore", "openai", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _code(error: StoryEngineError) -> ExitCode:
    if isinstance(error, ChapterScriptError | ImportRefusedError):
        return ExitCode.BAD_FILE
    return exit_code_of(error.code)


async def _until_stopped(command: Coroutine[object, object, None]) -> None:
    """Let the polite signals end the command as Ctrl+C does: what runs is settled first."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(command)
    if sys.platform != "win32":
        for stop in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(stop, task.cancel)
    await task
