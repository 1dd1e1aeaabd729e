"""The GM's changes of the memory bank of a chapter: each is stored, kept as a version, and can be undone."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item, ItemAccess, ItemOrigin, Validation
from core.domain.bank.matching import AlikeByWords
from core.domain.clock import Clock
from core.domain.errors import ChangedElsewhereError, IllegalCommandError
from core.domain.ids import ItemId, SessionId
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.engine.services.bank import item_changes
from core.engine.services.bank.provenance import ItemProvenance, provenance_of
from core.engine.services.bank.undo import REDO, UNDO, Direction, taken_back
from core.storage.bank_store import BankStore
from core.storage.while_others_change import while_others_change

MOST_IDS: Final = 1_000
"""Items whose history is asked for one by one; of more, all of it is read."""
MANY: Final = 500
"""Items from which on work on them is done in a thread: it takes some tenths of a second."""
NO_THREAD: Final = "Only a thread can be closed."
NO_BANK: Final = "This chapter keeps no memory bank."
Writing = Callable[[], AbstractAsyncContextManager[object]]
"""Returns the context in which a change is stored; SessionLockedError where another window writes."""


@dataclass(eq=False)
class Bank:
    """The items of one chapter. Changes may be of items of an earlier chapter of its book as well.

    Several items are changed in one transaction. Each method raises SessionLockedError when another window
    writes in the chapter, StorageError when the store cannot save, and ChangedElsewhereError where another
    window changed the same words.
    """

    _store: BankStore
    _session_id: SessionId
    _clock: Clock
    _writing: Writing
    _on_changed: Callable[[], object] = lambda: None
    """Called after each change that is stored."""
    _make_vectors: Callable[[], Awaitable[None]] | None = None
    """Called after one by which other words count: they are to be found by their meaning."""
    _quoting: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Held while quotes are compared and one is added: a key pressed twice keeps one."""

    async def items(
        self, *, with_all: bool = False, kinds: Collection[ItemKind] | None = None
    ) -> Sequence[Item]:
        """Return the items of the chapter that count; with `with_all` also those that do not."""
        return await self._store.items(self._session_id, with_all=with_all, kinds=kinds)

    async def counting(self) -> Collection[ItemId]:
        """Return the ids of the items of the chapter that count."""
        return await self._store.counting(self._session_id)

    async def count_new(self) -> int:
        """Return how many items of the chapter are new: they count, and the GM has not looked at them."""
        return sum(item.validation is Validation.NONE for item in await self.items())

    async def counts(self, item: Item) -> bool:
        """Whether an item counts in the chapter that it is from."""
        return item.id in await self._store.counting(item.session_id)

    async def history(self, item: Item) -> Sequence[Item]:
        """Return every version of an item, oldest first."""
        return await self._store.history(item.session_id, [item.id])

    async def chapter_of(self, item: Item) -> Mapping[ItemId, Item]:
        """Return all items of the chapter that an item is from, by id; also those that do not count."""
        items = await self._store.items(item.session_id, with_all=True)
        return {one.id: one for one in items}

    async def provenance(self, items: Sequence[Item]) -> Mapping[ItemId, ItemProvenance]:
        """Return the authors of items of this chapter: of the first version, and of the last change."""
        if not items:
            return {}
        others = {one.id: one for one in await self.items(with_all=True)}
        ids = [item.id for item in items] if len(items) <= MOST_IDS else None
        versions: dict[ItemId, list[Item]] = {}
        for version in await self._store.history(self._session_id, ids):
            versions.setdefault(version.id, []).append(version)
        return {item.id: provenance_of(versions[item.id], others) for item in items if item.id in versions}

    async def accesses(self) -> Mapping[ItemId, ItemAccess]:
        """Return which items this chapter recalled, and how often."""
        return await self._store.accesses(self._session_id)

    async def confirm(self, items: Sequence[Item], *, is_on: bool = True) -> Sequence[Item]:
        """Say of items that they are true, so that they never fade; or take that back."""
        return await self._change(items, partial(item_changes.confirmed, is_on=is_on))

    async def mark_seen(self, items: Sequence[Item]) -> Sequence[Item]:
        """Say of items that the GM has looked at them; this is not undone."""
        return await self._change(items, item_changes.seen)

    async def pin(self, items: Sequence[Item], *, is_on: bool = True) -> Sequence[Item]:
        """Pin items, so that they never fade and come first; or release them."""
        return await self._change(items, partial(item_changes.pinned, is_on=is_on))

    async def reject(self, items: Sequence[Item], *, is_on: bool = True) -> Sequence[Item]:
        """Take items out, so that nothing like them is proposed again; or bring them back."""
        return await self._change(items, partial(item_changes.rejected, is_on=is_on))

    async def close(self, items: Sequence[Item], *, is_on: bool = True) -> Sequence[Item]:
        """Close threads, or open them again; raise IllegalCommandError where no item is one."""
        if not any(item.kind is ItemKind.THREAD for item in items):
            raise IllegalCommandError(NO_THREAD)
        return await self._change(items, partial(item_changes.closed, is_on=is_on))

    async def edit(self, item: Item, typed: Item) -> Item:
        """Store the words that the GM typed for `item`.

        Raises ChangedElsewhereError if another window changed the words meanwhile: those may be better.
        """
        words = item_changes.words_of(item)
        now = [item]

        async def edited() -> Sequence[Item]:
            return await self._put(now, [item_changes.edited(one, typed) for one in now])

        async def read_again() -> None:
            nonlocal now
            now = await self._as_stored(now)
            # That it was looked at, confirmed or pinned meanwhile changes nothing about its words.
            if [*map(item_changes.words_of, now)] != [words]:
                raise ChangedElsewhereError

        return next(iter(await while_others_change(edited, read_again)), item)

    async def merge(self, items: Sequence[Item]) -> Item:
        """Merge items that say the same into the one that most may know; return it.

        Raises IllegalCommandError where the labels do not allow it, or where they are merged already.
        """
        kept, *others = item_changes.merged(items)
        stored = await self._put(items, [kept, *others])
        if not stored:
            raise IllegalCommandError(item_changes.MERGED_ALREADY)
        return next((item for item in stored if item.id == kept.id), kept)

    async def alike(self) -> Sequence[Sequence[Item]]:
        """Return groups of items of the chapter that may say the same, so that the GM can merge them.

        By names and words, and by the meanings that are stored; no model is asked.
        """
        words = asyncio.to_thread(AlikeByWords, await self.items())
        # The server compares meanings while a thread compares words.
        by_words, near = await asyncio.gather(words, self._store.near_items(self._session_id))
        return await asyncio.to_thread(by_words.groups, near)

    async def add(self, session: Session, added: item_changes.NewItem) -> Item:
        """Add an item of the GM's own, for those in its label."""
        return await self._add(session, item_changes.own_item(session, self._clock(), added))

    async def quote(self, session: Session, event: Event, words: str) -> Item:
        """Keep words of an event as a quote, once, for those who heard them; it names what they prove."""
        async with self._quoting:
            items = await self.items() if session.keeps_bank else ()
            made = item_changes.quote_of(session, event, words, self._clock(), items)
            if any(one.kind is ItemKind.QUOTE and made.evidence[0] in one.evidence for one in items):
                raise IllegalCommandError(item_changes.KEPT_ALREADY)
            return await self._add(session, made)

    async def _add(self, session: Session, item: Item) -> Item:
        if not session.keeps_bank:
            raise IllegalCommandError(NO_BANK)
        item_changes.require_storable([item])
        await self._store_as_writer([item])
        await self._tell(has_other_words=True)
        return item

    async def undo(self) -> Sequence[Item]:
        """Undo the newest change by the GM of canon items; return the items as they are now."""
        return await self._take_back(UNDO)

    async def redo(self) -> Sequence[Item]:
        """Redo what was undone last, unless something was changed since."""
        return await self._take_back(REDO)

    async def _take_back(self, direction: Direction) -> Sequence[Item]:
        async def took_back() -> Sequence[Item]:
            items = await self.items(with_all=True)
            of_canon = {item.id for item in await self._store.items(self._session_id, of_canon=True)}
            changed = [item for item in items if item.version > 1 or item.origin is ItemOrigin.GM]
            read = partial(self._store.versions, self._session_id)
            made = await taken_back(direction, changed, of_canon, self._clock(), read)
            await self._store_as_writer(made)
            return made

        made = await while_others_change(took_back)
        await self._tell(has_other_words=True)
        return made

    async def _change(self, items: Sequence[Item], change: Callable[[Item], Item]) -> Sequence[Item]:
        """Store the result of `change` for items; where another window changed one, for its new version."""

        async def changed() -> Sequence[Item]:
            return await self._put(items, await _of_many(items, lambda all_: list(map(change, all_))))

        async def read_again() -> None:
            nonlocal items
            items = await self._as_stored(items)

        return await while_others_change(changed, read_again)

    async def _put(self, before: Sequence[Item], after: Sequence[Item]) -> list[Item]:
        """Store those that differ as the next versions, all at one time, which makes them one change."""
        made = await _of_many(after, partial(_next_versions, before, now=self._clock()))
        if made:
            await self._store_as_writer(made)
            words = {item.id: (item.name, item.text, item.is_out) for item in before}
            await self._tell(
                has_other_words=any(words[one.id] != (one.name, one.text, one.is_out) for one in made)
            )
        return made

    async def _store_as_writer(self, made: Sequence[Item]) -> None:
        async with self._writing():
            await self._store.put(made)

    async def _tell(self, *, has_other_words: bool) -> None:
        self._on_changed()
        if has_other_words and self._make_vectors is not None:
            await self._make_vectors()

    async def _as_stored(self, items: Sequence[Item]) -> list[Item]:
        wanted = {item.id for item in items}
        return [
            item
            for session_id in dict.fromkeys(item.session_id for item in items)
            for item in await self._store.items(session_id, with_all=True)
            if item.id in wanted
        ]


async def _of_many(items: Sequence[Item], work: Callable[[Sequence[Item]], list[Item]]) -> list[Item]:
    """Return the result of work on items."""
    return await asyncio.to_thread(work, items) if len(items) > MANY else work(items)


def _next_versions(before: Sequence[Item], after: Sequence[Item], now: datetime) -> list[Item]:
    """Return the next versions of those that differ; raise IllegalCommandError where one cannot be stored."""
    known = {item.id: item for item in before}
    made = [item.next_version(now) for item in after if item != known[item.id]]
    item_changes.require_storable(made)
    return made
