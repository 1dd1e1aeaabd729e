"""Reads for an input what it may draw on of the memory bank: its sheet, and what it recalls (design 15).

No reply waits long for it: what is not there in time is left out, and the provenance says so. In a chapter
that keeps no bank nothing is read.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Final

from core.config.sections import DEFAULT_RECALL_ITEMS
from core.context.bank import (
    NO_BANK,
    BankChapter,
    ChapterBank,
    Recalled,
    newest_states,
    replaced_for,
    same_characters,
    sheet_of,
    this_chapter,
)
from core.domain.audience import Audience
from core.domain.bank.item import Item
from core.domain.bank.recall import QueryWord, Scope, capitalised, words_of
from core.domain.errors import StorageError
from core.domain.ids import ItemId, SessionId
from core.domain.session.cast import Character
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.context_status import never_of
from core.domain.story.event import Event
from core.domain.story.transcript import in_order
from core.engine.recall.asking import Meaning, RecallRequest, meaning_of, query_of, scopes_of, words_of_input
from core.storage.bank_store import MOST_NAMES, BankStore, EarlierChapter, ItemsForInput, Sheets
from core.storage.snapshot import Snapshot
from core.text.analysis.trigrams import FEWEST_LETTERS, nearest

log = logging.getLogger(__name__)

LONGEST_WAIT: Final = 1.0
"""Seconds that an input waits for the bank."""
NOT_IN_TIME: Final = "The memory bank (it did not answer in time)"

BY_WORDS_ALONE: Final = "The meaning of the prompt (a service makes vectors, and only a call asks it)"


@dataclass(eq=False)
class BankReader:
    """Reads the memory bank for inputs."""

    _bank: BankStore
    _: KW_ONLY
    longest_wait: float | None = None
    """Seconds that an input waits for the bank; None for the default."""
    most_items: Callable[[Slot], int] = lambda _: DEFAULT_RECALL_ITEMS
    """The number of items for a character, at most."""
    fades_at: Callable[[], datetime | None] = lambda: None
    """The time now, where items fade by hours."""
    _earlier: dict[SessionId, tuple[EarlierChapter, ...]] = field(default_factory=dict)
    """The earlier chapters as the last input of a chapter found them, where one of them or it has items: no
    item is ever deleted alone."""

    async def read(
        self,
        snapshot: Snapshot,
        slot: Slot,
        asked: RecallRequest | None = None,
        *,
        more_seconds: float = 0.0,
    ) -> ChapterBank:
        """Return what the input of a character may draw on. Never raises what the store did.

        Nothing is recalled where nothing is `asked`. It waits `more_seconds` longer where no reply does.
        """
        if not snapshot.session.keeps_bank:
            return NO_BANK
        seconds = LONGEST_WAIT if self.longest_wait is None else self.longest_wait
        try:
            async with asyncio.timeout(seconds + more_seconds):
                return await self._read(snapshot, slot, asked)
        except* (TimeoutError, StorageError) as errors:
            log.warning("the memory bank was left out of an input: %r", errors.exceptions)
        return ChapterBank(left_out=(NOT_IN_TIME,))

    async def _read(self, snapshot: Snapshot, slot: Slot, asked: RecallRequest | None) -> ChapterBank:
        session = snapshot.session
        if not await self._has_items(session.id):
            return ChapterBank()
        limit = self.most_items(slot)
        if asked is None or not limit:
            chapters = await chapters_of(self._bank, snapshot)
            read = await self._bank.items_for_input(sheets_of(chapters, slot), None)
        else:
            chapters, read = await self._recalled(snapshot, slot, asked, limit)
        by_id = {chapter.session_id: chapter for chapter in chapters}
        states = (item for item in read.states if not _is_of_other_take(item, session))
        lines = [by_id[item.session_id].remembered(item, session) for item in states]
        # A state of an earlier chapter counts there still when a later chapter has replaced it.
        newest = {line.item.id for line in newest_states(lines, slot)}
        outdated = {line.item.id for line in lines if line.about is slot} - newest
        is_book = len(chapters) > 1
        ids = [one.item.id for one in read.found if one.item.session_id != session.id] if is_book else []
        outdated |= await replaced_in_book(self._bank, chapters, Audience.of((slot,)), session, ids)
        recalled: list[Recalled] = []
        chapter, chapter_id = chapters[-1], session.id
        for item, strength, words, similarity, count in read.found:
            if len(recalled) == limit:
                break
            if item.session_id is not chapter_id:  # an id takes long to look up
                chapter_id = item.session_id
                chapter = by_id[chapter_id]
            if chapter.may_send(item) and not (outdated and item.id in outdated):
                found = chapter.remembered(item, session)
                recalled.append(Recalled(found, len(recalled) + 1, words, similarity, strength, count))
        return ChapterBank(sheet=sheet_of(lines, slot), recalled=tuple(recalled))

    async def _has_items(self, session_id: SessionId) -> bool:
        """Whether the chapter or an earlier one has items: in an empty bank nothing is looked for."""
        if session_id not in self._earlier:
            earlier = await self._bank.earlier_chapters(session_id)
            if not await self._bank.has_items([*(one.session_id for one in earlier), session_id]):
                return False
            self._earlier[session_id] = earlier
        return True

    async def _recalled(
        self, snapshot: Snapshot, slot: Slot, asked: RecallRequest, limit: int
    ) -> tuple[tuple[BankChapter, ...], ItemsForInput]:
        """Return the chapters that are asked about, the states of the character, and what it recalls.

        The earlier chapters are assumed to be as the last input found them, which spares a statement before
        the search; they are read beside it, and where one has changed the search is made again.
        """
        events = in_order(snapshot.events_known_to(slot))
        session, bank, own = snapshot.session, self._bank, snapshot.cast[slot]
        cast = [name for _, name in session.roster]
        async with asyncio.TaskGroup() as reading:
            # It takes longest of all, so that names are read beside it. Where it is known already, as for the
            # next character of a prompt, they are read beside the search by it.
            meaning = reading.create_task(self._meaning_of(asked, events))

            async def searched(chapters: Sequence[BankChapter]) -> ItemsForInput:
                scopes = scopes_of(chapters, slot, asked.recent_from)
                names = reading.create_task(respelled(bank, asked.text, own, cast, scopes))

                async def find_words() -> tuple[QueryWord, ...]:
                    words = words_of_input(asked, session.name_of(slot), events)
                    return with_names(words, await names)

                query = query_of(asked, await meaning, chapters, slot, limit)
                # Some items of earlier chapters were replaced since, and leave room for others.
                spare = limit // 2 if len(chapters) > 1 else 0
                query = replace(query, at=self.fades_at(), limit=limit + spare)
                return await bank.items_for_input(sheets_of(chapters, slot), query, find_words)

            assumed = self._earlier[session.id]
            chapters = _chapters_of(snapshot, assumed)
            read = await searched(chapters)
            # At once: the second search may not be made in time, and the next input begins with these.
            self._earlier[session.id] = read.earlier
            if read.earlier != assumed:
                chapters = _chapters_of(snapshot, read.earlier)
                read = await searched(chapters)
        return chapters, read

    async def _meaning_of(self, asked: RecallRequest, events: Sequence[Event]) -> Meaning | None:
        """Return the meaning that is asked about; no text is sent out to be compared with nothing."""
        if asked.embed is None or not await self._bank.can_recall_by_meaning():
            return None
        return await meaning_of(asked, events)


def _is_of_other_take(item: Item, session: Session) -> bool:
    """Whether an item was drawn from the take in whose place another is asked for: that one is not played."""
    is_later = any(proof.prompt_index > session.prompt_index for proof in item.evidence)
    return item.session_id == session.id and item.take is not None and is_later


def sheets_of(chapters: Sequence[BankChapter], slot: Slot) -> Sheets:
    """Return the chapters with a sheet of a character, and its slot in each."""
    return [(one.session_id, there) for one in chapters for there, here in one.slots.items() if here is slot]


async def replaced_in_book(
    bank: BankStore,
    chapters: Sequence[BankChapter],
    audience: Audience,
    session: Session,
    item_ids: Collection[ItemId],
) -> frozenset[ItemId]:
    """Return which of these items of earlier chapters `audience` knows newer ones in place of."""
    if not item_ids:
        return frozenset()
    replacements = await bank.replacements([one.session_id for one in chapters], item_ids)
    return replaced_for(audience, replacements, chapters, session)


async def chapters_of(bank: BankStore, snapshot: Snapshot) -> tuple[BankChapter, ...]:
    """Return the chapters on whose items inputs draw: the earlier ones of the book, then this one."""
    return _chapters_of(snapshot, await bank.earlier_chapters(snapshot.session.id))


def _chapters_of(snapshot: Snapshot, read: Sequence[EarlierChapter]) -> tuple[BankChapter, ...]:
    session, cast = snapshot.session, snapshot.cast.playing
    chapters = [replace(this_chapter(session), never_sent=never_of(snapshot.statuses))]
    for one in reversed(read):
        slots = same_characters(one.cast, cast)
        now = one.prompt_index + chapters[0].now
        earlier = BankChapter(
            session_id=one.session_id,
            number=one.number,
            now=now,
            language=one.language,
            slots=slots,
            never_sent=never_of(one.statuses),
        )
        chapters.insert(0, earlier)
    return tuple(chapters)


MOST_SUSPECTS: Final = 12
"""Words of one prompt that are looked up; the first ones."""


async def respelled(
    bank: BankStore, text: str, own: Character, cast: Iterable[str], scopes: Sequence[Scope]
) -> Mapping[str, str]:
    """Return for words of a prompt, such as “Kaara”, the words of the names that they are probably meant for.

    A word with a capital that no item has is taken for the name that is most like it, among those that the
    character who is asked knows: of its cast, its own other names, and of people and places in items that it
    may recall. So no alias of another leads anywhere that the character does not know. Words are compared
    here and not in the database, which need not have pg_trgm, and before recall, whose statement stays as
    fast as it is.

    `cast` are the names of all characters, and `own` is the one that is asked. Raises StorageError.
    """
    known = set(_words((*cast, *own.profile.aliases)))
    told = (word for word in capitalised(text) if len(word) >= FEWEST_LETTERS and word not in known)
    suspects = tuple(dict.fromkeys(told))[:MOST_SUSPECTS]
    if not suspects or not scopes:
        return {}
    found = await bank.names(scopes, suspects)
    if not found.unknown:
        return {}
    names = known.union(_words(found.names))
    return await asyncio.to_thread(_meant, found.unknown, names)


def _meant(words: Iterable[str], names: Collection[str]) -> Mapping[str, str]:
    """Return the name that is most like a word, for those words where one is like it."""
    near = ((word, nearest(word, names)) for word in words)
    return {word: name for word, name in near if name is not None}


def with_names(words: tuple[QueryWord, ...], meant: Mapping[str, str]) -> tuple[QueryWord, ...]:
    """Return the words of a query, with the names in place of the words that are meant for them."""
    if not meant:
        return words
    return tuple(
        replace(one, word=meant[one.word], is_name=True) if one.word in meant else one for one in words
    )


def _words(names: Iterable[str]) -> Iterable[str]:
    """Yield the words of names; very short ones are like too many others."""
    return chain.from_iterable(map(_words_of_name, names))


@lru_cache(maxsize=2 * MOST_NAMES)
def _words_of_name(name: str) -> Sequence[str]:
    """Return the words of a name: the same names come with every prompt."""
    return tuple(one.word for one in words_of(name) if len(one.word) >= FEWEST_LETTERS - 1)
