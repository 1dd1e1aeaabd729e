"""What a GM keeps across chapters, as one object: characters and lorebooks (design 14)."""

from core.domain.clock import Clock
from core.engine.library.characters import CharacterLibrary
from core.engine.library.lorebooks import LoreLibrary
from core.library_store import LibraryStore


class Library:
    """The library of one store. Needs no model."""

    def __init__(self, store: LibraryStore, clock: Clock) -> None:
        self.characters = CharacterLibrary(store, clock)
        self.lore = LoreLibrary(store, clock)
