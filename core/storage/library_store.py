"""The storage Protocol of the library, which `db` implements (design 14)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from core.domain.ids import BookId, CharacterId, LorebookId, SessionId
from core.domain.proposal import Proposal
from core.library.book import Book
from core.library.characters.character import KeptFile, LibraryCharacter
from core.library.lore.kept import KeptLorebook
from core.storage.changes import Changes

DECIDED: Final = "That was decided elsewhere meanwhile; nothing was stored from here."


@dataclass(frozen=True, slots=True)
class LibraryCounts:
    """Number of records of each kind in the library, archived ones not counted."""

    books: int = 0
    characters: int = 0
    lorebooks: int = 0

    @property
    def is_used(self) -> bool:
        """Whether there is anything in it."""
        return self.books + self.characters + self.lorebooks > 0


class LibraryStore(Protocol):
    """Durable storage of characters, lorebooks and books, each change in a transaction of its own.

    Every method raises `StorageError` when the database cannot be reached or refuses. A `put` stores what is
    new, with its file; what is there already is replaced, where it has the version that it was made from.
    The stored one has the next version. A `purge` deletes what is archived, and refuses anything else.
    """

    async def counts(self) -> LibraryCounts:
        """Return how much the library has."""

    async def characters(self, *, is_archived: bool = False) -> Sequence[LibraryCharacter]:
        """Return the characters by their names."""

    async def card_of(self, character_id: CharacterId) -> KeptFile | None:
        """Return the file that a character came from, if it came from one."""

    async def put_character(self, character: LibraryCharacter, *, card: KeptFile | None = None) -> None:
        """Store a character; raise RowRefusedError where another one that is not archived has its name."""

    async def purge_character(self, character_id: CharacterId) -> None:
        """Delete an archived character and its card."""

    async def proposals(
        self, character_id: CharacterId | None = None, *, is_open: bool = True
    ) -> Sequence[Proposal]:
        """Return what is proposed for a character, or for all that are not archived, oldest first.

        Without `is_open` also what the GM has decided. They are added by `SessionStore.commit`.
        """

    async def settle_proposals(
        self, proposals: Sequence[Proposal], *, character: LibraryCharacter | None = None
    ) -> None:
        """Store the GM's decisions about proposals, with the changed character if it has one.

        Raises StorageError where one of them was decided elsewhere meanwhile.
        """

    async def lorebooks(self, *, is_archived: bool = False) -> Sequence[KeptLorebook]:
        """Return the lorebooks by their names."""

    async def lore_file(self, lorebook_id: LorebookId) -> KeptFile:
        """Return the file of a lorebook; raise StorageError when there is no such book."""

    async def put_lorebook(self, book: KeptLorebook, *, file: KeptFile | None = None) -> None:
        """Store a lorebook; with a file in place of the one it had."""

    async def purge_lorebook(self, lorebook_id: LorebookId) -> None:
        """Delete an archived lorebook."""

    async def books(self, *, is_archived: bool = False) -> Sequence[Book]:
        """Return the books by their titles, with their chapters in order."""

    async def book_of(self, session_id: SessionId) -> Book | None:
        """Return the book that a chapter is in, if it is in one."""

    async def put_book(self, book: Book, *, new_chapter: Changes | None = None) -> None:
        """Store a book and the order of its chapters; a chapter is taken out of the book it was in,
        which has the next version then.
        A `new_chapter`, which `book` has among its chapters, is stored in the same transaction; then raise
        ChangedElsewhereError where another of them is in another book by now.
        """

    async def purge_book(self, book_id: BookId) -> None:
        """Delete an archived book; its chapters are kept, in no book."""
