"""Reads the items of the earlier chapters of a book, as its newest chapter sees them (design 15)."""

import asyncio
from collections.abc import Collection, Sequence

from core.context.bank import BankChapter, Remembered, still_counting, this_chapter
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.ids import SessionId
from core.engine.recall.reading import chapters_of
from core.engine.sync.session_writer import SessionWriter
from core.storage.session_store import SessionStore


class EarlierItems:
    """The earlier chapters of the book of an open session. Each method raises StorageError."""

    def __init__(self, store: SessionStore, writer: SessionWriter) -> None:
        self._store = store
        self._writer = writer

    async def chapters(self) -> Sequence[BankChapter]:
        """Return the earlier chapters of the book, as this one sees their items; none for one in no book."""
        return (await chapters_of(self._store, self._writer.snapshot))[:-1]

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
        session, bank = self._writer.snapshot.session, self._store.bank
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
