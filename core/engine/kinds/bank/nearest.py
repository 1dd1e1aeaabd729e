"""Finds the items that are near to new ones: in their own chapter, and in the earlier ones of its book.

For each new item only the few nearest of an earlier chapter are compared, by words and by meaning, and
the states of its characters, because a state need not resemble the one that it replaces.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import mul
from typing import Final

from core.context.bank import BankChapter
from core.context.visibility import items_known_to_all_of
from core.domain.audience import Audience
from core.domain.bank.details import NAMED, ItemKind
from core.domain.bank.item import Item
from core.domain.bank.matching import COMPARED_BY_MEANING, SAME_BY_MEANING, Similar, content_words
from core.domain.bank.recall import Found, Query, Scope, Vector, query_words
from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.engine.kinds.bank.embedding import MOST_IN_A_BATCH, all_texts_of, meaning_of, texts_to_embed
from core.engine.kinds.bank.sorting import EarlierItem
from core.engine.kinds.base import Job
from core.engine.recall.reading import chapters_of, replaced_in_book, sheets_of
from core.storage.bank_store import BankStore

MOST_NEAR: Final = 5
"""Items that a new one is compared with by meaning, and as many of the earlier chapters of its book."""
MOST_OUT: Final = 32
"""Items that the GM took out which new ones are compared with by meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierBank:
    """Items of a book's earlier chapters that an audience's findings may be compared with."""

    bank: BankStore
    audience: Audience
    session: Session
    chapters: Sequence[BankChapter]
    """The earlier chapters, and the one that is played."""
    scopes: tuple[Scope, ...]
    """The earlier chapters in which all of the audience played."""
    named: Sequence[EarlierItem] = ()
    """People and places, the oldest first."""
    taken_out: Sequence[EarlierItem] = ()

    async def here(self, items: Sequence[Item]) -> list[EarlierItem]:
        """Return items as this chapter has them, without those about characters that do not play in it.

        Of items that count, those that a later chapter replaced are left out.
        """
        by_id = {chapter.session_id: chapter for chapter in self.chapters}
        ids = [item.id for item in items if not item.is_out]
        replaced = await replaced_in_book(self.bank, self.chapters, self.audience, self.session, ids)
        found = []
        for item in items:
            chapter = by_id[item.session_id]
            about = None if item.about is None else chapter.slots.get(item.about)
            if item.id not in replaced and (about is None) is (item.about is None):
                seen = replace(item, label=chapter.label_of(item, self.session), about=about)
                found.append(
                    EarlierItem(item=seen, chapter=chapter.number, was_known_to_all=item.label.is_everyone)
                )
        return found


@dataclass(frozen=True, slots=True)
class Near:
    """Items near to new ones."""

    similar: Similar | None = None
    """Compares two items by meaning; None where vectors are not available."""
    earlier: Sequence[EarlierItem] = ()


async def earlier_bank(job: Job, audience: Audience) -> EarlierBank:
    """Return what the earlier chapters of the book have; nothing for a chapter that is in no book."""
    session, bank = job.snapshot.session, job.store.bank
    chapters = await chapters_of(bank, job.snapshot)
    earlier, scopes = chapters[:-1], []
    for chapter in earlier:
        there = chapter.audience_there(audience, session)
        if there is not None:
            id, language = chapter.session_id, chapter.language
            scopes.append(Scope(session_id=id, mask=there.mask, now=chapter.now, language=language))
    book = EarlierBank(bank=bank, audience=audience, session=session, chapters=chapters, scopes=tuple(scopes))
    named: list[Item] = []
    taken_out: list[Item] = []
    for chapter in earlier:
        named += await bank.items(chapter.session_id, kinds=NAMED)
        taken_out += await bank.taken_out(chapter.session_id)
    return replace(book, named=await book.here(named), taken_out=await book.here(taken_out))


Pair = tuple[Item, Vector, Item]
"""A new item, the vector of its text, and an item that may say the same."""


