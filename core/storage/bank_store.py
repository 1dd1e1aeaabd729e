"""The storage Protocol of the memory bank, which `db` implements (design 15)."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item, ItemAccess, Replacement
from core.domain.bank.pieces import NearPiece, PieceVector
from core.domain.bank.recall import Found, ItemVector, Query, QueryWord, Scope, Vector
from core.domain.ids import ItemId, SessionId
from core.domain.requests.request import BackgroundRequest
from core.domain.session.cast import Character
from core.domain.session.language import Language
from core.domain.slot import Slot
from core.domain.story.context_status import Statuses


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierChapter:
    """A chapter of a book, as the later ones see it; the characters have no identities."""

    session_id: SessionId
    number: int
    """Its place in the story, from 1."""
    prompt_index: int
    language: Language
    cast: tuple[Character, ...]
    statuses: Statuses = ()
    """The GM's status of its events: whether models are sent them."""


Sheets = Sequence[tuple[SessionId, Slot]]
"""Chapters, and the character in each whose states are asked for; each chapter once at most."""


@dataclass(frozen=True, slots=True)
class ItemsForInput:
    """Data that an input draws on: the states of characters, by chapter and prompt, and recalled items."""

    states: Sequence[Item] = ()
    found: Sequence[Found] = ()
    earlier: tuple[EarlierChapter, ...] = ()
    """The chapters before the one that asks, read behind its words; none unless the query is for an input."""


FindWords = Callable[[], Awaitable[tuple[QueryWord, ...]]]
"""Returns the words to look for in place of those of a query: names are looked up for it."""

MOST_PAIRED: Final = 2_000
"""Items that are compared with each other by meaning."""
MOST_NAMES: Final = 2_000
"""Names that words of a prompt are compared with; the newest."""


@dataclass(frozen=True, slots=True)
class Names:
    """Words of a query that no item has, and the names that may be meant."""

    unknown: Sequence[str] = ()
    names: Sequence[str] = ()
    """Of people and places, each once, at most `MOST_NAMES`; none where each word is known."""


