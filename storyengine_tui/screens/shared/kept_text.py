"""A text that is not in the database yet, kept in a file of its own until it is stored or discarded."""

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from core.config.files.bounded_file import LARGEST_SMALL_FILE, read_bounded
from core.config.files.private_files import write_privately
from core.domain.ids import CharacterId, LorebookId, SessionId
from core.domain.slot import Slot
from core.text.cleaning import clean

if TYPE_CHECKING:
    from core.domain.requests.request import ReplyRequest

log = logging.getLogger(__name__)
BEGUN: Final = {
    "line": "a line",
    "scene": "the line of a new scene",
    "reply": "a corrected reply",
    "correction": "a correction of memory",
    "block": "an edited block of memory",
    "item": "an item of the memory bank",
    "secret": "a secret",
    "note": "a note for the help with a text",
    "shorten": "a shortened text of the library",
}
"""Contents of the files of dialogs, by the beginnings of their names."""
MOST_WINDOWS: Final = 8
"""Windows that keep what is typed into one thing of the library at the same time."""


@dataclass(frozen=True, slots=True)
class KeptText:
    """Keeps what is typed, key by key: it survives a killed program or terminal, but not a power cut."""

    file: Path
    max_bytes: int = LARGEST_SMALL_FILE
    """A larger file is not read."""

    @classmethod
    def of(cls, what: str, owner: SessionId | CharacterId, folder: Path) -> Self:
        """Return the file for something of this owner that is being written, such as a `correction`."""
        return cls(folder / f"{what}-{owner}", 8 * LARGEST_SMALL_FILE)

    @classmethod
    def of_prompt(cls, request: "ReplyRequest", folder: Path) -> Self:
        """Return the file for the text of a prompt that waits, while it is edited."""
        return cls.of(f"prompt.{int(request.slot)}.{request.id}", request.session_id, folder)

    @classmethod
    def prompts_of(cls, session_id: SessionId, folder: Path) -> dict[str, tuple[Slot, Self]]:
        """Return the files for prompts of a chapter by the ids of their requests, each with its slot."""
        parts = {file: file.name.split(".") for file in sorted(folder.glob(f"prompt.[1-7].*-{session_id}"))}
        return {
            name.removesuffix(f"-{session_id}"): (
                Slot(int(slot)),
                replace(cls.of("", session_id, folder), file=file),
            )
            for file, (_, slot, name) in parts.items()
        }

    @classmethod
    def begun_since(cls, session_id: SessionId, folder: Path, file: Path) -> list[str]:
        """Return in words what was begun in dialogs of a chapter since `file` was written, and not saved."""
        with suppress(OSError):
            before = file.stat().st_mtime_ns
            files = sorted(folder.glob(f"*-{session_id}"))
            names = [one.name.partition("-")[0] for one in files if one.stat().st_mtime_ns > before]
            found = [BEGUN.get(name.partition(".")[0], "") for name in names]
            return list(dict.fromkeys(filter(None, found)))
        return []

    @property
    def of_windows(self) -> tuple[Self, ...]:
        """This file and those beside it, one for each window."""
        more = (f"{self.file}.{number}" for number in range(2, MOST_WINDOWS + 1))
        return (self, *(replace(self, file=Path(name)) for name in more))

    @classmethod
    def entries_of(cls, lorebook_id: LorebookId, folder: Path) -> tuple[Self, ...]:
        """Return the files for entries of this lorebook that are being written, one for each window."""
        return cls(folder / f"lore-{lorebook_id}", 8 * LARGEST_SMALL_FILE).of_windows

    @classmethod
    def forget_entries_of(cls, lorebook_id: LorebookId, folder: Path) -> None:
        """Delete everything that is kept of a lorebook that is deleted."""
        for kept in cls.entries_of(lorebook_id, folder):
            kept.forget()
            cls(Path(f"{kept.file}.lock")).forget()

    @classmethod
    def forget_all_of(cls, owner: SessionId | CharacterId, folder: Path) -> None:
        """Delete everything that is kept of a chapter or a character that is deleted."""
        for file in folder.glob(f"*-{owner}*"):  # of other windows, and their locks, too
            cls(file).forget()

    def read(self) -> str:
        """Return the text; empty when there is no file or it cannot be read."""
        with suppress(OSError, UnicodeDecodeError):
            return clean(read_bounded(self.file, self.max_bytes).decode("utf-8"))
        return ""

    def keep(self, text: str, *, is_flushed: bool = False) -> None:
        """Replace the kept text by `text`; without `is_flushed`, keys do not wait for the disk."""
        if not text:
            self.forget()
            return
        try:
            write_privately(self.file, text, is_flushed=is_flushed)
        except OSError as error:
            log.error("typed text could not be kept in %s: %s", self.file, error)

    def forget(self) -> None:
        """Delete the file."""
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            log.error("%s could not be removed: %s", self.file, error)

    def close(self) -> None:
        """Do nothing: no other window writes this file."""
