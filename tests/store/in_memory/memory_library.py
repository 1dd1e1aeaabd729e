"""A library in memory that keeps what `core.storage.library_store` promises, for tests of something else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import UUID

from core.domain.errors import ChangedElsewhereError, ErrorCode, StorageError
from core.domain.ids import BookId, CharacterId, LorebookId, SessionId
from core.domain.proposal import Proposal
from core.library.book import Book
from core.library.characters.character import KeptFile, LibraryCharacter
from core.library.lore.kept import KeptLorebook
from core.storage.changes import Changes
from core.storage.library_store import DECIDED, LibraryCounts
from core.text.name_list import name_key

Kept = TypeVar("Kept", LibraryCharacter, KeptLorebook, Book)


@dataclass
class MemoryLibrary:
    """Characters, lorebooks and books, by their ids; `create` stores a new chapter."""

    create: Callable[[Changes], None]
    _characters: dict[UUID, LibraryCharacter] = field(default_factory=dict)
    _lorebooks: dict[UUID, KeptLorebook] = field(default_factory=dict)
    _books: dict[UUID, Book] = field(default_factory=dict)
    _files: dict[UUID, KeptFile] = field(default_factory=dict)
    _proposals: dict[UUID, Proposal] = field(default_factory=dict)

    async def counts(self) -> LibraryCounts:
        kept = (self._books, self._characters, self._lorebooks)
        return LibraryCounts(*(sum(one.archived_at is None for one in kind.values()) for kind in kept))

    async def characters(self, *, is_archived: bool = False) -> Sequence[LibraryCharacter]:
        return _listed(self._characters, is_archived)

    async def card_of(self, character_id: CharacterId) -> KeptFile | None:
        return self._files.get(character_id)

    async def put_character(self, character: LibraryCharacter, *, card: KeptFile | None = None) -> None:
        _put(self._characters, character)
        if card is not None:
            self._files[character.id] = card

    async def purge_character(self, character_id: CharacterId) -> None:
        _purge(self._characters, character_id)
        self._files.pop(character_id, None)
        for one in [one for one in self._proposals.values() if one.character_id == character_id]:
            del self._proposals[one.id]

    def add_proposals(self, proposals: Sequence[Proposal]) -> None:
        for one in proposals:
            self._proposals.setdefault(one.id, one)

    async def proposals(
        self, character_id: CharacterId | None = None, *, is_open: bool = True
    ) -> Sequence[Proposal]:
        here = {one.id for one in await self.characters()} if character_id is None else {character_id}
        found = (one for one in self._proposals.values() if one.character_id in here)
        return sorted((one for one in found if one.is_open or not is_open), key=lambda one: one.id)

    async def settle_proposals(
        self, proposals: Sequence[Proposal], *, character: LibraryCharacter | None = None
    ) -> None:
        if any(self._proposals[one.id].is_open is one.is_open for one in proposals):
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, DECIDED, is_transient=False)
        if character is not None:
            _put(self._characters, character)
        self._proposals |= {one.id: one for one in proposals}

    async def lorebooks(self, *, is_archived: bool = False) -> Sequence[KeptLorebook]:
        return _listed(self._lorebooks, is_archived)

    async def lore_file(self, lorebook_id: LorebookId) -> KeptFile:
        if lorebook_id not in self._lorebooks:
            raise StorageError(ErrorCode.STORAGE_LOAD_FAILED, is_transient=False)
        return self._files[lorebook_id]

    async def put_lorebook(self, book: KeptLorebook, *, file: KeptFile | None = None) -> None:
        _put(self._lorebooks, book)
        if file is not None:
            self._files[book.id] = file

    async def purge_lorebook(self, lorebook_id: LorebookId) -> None:
        _purge(self._lorebooks, lorebook_id)
        self._files.pop(lorebook_id, None)

    async def books(self, *, is_archived: bool = False) -> Sequence[Book]:
        return _listed(self._books, is_archived)

    async def book_of(self, session_id: SessionId) -> Book | None:
        return next((book for book in self._books.values() if session_id in book.chapters), None)

    async def put_book(self, book: Book, *, new_chapter: Changes | None = None) -> None:
        others = [one for one in self._books.values() if one.id != book.id]
        if new_chapter is not None and any({*one.chapters} & {*book.chapters} for one in others):
            raise ChangedElsewhereError
        _put(self._books, book)
        if new_chapter is not None:
            self.create(new_chapter)
        for other in list(self._books.values()):
            left = tuple(one for one in other.chapters if one not in book.chapters)
            if other.id != book.id and left != other.chapters:
                self._books[other.id] = replace(other, chapters=left, version=other.version + 1)

    async def purge_book(self, book_id: BookId) -> None:
        _purge(self._books, book_id)


def _names(one: LibraryCharacter | KeptLorebook | Book) -> set[str]:
    if one.archived_at is not None:
        return set()
    names = (
        one.names
        if isinstance(one, LibraryCharacter)
        else (one.title if isinstance(one, Book) else one.name,)
    )
    return set(map(name_key, names))


def _listed(kept: dict[UUID, Kept], is_archived: bool) -> list[Kept]:
    found = [one for one in kept.values() if (one.archived_at is not None) is is_archived]
    return sorted(found, key=lambda one: (_title(one).casefold(), one.id))


def _title(one: LibraryCharacter | KeptLorebook | Book) -> str:
    return one.title if isinstance(one, Book) else one.name


def _put(kept: dict[UUID, Kept], one: Kept) -> None:
    before = kept.get(one.id)
    others = (other for other in kept.values() if other.id != one.id)
    is_stale = before.version != one.version if before is not None else one.version != 1
    if is_stale:
        raise ChangedElsewhereError
    if any(_names(one) & _names(other) for other in others):
        raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
    kept[one.id] = one if before is None else replace(one, version=one.version + 1)


def _purge(kept: dict[UUID, Kept], one_id: UUID) -> None:
    if one_id not in kept or kept[one_id].archived_at is None:
        raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
    del kept[one_id]
