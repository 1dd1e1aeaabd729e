"""What is typed before there is a field to type in: kept, and given to the first one that comes."""

import logging
from contextlib import suppress
from pathlib import Path

from textual import events

from core.config.bounded_file import read_bounded
from core.config.private_files import write_privately

log = logging.getLogger(__name__)

LARGEST = 50_000_000
"""Bytes of the file; more than a GM types or pastes before a chapter is open."""


class EarlyKeys:
    """The text of keys and pastes, as a field would have taken them.

    A start may take seconds, and be killed: so what is typed is in a file as well, key by key, until the
    field that got it has stored it. Rather twice than lost.
    """

    def __init__(self) -> None:
        self._text = ""
        self._file: Path | None = None
        self.has_come = False
        """Whether anything was ever typed so early."""

    def capture(self, event: events.Event) -> bool:
        """Keep what this types; return False when it types nothing, such as a function key."""
        match event:
            case events.Paste(text=text):
                pass
            case events.Key(key="enter" | "ctrl+j"):
                text = "\n"
            case events.Key(key="backspace"):
                self._text = self._text[:-1]
                self._write()
                return True
            case events.Key(is_printable=True, character=str(text)):
                pass
            case _:
                return False
        self._text += text
        self._write()
        self.has_come = True
        return True

    @property
    def text(self) -> str:
        """What is kept so far."""
        return self._text

    def keep(self) -> None:
        """Flush unconsumed input to disk when the user quits before a field exists."""
        if self._text:
            self._write(is_flushed=True)
            self.give()

    def recover(self, file: Path) -> None:
        """Take up what was kept in a file at the last start, in front of what is typed now.

        From now on it is kept there. A start that is tried again has it already.
        """
        if self._file is not None:
            return
        self._file, typed = file, self._text
        with suppress(OSError, UnicodeDecodeError):
            self._text = read_bounded(file, LARGEST).decode("utf-8") + typed
            self.has_come = True
        if typed:
            self._write()

    def stored(self) -> None:
        """What the fields hold is stored, and with it what was given."""
        if self._file is not None and not self._text:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)

    def give(self) -> str:
        """Return what was kept, and keep it no more."""
        text, self._text = self._text, ""
        return text

    def _write(self, *, is_flushed: bool = False) -> None:
        """Write what is kept; not flushed, it outlives the program, and no key waits for the disk."""
        if self._file is None:
            return
        try:
            write_privately(self._file, self._text, is_flushed=is_flushed)
        except OSError as error:
            log.error("what was typed before the chapter was open could not be kept: %s", error)
