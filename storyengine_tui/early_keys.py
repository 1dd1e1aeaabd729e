"""What is typed before there is a field to type in: kept, and given to the first one that comes."""

import logging
from contextlib import suppress
from pathlib import Path

from textual import events

from core.private_file import write_privately

log = logging.getLogger(__name__)


class EarlyKeys:
    """The text of keys and pastes, as a field would have taken them."""

    def __init__(self) -> None:
        self._text = ""
        self._file: Path | None = None
        self.has_come = False
        """Whether anything was ever typed so early."""

    def take(self, event: events.Event) -> bool:
        """Keep what this types; return False when it types nothing, such as a function key."""
        match event:
            case events.Paste(text=text):
                pass
            case events.Key(key="enter" | "ctrl+j"):
                text = "\n"
            case events.Key(key="backspace"):
                self._text = self._text[:-1]
                return True
            case events.Key(is_printable=True, character=str(text)):
                pass
            case _:
                return False
        self._text += text
        self.has_come = True
        return True

    @property
    def text(self) -> str:
        """What is kept so far."""
        return self._text

    def keep(self, file: Path) -> None:
        """Put what no field has taken into a file: the GM leaves before there is one."""
        text = self.give()
        if not text:
            return
        try:
            write_privately(file, text)
        except OSError as error:
            log.error("what was typed before the chapter was open could not be kept: %s", error)

    def recover(self, file: Path) -> None:
        """Take up what was kept in a file at the last start, in front of what is typed now.

        The file stays until that is stored: rather twice than lost.
        """
        with suppress(OSError, UnicodeDecodeError):
            self._text = file.read_text("utf-8") + self._text
            self._file = file
            self.has_come = True

    def stored(self) -> None:
        """What the fields hold is stored, and with it what was given."""
        if self._file is not None and not self._text:
            file, self._file = self._file, None
            with suppress(OSError):
                file.unlink(missing_ok=True)

    def give(self) -> str:
        """Return what was kept, and keep it no more."""
        text, self._text = self._text, ""
        return text
