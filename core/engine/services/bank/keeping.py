"""The memory bank of an open chapter: whether it is kept, its language and reading, and earlier chapters."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from core.context.bank import BankChapter, Remembered, still_counting, this_chapter
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.ids import SessionId
from core.domain.requests.request import BackgroundRequest
from core.domain.session.language import Language
from core.domain.session.state_machine import Command
from core.domain.story.event import Event
from core.engine.changes.moves import given_up, move, with_all_tries
from core.engine.kinds.bank.requests import Named, extractions, is_extraction, named_by
from core.engine.queue.background import BackgroundWorker
from core.engine.recall.reading import chapters_of
from core.engine.sync.session_writer import Decide, SessionWriter
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot


def keep_bank(
    snapshot: Snapshot, now: datetime, *, is_on: bool, events: Sequence[Event] = (), read: Named = ()
) -> Changes:
    """Store whether the chapter keeps a memory bank from here on.

    On activation, all memory that was not read before is read, oldest first, also where a reading was stopped
    or failed; `snapshot` must have its memory and `events` canon then. On deactivation, waiting extractions
    are dropped; extracted items stay, and are recalled again once the bank is switched on.
    """
    session = move(snapshot, snapshot.session, Command.KEEP_BANK, now)
    if session.keeps_bank is is_on:
        return Changes(session_id=session.id)
    if is_on and not snapshot.is_memory_known:
        raise ValueError("the memory must be known, as its blocks say what is to be read")
    if is_on:
        known = {*read, *named_by(snapshot.requests)}
        failed = (
            with_all_tries(one, now) for one in snapshot.requests if is_extraction(one) and one.has_failed
        )
        requests = (*failed, *extractions(session.id, snapshot.blocks, events, now, known))
    else:
        waiting = (one for one in snapshot.requests if is_extraction(one) and not one.is_processing)
        requests = tuple(given_up(one, now) for one in waiting)
    return Changes(session_id=session.id, session=replace(session, keeps_bank=is_on), requests=requests)


def set_language(snapshot: Snapshot, language: Language, now: datetime) -> Changes:
    """Store the language of the story. The words of all items are made again with it."""
    session = move(snapshot, snapshot.session, Command.SET_LANGUAGE, now)
    if session.language is language:
        return Changes(session_id=session.id)
    return Changes(session_id=session.id, session=replace(session, language=language))


@dataclass(eq=False)
class BankKeeping:
    """Whether an open session keeps a memory bank."""

    _writer: SessionWriter
    _background: BackgroundWorker
    _make_vectors: Callable[[], Awaitable[None]]
    """Asks for the vectors that items lack; the first time it makes room for them."""

    @property
    def unread(self) -> tuple[BackgroundRequest, ...]:
        """The requests that are to be read for the bank or are being read, oldest first."""
        return tuple(one for one in self._writer.snapshot.background if is_extraction(one))

    async def to_read(self) -> tuple[BackgroundRequest, ...]:
        """Return what would be read if the bank were switched on now. Raises StoryEngineError."""
        self._writer.require_writer()
        changes = (await self._decision(is_on=True))(self._writer.snapshot)
        return tuple(filter(is_extraction, changes.requests))

    async def _decision(self, *, is_on: bool) -> Decide:
        if is_on:
            await self._writer.know_memory(is_patient=False)
            events, read = await material(self._writer.store, self._writer.snapshot.session.id)
        else:
            events, read = (), ()
        return partial(keep_bank, now=self._writer.clock(), is_on=is_on, events=events, read=read)

    async def keep(self, *, is_on: bool) -> int:
        """Keep a bank from here on, or stop; return how many parts of the chapter wait to be read."""
        await self._writer.apply(await self._decision(is_on=is_on))
        if is_on:
            await self._make_vectors()  # Here: no reply waits for the bank as long as making room may take.
        else:
            for running in self.unread:
                await self._background.stop(running.id)
        return len(self.unread)

    async def set_language(self, language: Language) -> None:
        """Make and look for the words of its items in this language from here on."""
        now = self._writer.clock()
        await self._writer.apply(lambda snapshot: set_language(snapshot, language, now))

    async def wait_until_read(self) -> None:
        """Return when nothing is left to be read, or the rest has failed or waits for the GM."""
        while self.unread and not any(one.holds_up for one in self._writer.snapshot.requests):
            await self._writer.waiters.wait_for_any()


async def material(store: SessionStore, session_id: SessionId) -> tuple[Sequence[Event], Named]:
    """Return the canon of a chapter, and the events that were read for the bank. Raises StorageError."""
    events = await store.canon(session_id)
    return events, named_by(await store.bank.readings(session_id))


class EarlierItems:
    """The earlier chapters of the book of an open session. Each method raises StorageError."""

    def __init__(self, writer: SessionWriter) -> None:
        self._writer = writer

    async def chapters(self) -> Sequence[BankChapter]:
        """Return the earlier chapters of the book, as this one sees their items; none for one in no book."""
        return (await chapters_of(self._writer.store.bank, self._writer.snapshot))[:-1]

    async def items(
        self,
        earlier: Sequence[BankChapter],
        *,
        kinds: Collection[ItemKind] | None = None,
        read: dict[SessionId, Sequence[Item]] | None = None,
    ) -> Sequence[tuple[BankChapter, Sequence[Remembered]]]:
        """Return the items of the earlier chapters that count, as this one sees them; of `kinds`, or of all.

        Those that a later chapter replaced are not among them. Chapters in `read` are not read again; those
        that are read are put there.
        """
        session, bank = self._writer.snapshot.session, self._writer.store.bank
        chapters = [*earlier, this_chapter(session)]
        ids = [one.session_id for one in chapters]
        replacements = await bank.replacements(ids) if earlier else ()
        known = {} if read is None else read
        for chapter in earlier:
            if chapter.session_id not in known:
                known[chapter.session_id] = await bank.items(chapter.session_id, kinds=kinds)

        def seen(chapter: BankChapter) -> list[Remembered]:
            lines = (chapter.remembered(item, session) for item in known[chapter.session_id])
            return still_counting(lines, replacements, chapters, session)

        # A book may have tens of thousands.
        return await asyncio.to_thread(lambda: [(chapter, seen(chapter)) for chapter in earlier])
