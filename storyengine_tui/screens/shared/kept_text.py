"""A text that the database does not hold yet, in a file of its own until it is stored or given up."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from core.config.bounded_file import LARGEST_SMALL_FILE, read_bounded
from core.config.private_files import write_privately
from core.domain.ids import SessionId
from core.text.cleaning import clean

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptText:
    """Keeps what is typed key by key: it outlives the program and its terminal, though no power cut."""

    file: Path
    most: int = LARGEST_SMALL_FILE
    """Bytes beyond which the file is not read."""

    @classmethod
    def correction_of(cls, session_id: SessionId, folder: Path) -> Self:
        """Return where a correction of this chapter's canon is kept while it is written."""
        return cls(folder / f"correction-{session_id}")

    def read(self) -> str:
        """Return the text; empty when there is no file or it cannot be read."""
        with suppress(OSError, UnicodeDecodeError):
            return clean(read_bounded(self.file, self.most).decode("utf-8"))
        return ""

    def keep(self, text: str, *, is_flushed: bool = False) -> None:
        """Put `text` in place of the text before; not flushed, no key waits for the disk."""
        if not text:
            self.forget()
            return
        try:
            write_privately(self.file, text, is_flushed=is_flushed)
        except OSError as error:
            log.error("what is typed could not be kept in %s: %s", self.file, error)

    def forget(self) -> None:
        """Keep it no more."""
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            log.error("%s could not be removed: %s", self.file, error)
