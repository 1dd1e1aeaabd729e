"""Asks for condensed memory when an input would leave details out, one call at a time."""

import asyncio

from core.agents.context_builder import ContextBuilder
from core.domain.ids import BlockId
from core.domain.requests.request import BackgroundRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.story.condensed import FEWEST, MOST, Condensing, Strategy, next_run, range_of
from core.domain.story.memory import BlockType, MemoryPlace
from core.engine.changes.moves import new_work
from core.engine.queue.background import BackgroundWorker
from core.engine.sync.notifications import MemoryAppended, Notification, RequestSettled
from core.engine.sync.session_tasks import ListeningTask
from core.engine.sync.session_writer import SessionWriter
from core.storage.snapshot import Snapshot

_KIND = RequestKind.CONDENSE


class Condenser(ListeningTask):
    """Background task of an open session that looks at memory when a block was added, or one was condensed.

    It does nothing, and runs no task, while the strategy is `off`. Opening a chapter asks for nothing.
    """

    name = "condenser"
    failure = "memory was not condensed"

    def __init__(
        self,
        writer: SessionWriter,
        background: BackgroundWorker,
        builder: ContextBuilder,
        condensing: Condensing,
    ) -> None:
        super().__init__(writer)
        self._background = background
        self._builder = builder
        self._condensing = condensing
        self._known: frozenset[BlockId] = frozenset()
        """Blocks that were condensed when it last asked; it looks again only after that has changed."""

    def start(self) -> None:
        """Start to listen, unless the task runs already or there is nothing to do."""
        if self._condensing.is_on:
            super().start()

    async def _receive(self, notification: Notification) -> None:
        is_settled = isinstance(notification, RequestSettled) and notification.request.kind is _KIND
        has_more = is_settled and _ids(self._writer.snapshot) != self._known
        if has_more or isinstance(notification, MemoryAppended):
            await self._ask()

    async def _ask(self) -> None:
        if self._writer.lease is None or not _may_ask(self._writer.snapshot):
            return
        snapshot = await self._writer.know_memory(is_patient=False)
        wanted = await asyncio.to_thread(self._wanted, snapshot)
        is_fixed = self._condensing.strategy is Strategy.FIXED
        run = next_run(snapshot.blocks, snapshot.condensed, wanted, MOST if is_fixed else FEWEST)
        if not run or self._writer.lease is None or not _may_ask(self._writer.snapshot):
            return
        request = BackgroundRequest(
            prompts=range_of(run),
            audience=run[0].audience,
            **new_work(_KIND, snapshot.session.id, self._writer.clock()),
        )
        self._known = _ids(snapshot)
        await self._background.add(request)

    def _wanted(self, snapshot: Snapshot) -> frozenset[MemoryPlace]:
        """Return the places of the deltas that are to be condensed."""
        session = snapshot.session
        if self._condensing.strategy is Strategy.FIXED:
            newest = session.boundary - MOST * session.limits.chunk_size
            deltas = (block for block in snapshot.blocks if block.type is BlockType.TURN_DELTA)
            return frozenset(block.place for block in deltas if block.last <= newest)
        builder = self._builder.with_prompt_blocks(snapshot.prompt_blocks)
        shrunk: frozenset[MemoryPlace] = frozenset()
        for slot in session.slots:
            shrunk |= builder.digest(snapshot.known_without_lore(slot)).shrunk
        return shrunk


def _ids(snapshot: Snapshot) -> frozenset[BlockId]:
    return frozenset(one.id for one in snapshot.condensed)


def _may_ask(snapshot: Snapshot) -> bool:
    """Whether a request may be queued now: none that is open, or has failed, is the last word yet."""
    return snapshot.session.state.is_played and all(one.kind is not _KIND for one in snapshot.requests)