class BankStore(Protocol):
    """Durable storage of the items of chapters.

    Items are added by `SessionStore.commit`; the GM's changes of them come here, in transactions of their
    own, so that items of an earlier chapter of a book can be changed too. An item counts where the take that
    it was drawn from is canon, and no other one that counts supersedes it; nothing that a model says
    supersedes the GM's words. Every method raises `StorageError` when the database cannot be reached or
    refuses.
    """

    async def items(
        self,
        session_id: SessionId,
        *,
        with_all: bool = False,
        of_canon: bool = False,
        kinds: Collection[ItemKind] | None = None,
    ) -> Sequence[Item]:
        """Return the items of a chapter that count, as they are now, by the prompts they are from.

        Those that the GM rejected or merged are not among them. With `with_all` every item of the chapter is,
        also what an undone prompt had; with `of_canon` every one but that. `kinds` limits them to those about
        such things.
        """

    async def having(
        self, session_id: SessionId, words: Sequence[str], *, most: int, skipped: int = 0
    ) -> Sequence[Item]:
        """Return items of a chapter that count and may have these words, the newest first.

        At most `most` of them, without the first `skipped`. Items with each word somewhere in their texts, in
        any case and also within another word, are among them; others may be.
        """

    async def has_items(self, session_ids: Collection[SessionId]) -> bool:
        """Whether one of these chapters has an item, whatever counts."""

    async def counting(self, session_id: SessionId) -> Collection[ItemId]:
        """Return the ids of the items of a chapter that count, which takes far less time than the items."""

    async def taken_out(self, session_id: SessionId) -> Sequence[Item]:
        """Return the items of a chapter that the GM rejected or merged, whatever is canon."""

    async def earlier_chapters(self, session_id: SessionId) -> tuple[EarlierChapter, ...]:
        """Return the chapters before this one in its story, in order: those before it in its book.

        Where a branch or a restored save point begins a book, or is in none, the story before it is the one
        before the chapter that it is a copy of. That one is not part of it: what was played there since did
        not happen here.
        """

    async def replacements(
        self, session_ids: Sequence[SessionId], item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Replacement]:
        """Return what items of these chapters replace of others of them: of all, or of those that are named.

        Within a chapter `items` sees to it. As everywhere, no words of a model replace the GM's.
        """

    async def readings(self, session_id: SessionId) -> Sequence[BackgroundRequest]:
        """Return the requests that have drawn items from play, oldest first: those that are done."""

    async def history(
        self, session_id: SessionId, item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Item]:
        """Return every version of these items, or of all, by item, oldest version first."""

    async def versions(
        self, session_id: SessionId, keys: Sequence[tuple[ItemId, int]]
    ) -> Mapping[tuple[ItemId, int], Item]:
        """Return these versions of items, by item and number; what is not there is left out."""

    async def accesses(self, session_id: SessionId) -> Mapping[ItemId, ItemAccess]:
        """Return which items this chapter recalled."""

    async def put(self, items: Sequence[Item]) -> None:
        """Store the next version of each item, or its first, all or none.

        Raises ChangedElsewhereError where an item has another version than the one before it.
        """

    async def recall(self, query: Query) -> Sequence[Found]:
        """Return the items that fit a query best, at most its limit, the best first.

        They count, and are of its chapters, within their labels. Items are found by meaning only where
        `can_recall_by_meaning`.
        """

    async def items_for_input(
        self, sheets: Sheets, query: Query | None, find_words: FindWords | None = None
    ) -> ItemsForInput:
        """Return the states of `sheets` that count, in their order, and what a query recalls, in one go.

        The words of the query are found while its meaning is looked for. For an input the earlier
        chapters are returned too, so that a caller sees whether those that it asked about are outdated.
        """

    async def names(self, scopes: Sequence[Scope], words: Sequence[str]) -> Names:
        """Return which of these words no item within the labels of chapters has, and the names there are.

        Words of which a language makes nothing, such as “the”, are not among them. The names are those of
        people and places that count; no other name of theirs is known.
        """

    async def all_names(self, session_ids: Collection[SessionId]) -> Collection[str]:
        """Return the names of the people and places of chapters that count, without reading the items."""

    async def can_recall_by_meaning(self) -> bool:
        """Whether vectors are kept here. What keeps them is made when this is first asked."""

    async def unembedded(self, session_ids: Collection[SessionId], model: str, limit: int) -> Sequence[Item]:
        """Return items of chapters that have no vector of a model for the version that they have now.

        Those that the GM took out are not among them, nor quotes of lines that are never sent, as a service
        may make the vectors; the newest come first. None where no vectors are kept.
        """

    async def near_items(self, session_id: SessionId) -> Sequence[tuple[ItemId, ItemId]]:
        """Return pairs of items of a chapter that count, of one kind and label, whose meanings are near.

        Of the newest `MOST_PAIRED` items that have vectors; none where no vectors are kept.
        """

    async def put_vectors(self, model: str, vectors: Sequence[ItemVector]) -> None:
        """Store the vectors of items by a model, in place of earlier ones; nothing where none are kept."""

    async def unembedded_pieces(
        self, session_id: SessionId, model: str, hashes: Collection[str]
    ) -> Collection[str]:
        """Return which pieces of texts of a chapter have no vector of a model; none where none are kept."""

    async def put_piece_vectors(
        self, session_id: SessionId, model: str, vectors: Sequence[PieceVector]
    ) -> None:
        """Store the vectors of pieces of texts, in place of earlier ones; nothing where none are kept."""

    async def near_pieces(
        self, session_ids: Collection[SessionId], model: str, vector: Vector, limit: int
    ) -> Sequence[NearPiece]:
        """Return the pieces of texts of chapters that are nearest to a meaning, the nearest first.

        They may be of texts that are not part of the story now. None where no vectors are kept.
        """
