"""The records that a GM keeps across chapters, as one service: characters, lorebooks, books (design 14)."""

from core.domain.clock import Clock
from core.engine.services.library.books import BookLibrary
from core.engine.services.library.characters import CharacterLibrary
from core.engine.services.library.lorebooks import LoreLibrary
from core.engine.services.library.proposals import ProposalLibrary
from core.storage.library_store import LibraryCounts
from core.storage.session_store import SessionStore


class Library:
    """The library of one store. Needs no model."""

    def __init__(self, store: SessionStore, clock: Clock) -> None:
        self.characters = CharacterLibrary(store.library, clock)
        self.lore = LoreLibrary(store.library, clock)
        self.books = BookLibrary(store, clock)
        self.proposals = ProposalLibrary(store.library, store.chapters, clock)
        self._store = store.library

    async def counts(self) -> LibraryCounts:
        """Return how much of each kind there is."""
        return await self._store.counts()
