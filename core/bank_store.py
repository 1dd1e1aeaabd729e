"""What the memory bank needs of storage, as a Protocol that `db` implements (design 15)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item, ItemAccess
from core.domain.ids import ItemId, SessionId

CHANGED: Final = "Another window changed that item meanwhile; nothing was stored from here."


class BankStore(Protocol):
    """Durable storage of the items of chapters.

    Items are added by `SessionStore.commit`; the GM's changes of them come here, in transactions of their
    own, so that items of an earlier chapter of a book can be changed too. An item counts where the take that
    it was drawn from is canon, and no other one that counts supersedes it. Every method raises `StorageError`
    when the database cannot be reached or refuses.
    """

    async def items(
        self,
        session_id: SessionId,
        *,
        with_all: bool = False,
        kinds: Collection[ItemKind] | None = None,
    ) -> Sequence[Item]:
        """Return the items of a chapter that count, as they are now, by the prompts they are from.

        Those that the GM rejected or merged are not among them. With `with_all` every item of the chapter is,
        also what an undone prompt had. `kinds` limits them to those about such things.
        """

    async def history(
        self, session_id: SessionId, item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Item]:
        """Return every version of these items, or of all, by item, oldest version first."""

    async def accesses(self, session_id: SessionId) -> Mapping[ItemId, ItemAccess]:
        """Return which items this chapter recalled."""

    async def put(self, items: Sequence[Item]) -> None:
        """Store the next version of each item, or its first, all or none.

        Raises ChangedElsewhereError where an item has another version than the one before it.
        """
