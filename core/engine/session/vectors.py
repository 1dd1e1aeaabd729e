"""Asks for the vectors that an open session lacks: of items of its memory bank, and of its texts."""

import logging
from dataclasses import dataclass

from core.domain.errors import StoryEngineError
from core.domain.requests.request_kinds import RequestKind
from core.engine.queue.background import BackgroundWorker
from core.engine.recall.texts import lacking_pieces
from core.engine.sync.session_writer import SessionWriter
from core.gateway.embedding_service import EmbeddingService

log = logging.getLogger(__name__)


@dataclass(eq=False)
class MissingVectors:
    """Asks for vectors of one session. It does nothing where no bank is kept, or another window writes."""

    _writer: SessionWriter
    _background: BackgroundWorker
    _embeddings: EmbeddingService

    async def ask_for_items(self) -> None:
        """Ask for those that items lack: the GM changed some, or another model makes them now."""
        await self._ask(of_texts=False)

    async def ask_for_search(self) -> None:
        """Ask also for those that the texts of the chapter and of the earlier ones of its book lack."""
        await self._ask(of_texts=True)

    async def wait_until_made(self) -> None:
        """Return when none is asked for any more: all are made, or they cannot be made now."""
        while any(one.kind is RequestKind.EMBEDDING for one in self._writer.snapshot.background):
            await self._writer.waiters.wait_for_any()

    async def _ask(self, *, of_texts: bool) -> None:
        session, store = self._writer.snapshot.session, self._writer.store
        if self._writer.lease is None or not session.keeps_bank or not await self._embeddings.is_available():
            return
        model, bank = self._embeddings.model or "", store.bank
        try:
            chapters = [session.id, *(one.session_id for one in await bank.earlier_chapters(session.id))]
            # Those of a service would cost money for each line of the story.
            has_to = of_texts and self._embeddings.stays_here and await bank.can_recall_by_meaning()
            if has_to and await lacking_pieces(store, chapters, model):
                await self._background.make_vectors(of_texts=True)
            elif await bank.unembedded(chapters, model, 1):
                await self._background.make_vectors()
        except StoryEngineError as error:
            # What asked for them is stored; the next opening asks again.
            log.warning("vectors are not looked for now: %r", error)
