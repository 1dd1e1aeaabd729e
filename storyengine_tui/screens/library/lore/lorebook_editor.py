"""A lorebook while it is edited: every change is kept at once, and stored by itself soon after."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from core.domain.errors import ChangedElsewhereError, StoryEngineError
from core.library.card_lore import LoreFile
from core.library.lore.book import Lorebook, LoreEntry
from core.library.lore.edits import find_entry, free_uid, with_changes, with_entry, without_entry
from core.library.lore.kept import KeptLorebook
from core.library.lore.writers import WRITTEN
from storyengine_tui.screens.library.lore.typed_entry import (
    KeptEntry,
    TypedEntry,
    from_json,
    mark_of,
    to_json,
)
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.kept_text import KeptText

if TYPE_CHECKING:
    from core.engine.services.library.lorebooks import LoreLibrary

NEW_NAME = "New entry"
_SHARE = 4
"""Times as long as the last save nothing is stored by itself after it."""
_LONGEST_REST = 10.0
"""Seconds of that at most."""


class LorebookEditor:
    """One lorebook. `book` is as it was edited; `file` and `kept` are as they are stored.

    `show_error` and `show_saved` are told what became of a save. `collect` takes over what is typed and was
    not told of yet.
    """

    def __init__(self, library: "LoreLibrary", kept: KeptLorebook, file: LoreFile, typed: KeptText) -> None:
        self._library = library
        self.kept = kept
        self.file = file
        self.book: Lorebook = file.book
        self.groups = kept.groups
        """Groups whose members may know the book."""
        self.editing = ""
        """The uid of the entry that is open or asked about; it may be another one after a save."""
        self.state = ""
        """Whether all is stored, in a word or two for the heading."""
        self.tried = ""
        """The text that was last tried on the book."""
        self.show_error: Callable[[StoryEngineError], None] = lambda _: None
        self.show_saved: Callable[[], None] = lambda: None
        self.collect: Callable[[], None] = lambda: None
        self._typed = typed
        self._unstored: dict[str, TypedEntry] = {}
        """The fields of the entries that were edited since the last save, by uid."""
        self._is_overtaken = False
        """Whether another window stored the book: until the GM says what to do, no save can succeed."""
        self.autosave = Autosave(self._save, lambda error: self.show_error(error), self._say_saved)

    @property
    def can_write(self) -> bool:
        """Whether the format of the file is one that is written; the others are converted first."""
        source = self.file.book.source
        return source is not None and source.format in WRITTEN

    def find(self, uid: str) -> LoreEntry | None:
        """Return an entry as it was edited."""
        return find_entry(self.book, uid)

    def recover(self) -> list[str]:
        """Take over what was typed and not stored when the program ended; return the names of the entries.

        An entry that was changed or deleted since then stays so, and what was typed is one of its own.
        """
        names: list[str] = []
        for one in from_json(self._typed.read()) if self.can_write else ():
            there = self.find(one.uid)
            if there is not None and one.typed.put_into(there)[0] == there:
                continue
            if there is None or mark_of(there) != one.before:
                there = LoreEntry(uid=free_uid(self.book))
            made, _ = one.typed.put_into(there)
            self.put(made)
            names.append(made.name or made.uid)
        if self.can_write and not names:
            self._typed.forget()
        return names

    def put(self, entry: LoreEntry, typed: TypedEntry | None = None) -> None:
        """Put an entry in place of the one with its uid, else behind all others; it is stored soon.

        Its fields, or else those that were `typed`, are kept at once, for the program may be killed. Raises
        FileRefusedError for a full book.
        """
        self.book = with_entry(self.book, entry)
        self._unstored[entry.uid] = typed or TypedEntry.of(entry)
        self._keep()
        self.autosave.touch()

    def _keep(self) -> None:
        """Keep every entry that is not stored as it was typed."""
        stored = self.file.book
        entries = (
            KeptEntry(uid, mark_of(find_entry(stored, uid)), typed) for uid, typed in self._unstored.items()
        )
        self._typed.keep(to_json(entries))

    def add(self) -> LoreEntry:
        """Begin a new entry, and return it; raises FileRefusedError for a full book."""
        entry = LoreEntry(uid=free_uid(self.book), name=NEW_NAME)
        self.put(entry)
        return entry

    def drop(self, uid: str) -> None:
        """Delete an entry."""
        self.book = without_entry(self.book, uid)
        self._unstored.pop(uid, None)
        self._keep()
        self.autosave.touch()

    def change_book(self, book: Lorebook, groups: tuple[str, ...]) -> None:
        """Take over changes to the book's own fields, and to its groups."""
        self.book, self.groups = book, groups
        self.autosave.touch()

    async def flush(self) -> None:
        """Store now what is not stored; raises StoryEngineError."""
        self.collect()
        await self.autosave.flush()

    async def convert(self) -> None:
        """Store the book in a format that can be edited."""
        await self.flush()
        self._adopt(self.book, *await self._library.convert(self.kept, self.file))

    async def take_stored(self) -> None:
        """Read the book again, and forget what was edited here since it was stored."""
        kept = await self._library.by_id(self.kept.id)
        self.kept, self.file = kept, await self._library.read(kept)
        self._is_overtaken = False
        self.book, self.groups = self.file.book, kept.groups
        self.autosave.is_dirty = False
        self.forget()

    async def store_over(self) -> None:
        """Store what was edited here into the book as it is now, entry by entry."""
        kept = await self._library.by_id(self.kept.id)
        file = await self._library.read(kept)
        self.book = with_changes(file.book, self.file.book, self.book)
        self.groups = self.groups if self.groups != self.kept.groups else kept.groups
        self.kept, self.file = kept, file
        self._is_overtaken = False
        self.autosave.touch()
        await self.autosave.flush()

    def forget(self) -> None:
        """Drop typed text, which is stored or not wanted."""
        self._unstored.clear()
        self._typed.forget()

    async def _save(self) -> None:
        book, kept = self.book, replace(self.kept, groups=self.groups)
        if self._is_overtaken:
            raise ChangedElsewhereError
        began = time.monotonic()
        try:
            if book != self.file.book:
                self._adopt(book, *await self._library.edit(kept, self.file, book))
            elif kept != self.kept:
                self.kept = await self._library.save(kept)
        except ChangedElsewhereError:
            self._is_overtaken = True
            raise
        # A file holds what is typed until then, so that a large book leaves the time to the keys.
        self.autosave.rest_seconds = min((time.monotonic() - began) * _SHARE, _LONGEST_REST)

    def _adopt(self, book: Lorebook, kept: KeptLorebook, file: LoreFile) -> None:
        """Continue with the stored form of `book`; entries without a name may have another one now."""
        self.kept, self.file = kept, file
        new = {old.uid: one.uid for old, one in zip(book.entries, file.book.entries, strict=True)}
        self.editing = new.get(self.editing, self.editing)
        self._unstored = {new.get(uid, uid): typed for uid, typed in self._unstored.items()}
        edited, self.book = self.book, file.book
        if edited is not book:
            self.book = with_changes(file.book, _renamed(book, new), _renamed(edited, new))

    def _say_saved(self) -> None:
        if self.autosave.is_dirty:
            self._keep()  # Beside the entries as they are stored now.
        else:
            self.forget()
        self.show_saved()


def _renamed(book: Lorebook, new: dict[str, str]) -> Lorebook:
    entries = (
        one if new.get(one.uid, one.uid) == one.uid else replace(one, uid=new[one.uid])
        for one in book.entries
    )
    return replace(book, entries=tuple(entries))
