"""The takes, the undo and the memory revisions of a session (design 12)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from core.agents.sections import silence
from core.domain.clock import Clock
from core.domain.errors import IllegalCommandError
from core.domain.ids import BlockId, RequestId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import ReplyRequest, SummaryRequest
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.engine.changes.moves import leave_out
from core.engine.decisions.commands import Ask, find_request, once
from core.engine.kinds.memory.summary import require_places
from core.engine.queue.worker import RequestWorker
from core.engine.services.takes import memory_commands, take_commands
from core.engine.services.takes.memory_commands import LockMark
from core.engine.sync.session_writer import AppliesChanges, Decide, SessionWriter
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean, is_blank

T = TypeVar("T")


@dataclass(eq=False)
class Takes:
    """Commands that change the newest prompt of a session, open or closed. Each is durable when it returns.

    They raise the errors of `SessionHandle`; the refusals of the state machine say what to do instead.
    """

    _writer: AppliesChanges
    _store: SessionStore
    _id: SessionId
    _clock: Clock

    async def listed(self) -> list[tuple[Event, ...]]:
        """Return the takes of the newest prompt, each with its events in order."""
        return await self._takes_of(await self._newest())

    async def choose(self, take: int) -> None:
        """Make another take of the newest prompt the one that counts."""
        chosen = next((events for events in await self.listed() if events[0].take == take), ())
        await self._change(lambda snapshot: take_commands.choose_take(snapshot, chosen, self._clock()))

    async def correct_reply(self, text: str) -> None:
        """Replace the newest reply by the GM's own text, as a further take."""
        await self._change(lambda snapshot: take_commands.correct_reply(snapshot, text, self._clock()))

    async def strike_afterthought(self) -> None:
        """Take what a character added last to the newest prompt out of the story; the log keeps it."""
        await self._change(lambda snapshot: take_commands.strike_afterthought(snapshot, self._clock()))

    async def undo(self) -> None:
        """Take the newest prompt out of canon; its text returns to its composer."""
        await self._change(lambda snapshot: take_commands.undo(snapshot, self._clock()))

    async def redo(self) -> None:
        """Bring back the prompt that was undone last."""
        await self._change(lambda snapshot: take_commands.redo(snapshot, self._clock()))

    async def edit_block(
        self, last: int, text: str, *, ordinal: int = 0, read: BlockId | None = None
    ) -> None:
        """Replace the block of memory that ends with prompt `last` by the GM's own revision, as JSON.

        With `read` only as long as that revision counts.
        """
        await self._change(
            lambda snapshot: memory_commands.edit_block(
                snapshot, last, text, self._clock(), ordinal=ordinal, read=read
            )
        )

    async def _takes_of(self, prompt: int) -> list[tuple[Event, ...]]:
        """Return the takes of a prompt, in order, each with its events; none of prompt 0."""
        log = await self._store.log(self._id, first=prompt or 1, last=prompt)
        return [tuple(take) for _, take in groupby(log, key=lambda event: event.take)]

    async def _newest(self) -> int:
        """Return the number of the newest prompt."""
        return (await self._store.load(self._id, recent_prompts=0)).session.prompt_index

    async def _change(self, decide: Decide) -> None:
        await self._writer.apply(decide, needs_memory=True)


