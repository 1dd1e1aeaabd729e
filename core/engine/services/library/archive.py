"""Base of the books, characters and lorebooks: a list, names that find one, and an archive (design 14)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from core.domain.clock import Clock
from core.library.book import Book
from core.library.characters.character import LibraryCharacter
from core.library.lore.kept import KeptLorebook
from core.library.names import find
from core.storage.library_store import LibraryStore

Kept = TypeVar("Kept", Book, LibraryCharacter, KeptLorebook)


class Archive(ABC, Generic[Kept]):
    """The books, characters or lorebooks of one store."""

    KIND: ClassVar[str]
    """The word for one."""
    WHERE: ClassVar[str] = " in the library"
    """The place where one that is not archived is looked for; it follows the word."""
    GROUP: ClassVar[str]
    """The commands of `storyengine` for them."""

    def __init__(self, store: LibraryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @abstractmethod
    async def listed(self, *, is_archived: bool = False) -> Sequence[Kept]:
        """Return those that are archived, or the others, by their names."""

    async def find(self, name: str, *, is_archived: bool = False) -> Kept:
        """Return the one that a name or the beginning of an id means; raise StoryEngineError."""
        what = f"archived {self.KIND}" if is_archived else self.KIND + self.WHERE
        kept = await self.listed(is_archived=is_archived)
        return find(name, kept, what=what, group=self.GROUP, is_archived=is_archived)

    async def archive(self, one: Kept) -> None:
        """Take one off the list; its name is free again."""
        await self._put(replace(one, archived_at=self._clock()))

    @abstractmethod
    async def restore(self, one: Kept) -> Kept:
        """Bring an archived one back; with a number behind its name where that is taken now."""

    @abstractmethod
    async def purge(self, one: Kept) -> None:
        """Delete an archived one for good."""

    @abstractmethod
    async def _put(self, one: Kept) -> Kept:
        """Store a change of one, and return it as it is stored."""
