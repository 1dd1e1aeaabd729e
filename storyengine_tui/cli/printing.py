"""Printing for commands, and the log file; few imports, since the screen's first paint waits for them."""

import logging
import re
from contextlib import suppress
from pathlib import Path

from rich.console import Console as RichConsole
from rich.text import Text

from core.config.files.paths import Paths
from core.config.files.private_files import make_directory
from core.domain.errors import StoryEngineError
from core.text.cleaning import clean

_NO_TEXT = re.compile("[\ud800-\udfff]")
LOG_NAME = "storyengine.log"


class Console(RichConsole):
    """Prints as rich does; `running` decides what a closed pipe means."""

    def on_broken_pipe(self) -> None:
        """Called while the BrokenPipeError is handled; rich would end the program with status 1."""
        raise


console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def shown(line: str) -> str:
    """Return a line as it is printed: no escapes, and a mark for undecodable bytes in a file's name."""
    return clean(_NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", line))


def say(line: str, style: str = "") -> None:
    """Print a line whose text is data, never markup or an escape; the terminal breaks it where it must."""
    console.print(Text(shown(line), style=style), soft_wrap=True)


def say_wrong(line: str) -> None:
    """Print a line about a problem; its text is data, never markup or an escape."""
    errors.print(Text(shown(line)), soft_wrap=True)


def say_error(error: StoryEngineError) -> None:
    """Print the sentence and the hint of an error; its texts are data, never markup or an escape."""
    errors.print(Text(shown(error.message), style="bold red"), soft_wrap=True)
    if error.hint:
        say_wrong(error.hint)


class LogFile(logging.Handler):
    """Writes to a log file that only this user can read; to none where that is impossible.

    The first record opens it: no paint waits for that.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self._opened: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if self._opened is None:
            self._opened = self._open()
            self._opened.setFormatter(self.formatter)
        self._opened.handle(record)

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
        super().close()

    def _open(self) -> logging.Handler:
        from logging.handlers import RotatingFileHandler

        try:
            make_directory(self._file.parent)
            with suppress(FileExistsError):
                self._file.touch(mode=0o600, exist_ok=False)
            return RotatingFileHandler(self._file, maxBytes=1_000_000, backupCount=3, encoding="utf-8")
        except OSError:
            # A broken directory is reported by the code that needs it for more than the log.
            return logging.NullHandler()


def start_log(paths: Paths) -> None:
    """Begin to log into a file."""
    handler = LogFile(paths.logs / LOG_NAME)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for chatty in ("httpx2", "httpcore2", "openai", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