class Neighbours:
    """Finds what is near to the new items of one extraction."""

    def __init__(self, job: Job, book: EarlierBank, taken_out: Sequence[Item]) -> None:
        """Make it; `taken_out` are the items of the chapter that the GM rejected or merged."""
        self._job = job
        self._book = book
        known = items_known_to_all_of(book.audience, taken_out)
        self._out = [*known, *(one.item for one in book.taken_out)]

    async def of(self, new: Sequence[Item]) -> Near:
        """Return what the chapter has by meaning, and what the earlier ones of its book have."""
        listed = new[:MOST_IN_A_BATCH]
        model, vectors = self._job.calls.embedding_model, dict[str, Vector]()
        if model is not None and listed and await self._book.bank.can_recall_by_meaning():
            vectors = await self._embed(all_texts_of(listed))
        pairs: list[Pair] = []
        earlier = await self._states(new) if self._book.scopes else []
        for item in listed:
            made = meaning_of(item, vectors)
            found = await self._found(item, None if made is None else made.vector, model or "")
            near = [one.item for one in found if (one.similarity or 0.0) >= SAME_BY_MEANING]
            if made is not None:
                pairs += [(item, vectors[texts_to_embed(item)[0]], one) for one in near]
            earlier += [one.item for one in found if one.item.session_id != item.session_id]
        if vectors:
            out = await asyncio.to_thread(nearest_by_words, listed, self._out)
            told = [(item, vectors[text]) for item in listed if (text := texts_to_embed(item)[0]) in vectors]
            pairs += [(item, one, other) for item, one in told for other in out]
        return Near(await self._compared(pairs) if vectors else None, await self._book.here(earlier))

    async def _found(self, item: Item, meaning: Vector | None, model: str) -> list[Found]:
        """Return items near to a new one; of its own chapter by meaning, as all their words are compared."""
        session_id, bank = item.session_id, self._book.bank
        # Items that the audience does not know are not compared: they would displace known ones.
        here = Scope(session_id=session_id, mask=self._book.audience.mask, now=item.prompt_index)
        query = Query(
            session_id=session_id, scopes=(here,), words=(), vector=meaning, model=model, limit=MOST_NEAR
        )
        found = [] if meaning is None else list(await bank.recall(query))
        if self._book.scopes:
            words = query_words([(item.name, 1.0), (item.text, 1.0)])
            query = replace(query, scopes=self._book.scopes, words=words)
            found += await bank.recall(query)
        return found

    async def _states(self, new: Sequence[Item]) -> list[Item]:
        """Return the states that the characters had whose states are new."""
        slots = {item.about for item in new if item.kind is ItemKind.STATE and item.about is not None}
        found: list[Item] = []
        for slot in sorted(slots):
            sheets = sheets_of(self._book.chapters[:-1], slot)
            found += (await self._book.bank.items_for_input(sheets, None)).states if sheets else ()
        return found

    async def _compared(self, listed: Sequence[Pair]) -> Similar:
        kinds = COMPARED_BY_MEANING
        pairs = [one for one in listed if one[0].kind is one[2].kind and one[0].kind in kinds]
        # Two items of one name are near by it alone: whether they say the same is asked of their texts.
        texts = list(dict.fromkeys(texts_to_embed(other)[0] for _, _, other in pairs))
        by_text = await self._embed(texts) if texts else {}
        cosines = {
            (item.id, other.id): sum(map(mul, told, by_text[texts_to_embed(other)[0]]))
            for item, told, other in pairs
            if texts_to_embed(other)[0] in by_text
        }
        return lambda one, other: cosines.get((one.id, other.id), 0.0)

    async def _embed(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of texts; those of the first alone where something went wrong."""
        made = await self._job.calls.embed(texts)
        await self._job.calls.keep(made.call_records)
        return dict(zip(texts, made.vectors, strict=False))


def nearest_by_words(new: Iterable[Item], items: Iterable[Item]) -> list[Item]:
    """Return the few of these items that share most words with one of the new ones, then the newest."""
    wanted = [(item.kind, content_words(item)) for item in new]

    def key(item: Item) -> tuple[int, datetime, ItemId]:
        words = content_words(item)
        shared = max((len(words & others) for kind, others in wanted if kind is item.kind), default=0)
        return shared, item.created_at, item.id

    kinds = {kind for kind, _ in wanted}
    found = sorted((item for item in items if item.kind in kinds), key=key, reverse=True)
    return found[:MOST_OUT]
