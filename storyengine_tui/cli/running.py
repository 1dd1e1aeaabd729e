"""Runs commands: an error that the GM can fix becomes a sentence and a hint, a bug a log entry."""

import asyncio
import errno
import json
import logging
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterable, Sequence
from enum import StrEnum
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from core.config.consent import InvalidAddressError
from core.config.files.paths import Paths, find_paths
from core.domain.errors import ErrorCode, StoryEngineError
from core.exchange.scripts.chapter_script import ChapterScriptError
from core.exchange.session_export import ImportRefusedError
from core.library.refusal import FileRefusedError
from storyengine_tui.cli.exit_codes import STOPPED, ExitCode, exit_code_of
from storyengine_tui.cli.printing import LOG_NAME, console, say, say_error, say_wrong, start_log

log = logging.getLogger(__name__)

START_SECONDS = 20.0
"""Seconds that a command waits for the embedding model, which no earlier one has started."""
Command = TypeVar("Command", bound=Callable[..., Coroutine[object, object, None]])
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")]


def command(app: typer.Typer, name: str | None = None) -> Callable[[Command], Command]:
    """Register an async function as a command of `app`, with the option --debug; `run` runs it."""

    def register(work: Command) -> Command:
        @wraps(work)
        def call(*, debug: bool, **arguments: Any) -> None:
            run(work(**arguments), is_debug=debug)

        known = signature(work)
        option = Parameter("debug", Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
        # Typer reads the options from both.
        vars(call)["__signature__"] = known.replace(parameters=[*known.parameters.values(), option])
        call.__annotations__ = {**work.__annotations__, "debug": Debug}
        app.command(name, short_help=first_clause(work.__doc__))(call)
        return work

    return register


def first_clause(text: str | None) -> str:
    """Return what a list of commands says of one: its sentence up to a semicolon; Typer would cut it."""
    return " ".join(re.split(r"[;.](?=\s|$)", text or "", maxsplit=1)[0].split()) + "."


def one_of(kind: type[StrEnum]) -> dict[str, Any]:
    """Return the arguments of an option or argument of Typer that takes one of these words.

    Typer alone refuses other words with the words of a library.
    """

    def read(name: str) -> StrEnum:
        try:
            return kind(name)
        except ValueError:
            raise typer.BadParameter(f"“{name}” is not one of {', '.join(kind)}.") from None

    return {"parser": read, "metavar": "|".join(kind)}


def refuse_together(**options: object) -> None:
    """Raise typer.BadParameter where more than one of these options, or words, was given."""
    found = [name for name, value in options.items() if value]
    if len(found) > 1:
        raise typer.BadParameter(f"Choose one of {' and '.join(found)}.")


def given(**options: object) -> dict[str, Any]:
    """Return the options that were given: what the others are about stays as it is."""
    return {name: value for name, value in options.items() if value is not None}


def run(command: Coroutine[object, object, None], *, is_debug: bool = False) -> None:
    """Run `command` to its end; raise typer.Exit with a documented code when it fails.

    `is_debug` prints the traceback of a failure as well; the code stays the same.
    """
    paths = find_paths()
    start_log(paths)
    try:
        asyncio.run(_until_stopped(command))
        _flush_output()
    except (typer.Exit, typer.BadParameter):
        raise
    except BrokenPipeError as closed:
        # The reader closed the pipe: nothing can be reported.
        _drop_output()
        raise typer.Exit(ExitCode.OK) from closed
    except (Exception, KeyboardInterrupt, asyncio.CancelledError) as error:
        if is_debug:
            say_wrong("".join(traceback.format_exception(error)))
        raise typer.Exit(_tell(error, paths)) from error


def _tell(error: BaseException, paths: Paths) -> ExitCode:
    """Say what ended a command, and return its exit code."""
    match error:
        case StoryEngineError():
            say_error(error)
            return _code(error)
        case KeyboardInterrupt() | asyncio.CancelledError() | typer.Abort():
            say_wrong(STOPPED)
            return ExitCode.INTERRUPTED
        case OSError() if _is_output_broken(error):
            return _tell(_cannot_print(error), paths)
        case _:
            log.error("a command failed because of a bug", exc_info=error)
            say_wrong(f"Something in the program went wrong ({type(error).__name__}). Stored data is safe.")
            say_wrong(f"The details are in {paths.logs / LOG_NAME}; please report them.")
            return ExitCode.BUG


def code_of_broken_output(error: OSError) -> ExitCode | None:
    """Report that standard output cannot be written; return the exit code, or None if it was a file."""
    if error.filename is not None:
        return None
    fault = _cannot_print(error)
    say_error(fault)
    return _code(fault)


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]], nothing: str = "") -> None:
    """Print rows: a table at a terminal, or `nothing` without any, and lines with tabs elsewhere.

    Only the lines have the cells beyond the headings, such as an id.
    """
    from rich.table import Table

    if not console.is_terminal:
        echo_rows(rows)
    elif nothing and not rows:
        say(nothing)
    else:
        table = Table(*headings)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row[: len(headings)]))
        console.print(table)


def echo_rows(rows: Iterable[Sequence[str]]) -> None:
    """Print rows as lines with tabs; not through rich, which would turn the tabs into blanks."""
    for row in rows:
        typer.echo("\t".join(row))


def print_bytes(content: bytes) -> None:
    """Write `content` to standard output as it is; raise StoryEngineError when that is impossible."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_print(error) from error


def print_json(value: object) -> None:
    """Write a value as JSON to standard output, always in UTF-8; raises as `print_bytes`."""
    print_bytes((json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode())


def _cannot_print(error: OSError) -> StoryEngineError:
    _drop_output()
    return StoryEngineError(
        ErrorCode.STORAGE_SAVE_FAILED,
        f"The output cannot be written: {error.strerror or error}. Stored data is safe.",
    )


def _flush_output() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _is_output_broken(error: OSError) -> bool:
    """Whether standard output cannot be written: what is still buffered fails again.

    Without a buffer (PYTHONUNBUFFERED) there is nothing left; an error of a file would have its name.
    """
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO):
        return True
    try:
        _flush_output()
    except OSError:
        return True
    return False


def _drop_output() -> None:
    """Discard the rest of the output: Python flushes it at exit, and would fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def cannot_write(out: Path, error: OSError) -> StoryEngineError:
    """Return the error for a file that could not be written; what it was to hold is in the database."""
    return StoryEngineError(
        ErrorCode.STORAGE_SAVE_FAILED,
        f"{out} cannot be written: {error.strerror or error}; the chapter itself is stored.",
        "Name another place with --out.",
    )


def _code(error: StoryEngineError) -> ExitCode:
    if isinstance(error, ChapterScriptError | ImportRefusedError | FileRefusedError):
        return ExitCode.BAD_FILE
    if isinstance(error, InvalidAddressError):  # nothing was sent, so no model has failed
        return ExitCode.REFUSED
    return exit_code_of(error.code)


async def _until_stopped(command: Coroutine[object, object, None]) -> None:
    """Handle SIGTERM and SIGHUP as Ctrl+C: end the command once running requests are settled.

    What the shell asked the program to ignore, as nohup does with SIGHUP, stays ignored.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(command)
    if sys.platform != "win32":
        for stop in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(stop) is not signal.SIG_IGN:
                loop.add_signal_handler(stop, task.cancel)
    await task
