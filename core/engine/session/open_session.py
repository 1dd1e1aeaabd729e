"""Read-only queries on an open session."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from core.context.bank import BankChapter, Remembered, still_counting, this_chapter
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import Request
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.engine.changes.moves import why_not
from core.engine.recall.reading import chapters_of
from core.engine.session.session_reader import SessionReader
from core.engine.sync.session_writer import SessionWriter
from core.engine.sync.subscriptions import Listener
from core.snapshot import Snapshot
from core.store import SessionStore, WriterInfo


class OpenSession(SessionReader):
    """A session that this window has open, to write in it or to read along."""

    def __init__(self, store: SessionStore, writer: SessionWriter) -> None:
        super().__init__(store, writer.snapshot.session.id)
        self._writer = writer
        self.fades_at: Callable[[], datetime | None] = lambda: None
        """Returns the time that it is, where items of the memory bank fade by hours."""
        self.prepare_search: Callable[[], Awaitable[None]] | None = None
        """Requests the vectors that a search by meaning needs; none in a chapter that keeps no bank."""

    @property
    def snapshot(self) -> Snapshot:
        """The current session."""
        return self._writer.snapshot

    @property
    def holder(self) -> WriterInfo | None:
        """The other window that writes; None when this one writes or the other is known to be gone."""
        return self._writer.holder

    @property
    def is_read_only(self) -> bool:
        """Whether this window only reads, because another is, or was, the writer."""
        return self._writer.lease is None

    def can(self, command: Command) -> bool:
        """Whether `command` is possible now."""
        return not (self.is_read_only or self.why_not(command))

    def why_not(self, command: Command, snapshot: Snapshot | None = None) -> str:
        """Return why `command` is refused in `snapshot` (default: now); empty when it is possible."""
        return why_not(snapshot or self.snapshot, command)

    def listen(self) -> AbstractContextManager[Listener]:
        """Return a context with a listener for every notification from now on."""
        return self._writer.listeners.listen()

    async def newest_canon(self, *, known_to: Slot | None = None) -> Sequence[Event]:
        """Return the newest events of the story, or those that a character witnessed, for the transcript."""
        length = self.snapshot.session.limits.transcript
        return await self._store.newest_canon(self.id, length, known_to=known_to)

    async def earlier_chapters(self) -> Sequence[BankChapter]:
        """Return the earlier chapters of the book, as this one sees their items; none for one in no book."""
        return (await chapters_of(self._store, self.snapshot))[:-1]

    async def items_of(
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
        session, bank = self.snapshot.session, self._store.bank
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

    async def wait(self, request_id: RequestId) -> Request:
        """Wait until a request is settled and return it.

        Raises SessionLockedError when another window becomes the writer meanwhile, IllegalCommandError when
        the session is closed before or has no such request.
        """
        for request in self.snapshot.requests:
            if request.id == request_id:
                return await self._writer.waiters.wait(request_id) if request.state.is_open else request
        stored = {request.id: request for request in await self._store.requests(self.id)}
        if request_id not in stored:
            raise IllegalCommandError("There is no such call in this chapter.")
        return stored[request_id]

    async def wait_idle(self) -> None:
        """Return when no request is open."""
        while open_requests := self.snapshot.open_requests:
            await self._writer.waiters.wait(open_requests[0].id)
