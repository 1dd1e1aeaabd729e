"""Reads for an input what it may draw on of the memory bank (design 15).

No reply waits long for it: what is not there in time is left out, and the provenance says so. In a chapter
that keeps no bank nothing is read.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from core.context.bank import (
    NO_BANK,
    BankChapter,
    ChapterBank,
    Remembered,
    same_characters,
    sheet_of,
    this_chapter,
)
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.bank.matching import Similar
from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.snapshot import Snapshot
from core.store import SessionStore

log = logging.getLogger(__name__)

LONGEST_WAIT: Final = 1.0
"""Seconds that an input waits for the bank."""
NOT_IN_TIME: Final = "The memory bank (it did not answer in time)"


class BankReader:
    """Reads the memory bank for inputs; `longest_wait` is in seconds."""

    def __init__(self, store: SessionStore, *, longest_wait: float = LONGEST_WAIT) -> None:
        self._store = store
        self._longest_wait = longest_wait

    async def read(self, snapshot: Snapshot, slot: Slot) -> ChapterBank:
        """Return what the input of a character may draw on. Never raises what the store did."""
        if not snapshot.session.keeps_bank:
            return NO_BANK
        try:
            async with asyncio.timeout(self._longest_wait):
                return await self._read(snapshot, slot)
        except (TimeoutError, StorageError) as error:
            log.warning("the memory bank was left out of an input: %r", error)
            return ChapterBank(left_out=(NOT_IN_TIME,))

    async def similar(self, session_id: SessionId, new: Sequence[Item]) -> Similar | None:
        """Return what compares new items with those of a chapter by meaning; None where nothing does."""
        return None

    async def _read(self, snapshot: Snapshot, slot: Slot) -> ChapterBank:
        chapters = await chapters_of(self._store, snapshot)
        return ChapterBank(sheet=await self._sheet(snapshot, chapters, slot))

    async def _sheet(
        self, snapshot: Snapshot, chapters: Sequence[BankChapter], slot: Slot
    ) -> tuple[Remembered, ...]:
        lines: list[Remembered] = []
        for chapter in chapters:
            if slot in chapter.slots.values():
                states = await self._store.bank.items(chapter.session_id, kinds={ItemKind.STATE})
                lines += [chapter.remembered(item, snapshot.session) for item in states]
        return sheet_of(lines, slot)


async def chapters_of(store: SessionStore, snapshot: Snapshot) -> tuple[BankChapter, ...]:
    """Return the chapters on whose items inputs draw: the earlier ones of the book, then this one."""
    session, cast = snapshot.session, snapshot.cast.playing
    chapters = [this_chapter(session)]
    for one in reversed(await store.bank.earlier_chapters(session.id)):
        slots = same_characters(one.cast, cast)
        now = one.prompt_index + chapters[0].now
        chapters.insert(0, BankChapter(session_id=one.session_id, number=one.number, now=now, slots=slots))
    return tuple(chapters)