class OpenTakes(Takes):
    """Adds what only an open session has: calls for other takes, memory, and replies that broke off."""

    def __init__(
        self, writer: SessionWriter, worker: RequestWorker, send: Callable[[Ask], Awaitable[RequestId]]
    ) -> None:
        super().__init__(writer, writer.store, writer.snapshot.session.id, writer.clock)
        self._open, self._worker, self._send = writer, worker, send

    async def reroll(self, *, model: str = "") -> RequestId:
        """Ask for another take of the newest prompt, for this once with another model or `account:model`."""
        return await self._ask(lambda snapshot: take_commands.ask_again(snapshot, self._clock(), model=model))

    async def continue_reply(self) -> RequestId:
        """Ask for a take that continues the newest reply."""
        return await self._ask(
            lambda snapshot: take_commands.ask_again(snapshot, self._clock(), continues=True)
        )

    async def ask_again(self, request: ReplyRequest) -> RequestId:
        """Retry a failed request for another take, or for a further reply, once."""

        def decide(snapshot: Snapshot) -> tuple[Changes, RequestId]:
            if request.follows:
                return take_commands.ask_further(snapshot, request.id, self._clock())
            return take_commands.ask_again(
                snapshot,
                self._clock(),
                text=request.text,
                model=request.model,
                continues=request.continues,
                calls=request.called,
            )

        return await self._ask(once(request.id, decide))

    async def leave_out(self, request_id: RequestId, *, with_rest: bool = False) -> None:
        """Leave a further reply out that failed, and with it those of the characters called after it."""

        def decide(snapshot: Snapshot) -> Changes:
            request = find_request(snapshot, request_id)
            if not (isinstance(request, ReplyRequest) and request.follows and request.has_failed):
                raise IllegalCommandError("Only a further reply that failed can be left out.")
            return leave_out(snapshot, request, self._clock(), with_rest=with_rest)

        await self._writer.apply(decide)

    async def rebuild_block(self, last: int, *, model: str = "") -> RequestId:
        """Ask for another revision of the block of memory that ends with prompt `last`."""
        snapshot = await self._open.know_memory(is_patient=False)
        block = memory_commands.delta_ending(snapshot, last)
        events = await self._store.canon(self._id, first=block.first - 1, last=last)
        require_places(snapshot.blocks, PromptRange(block.first, last), snapshot.marked(events))
        return await self._ask(
            lambda snapshot: memory_commands.rebuild_block(snapshot, last, self._clock(), model=model)
        )

    async def mark_lock(self, lock: str, mark: LockMark) -> None:
        """Pin or strike a canon lock for every revision of memory, or leave it to its block again."""
        await self._open.know_memory(is_patient=False)
        await self._writer.apply(
            lambda snapshot: memory_commands.mark_lock(snapshot, lock, mark, self._clock())
        )

    async def revisions(self) -> Sequence[MemoryBlock]:
        """Return the blocks that are not canon, by their places and revisions."""
        return await self._store.revisions(self._id)

    async def count(self, prompt_index: int, text: str) -> int:
        """Return how many takes of a prompt have this text of the GM."""
        takes = await self._takes_of(prompt_index)
        return sum(events[0].text == text for events in takes)

    async def has_partial(self, request: ReplyRequest) -> bool:
        """Return whether some text of a failed reply had arrived."""
        text, _ = await self._text_of(request)
        return not is_blank(text)

    async def keep_partial(self, request_id: RequestId) -> None:
        """Keep what had arrived of a reply that was stopped or broke off as the reply."""
        request = find_request(self._open.snapshot, request_id)
        if not isinstance(request, ReplyRequest):
            raise IllegalCommandError("Only a reply can be kept as far as it came.")
        text, may_be_silent = await self._text_of(request)
        await self._change(
            lambda snapshot: take_commands.keep_partial(
                snapshot, request, text, self._clock(), may_be_silent=may_be_silent
            )
        )

    async def _text_of(self, request: ReplyRequest) -> tuple[str, bool]:
        """Return the text that the last call of a request received, and whether it could be silence."""
        calls = await self._store.calls.artifacts(request.session_id, request_id=request.id, newest=1)
        output = calls[-1].output_ref if calls else None
        if output is None:
            return "", False
        text = (await self._store.calls.contents(request.session_id, [output])).get(output, "")
        return clean(text), silence.is_allowed_by(calls[-1].prompt_version)

    async def _newest(self) -> int:
        return self._open.snapshot.session.prompt_index

    async def _ask(self, decide: Ask) -> RequestId:
        running = await self._prepare()
        return await self._stopping(running, self._send(decide))

    async def _change(self, decide: Decide) -> None:
        running = await self._prepare()
        await self._stopping(running, self._writer.apply(decide))

    async def _prepare(self) -> tuple[RequestId, ...]:
        """Read memory if it is unknown, and return the open summaries, which a change cancels."""
        snapshot = await self._open.know_memory(is_patient=False)
        return tuple(one.id for one in snapshot.open_requests if isinstance(one, SummaryRequest))

    async def _stopping(self, summaries: tuple[RequestId, ...], change: Awaitable[T]) -> T:
        """Store a change and stop the summaries that it cancels, also where the caller is cancelled.

        The change is stored all the same then, and the play would wait for a call that is not wanted.
        """

        def stop(done: asyncio.Future[T]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._stop(summaries)

        task = asyncio.ensure_future(change)
        task.add_done_callback(stop)
        return await asyncio.shield(task)

    def _stop(self, summaries: tuple[RequestId, ...]) -> None:
        """Stop the calls of summaries that were cancelled; what they return is kept as provenance alone."""
        open_ = {request.id for request in self._open.snapshot.open_requests}
        for request_id in summaries:
            if request_id not in open_:
                with suppress(IllegalCommandError):
                    self._worker.cancel(request_id)
