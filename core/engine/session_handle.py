"""One session as it is open in this window: the commands of the GM, and what listeners hear of it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from core.agents.context_builder import ContextBuilder
from core.domain.clock import Clock
from core.domain.errors import IllegalCommandError, SessionLockedError, StoryEngineError
from core.domain.event import Event
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.request import (
    LockRequest,
    NarrativeRequest,
    ReplyRequest,
    Request,
    SummaryRequest,
    TrialRequest,
)
from core.domain.session import SessionState
from core.domain.slot import Slot
from core.domain.state_machine import Command, facts_of, refusal
from core.engine import commands
from core.engine.commands import Tab1Edit
from core.engine.kinds.trial import record_of_test
from core.engine.queue.worker import RequestWorker, next_request
from core.engine.quiesce import apply_when_idle
from core.engine.recovery import recover, withdraw_queued_prompts
from core.engine.save_points.auto_save import AutoSaver
from core.engine.session_reader import SessionReader
from core.engine.sync.follower import Follower
from core.engine.sync.lease_watch import LeaseWatch
from core.engine.sync.notifications import SessionReplaced, WriterChanged, WriterGone
from core.engine.sync.session_writer import Decide, SessionWriter
from core.engine.sync.subscriptions import Listener
from core.engine.transitions import time_of_service
from core.gateway.model_gateway import CallResult
from core.store import Changes, SessionStore, Snapshot, WriterInfo, written_elsewhere

CLOSE_TIMEOUT_SECONDS = 5.0
"""Seconds to wait for the store when a session is closed; what it misses is repaired at the next opening."""


class SessionHandle(SessionReader):
    """Commands in, notices out. Every command is durable when it returns.

    Commands raise IllegalCommandError when the state refuses, LimitExceededError when a text is too
    long, SessionLockedError when another window writes, and StorageError when the store cannot save.
    """

    def __init__(
        self,
        store: SessionStore,
        writer: SessionWriter,
        builder: ContextBuilder,
        runner: RequestWorker,
        follower: Follower,
        watch: LeaseWatch,
        keeper: AutoSaver,
        clock: Clock,
        backoff: float,
    ) -> None:
        super().__init__(store, writer.snapshot.session.id)
        self._writer = writer
        self._builder = builder
        self._runner = runner
        self._follower, self._watch, self._keeper = follower, watch, keeper
        self._clock, self._backoff = clock, backoff
        self._is_closed = False
        self._apply_at_rest = partial(apply_when_idle, writer, self.cancel)
        writer.on_adopted = runner.wake
        writer.on_locked_out = follower.start

    @property
    def snapshot(self) -> Snapshot:
        """The session as it is stored."""
        return self._writer.snapshot

    @property
    def holder(self) -> WriterInfo | None:
        """Who writes here, if it is another window; None as well when that one is known to be gone."""
        return self._writer.holder

    @property
    def is_read_only(self) -> bool:
        """Whether this window only reads: another one writes, or was the last to."""
        return self._writer.lease is None

    def can(self, command: Command) -> bool:
        """Whether `command` is possible now: what a screen enables."""
        return not (self.is_read_only or self.why_not(command))

    def why_not(self, command: Command, snapshot: Snapshot | None = None) -> str:
        """Return why the state machine refuses `command` in `snapshot`, else now; empty when it does not."""
        snapshot = snapshot or self.snapshot
        facts = facts_of(snapshot.session, snapshot.tab1, has_open_reply=bool(snapshot.open_prompts))
        return refusal(snapshot.session.state, command, facts)

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        """Hear every notice from now on."""
        with self._writer.listeners.listen() as listener:
            yield listener

    async def edit_tab1(self, edit: Tab1Edit) -> None:
        """Store what the GM typed on tab 1."""
        await self._writer.apply(lambda snapshot: commands.edit_tab1(snapshot, edit, self._clock()))

    async def save_unsent(self, slot: Slot, text: str) -> None:
        """Store the text that waits in the composer of `slot`."""
        if self.snapshot.unsent.get(slot, "") != text:
            await self._writer.apply(lambda snapshot: commands.save_unsent(snapshot, slot, text))

    async def retitle(self, title: str) -> None:
        """Give the chapter another title."""
        await self._writer.apply(lambda snapshot: commands.retitle(snapshot, title, self._clock()))

    async def create_save_point(self, occasion: str) -> None:
        """Take an automatic save slot of how the chapter stands, before something replaces that."""
        await self._keeper.create_now(occasion)

    async def lock(self) -> RequestId:
        """Lock tab 1 and begin the first summary."""
        return await self._ask(lambda snapshot: commands.lock(snapshot, self._clock()))

    async def submit_prompt(self, slot: Slot, text: str, *, is_typed: bool = True) -> RequestId:
        """Send a prompt to the character in `slot`, or queue it behind what runs.

        `is_typed` says that it is what the composer of `slot` held, which empties; any other text
        leaves alone what waits there.
        """
        return await self._ask(
            lambda snapshot: commands.submit_prompt(snapshot, slot, text, self._clock(), is_typed=is_typed)
        )

    def time_of_service(self, request: Request) -> datetime | None:
        """Return the time before which the service does not want a failed request to be sent again."""
        return time_of_service(request, self._backoff)

    async def withdraw(self, request_id: RequestId) -> None:
        """Take a queued prompt back, or give up a failed one; its text is in its composer."""
        await self._writer.apply(lambda snapshot: commands.withdraw(snapshot, request_id, self._clock()))

    async def cancel(self, request_id: RequestId) -> None:
        """Stop a request: with a model, it is settled as a failure; queued, it is taken back."""
        if self.is_read_only:
            raise SessionLockedError()
        if self._runner.cancel(request_id):
            return
        await self.withdraw(request_id)

    async def retry(self, request_id: RequestId) -> RequestId:
        """Try a failed request again."""
        request = commands.find_request(self.snapshot, request_id)
        if not request.has_failed:
            raise IllegalCommandError("That call has not failed; there is nothing to retry.")
        match request:
            case LockRequest():
                return await self.lock()
            case ReplyRequest():
                return await self.submit_prompt(request.slot, request.text, is_typed=False)
            case SummaryRequest():
                await self._writer.apply(lambda snapshot: commands.retry_summary(snapshot, self._clock()))
                return request_id
            case NarrativeRequest():
                return await self.build_narrative()
            case TrialRequest():
                raise ValueError("a test call is given up as soon as it has failed")

    async def record_test(self, test: TrialRequest, result: CallResult) -> None:
        """Store the provenance of a test call; nothing else of the session changes."""
        await self._writer.apply(lambda _: record_of_test(test, result, self._clock()))

    async def end_chapter(self) -> None:
        """End the chapter, after a last summary if one is needed."""
        await self._writer.apply(lambda snapshot: commands.end_chapter(snapshot, self._clock()))

    async def correct_canon(self, text: str, prompts: PromptRange | None = None) -> None:
        """Store a correction of canon: every later input has it behind the memory that there is."""
        await self._writer.know_memory(is_patient=False)
        await self._writer.apply(
            lambda snapshot: commands.correct_canon(snapshot, self._builder, text, prompts, self._clock())
        )

    async def define_narrative(self, text: str, target_words: int | None) -> None:
        """Store the definition of the narrative agent."""
        await self._writer.apply(
            lambda snapshot: commands.define_narrative(snapshot, text, target_words, self._clock())
        )

    async def build_narrative(self) -> RequestId:
        """Build a new draft; earlier ones stay."""
        return await self._ask(lambda snapshot: commands.build_narrative(snapshot, self._clock()))

    async def reset(self) -> SessionId:
        """Archive this session, close it, and start a new one in its place; return its id (design 5)."""
        if self.is_read_only:
            raise SessionLockedError()
        self._require_resettable(self.snapshot)
        await self._apply_at_rest(lambda snapshot: Changes(session_id=snapshot.session.id))
        await self.create_save_point("before the chapter was reset")
        resting = self.snapshot.session

        def reset(snapshot: Snapshot) -> Changes:
            nonlocal resting
            self._require_resettable(snapshot)
            resting = snapshot.session
            return self._in_state(snapshot, SessionState.RESETTING)

        await self._apply_at_rest(reset)
        fresh = commands.new_session(self._clock(), session_id=SessionId(new_uuid()))
        try:
            await self._store.create(fresh)
            # Archived as it stood, so that it can be restored and played on.
            await self._writer.apply(
                lambda snapshot: self._in_state(snapshot, resting.state, archived_at=self._clock())
            )
        except BaseException:  # cancelled too: half a reset is none
            with suppress(StoryEngineError):
                await self._writer.apply(lambda snapshot: self._in_state(snapshot, resting.state))
            raise
        self._writer.listeners.publish(SessionReplaced(fresh.session_id))
        await self.aclose()
        return fresh.session_id

    def _require_resettable(self, snapshot: Snapshot) -> None:
        """Raise IllegalCommandError while another reset of this session is under way, or after it."""
        if snapshot.session.archived_at is not None or self.why_not(Command.RESET, snapshot):
            raise IllegalCommandError("The chapter cannot be reset now; try again in a moment.")

    async def archive(self) -> None:
        """Stop everything and take this session off every list; it can be restored unchanged.

        Raises SessionLockedError where another window writes; one that is gone is succeeded first.
        """
        if not await self.take_over():
            raise written_elsewhere(self.holder)
        await self._apply_at_rest(
            lambda snapshot: Changes(
                session_id=self.id, session=replace(snapshot.session, archived_at=self._clock())
            )
        )

    async def newest_canon(self) -> Sequence[Event]:
        """Return the newest events of the story: enough of them to fill the transcript's window."""
        return await self._store.newest_canon(self.id, self.snapshot.session.limits.transcript)

    async def wait(self, request_id: RequestId) -> Request:
        """Return the request once it is settled; at once when it already is.

        Raises SessionLockedError when another window takes the session meanwhile, IllegalCommandError
        when the session is closed before, or has no such request.
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

    async def take_over(self) -> bool:
        """Become the writer if the other window is gone; return whether this one writes now."""
        if not self.is_read_only:
            return True
        taken = await self._store.acquire(self.id, self._writer.label)
        if isinstance(taken, WriterInfo):
            self._learn(taken)
            return False
        await self._follower.aclose()
        try:
            await self._writer.become_writer(taken)
        except BaseException:  # cancelled too: a window that does not write reads along
            self._follower.start()
            raise
        await self.begin_writing()
        self._writer.listeners.publish(WriterChanged(None))
        return True

    async def look_for_writer(self) -> WriterInfo | None:
        """Ask who writes, where it is not this window; None when no window does. A change is also published.

        Nothing else tells: a window that ends without a word stores nothing more.
        """
        found = await self._store.writer_of(self.id)
        if not self.is_read_only:  # It has become the writer while it asked.
            return None
        self._learn(found)
        return found

    def _learn(self, holder: WriterInfo | None) -> None:
        if holder != self._writer.holder:
            self._writer.holder = holder
            self._writer.listeners.publish(WriterGone() if holder is None else WriterChanged(holder))

    async def begin_writing(self) -> None:
        """Mend what a crash left, and work through what is pending; the writer's lock is held already."""
        if recover(self.snapshot, self._clock(), self._backoff) is not None:
            await self._writer.apply(self._recovered)
        self._keeper.start()
        self._watch.start()
        self._runner.start()

    def begin_following(self) -> None:
        """Follow along, read-only."""
        self._follower.start()

    async def aclose(self) -> None:
        """Stop what runs, settle it, give the texts of queued prompts back, and let the lock go."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._watch.aclose()
        # What a command that was given up by its caller still stores.
        await self._writer.finish(CLOSE_TIMEOUT_SECONDS)
        # Those that wait before the one that runs, so that their texts come back in the order of play.
        await self._repair_at_close(withdraw_queued_prompts(self.snapshot, self._clock()), self._unqueued)
        await self._runner.aclose()
        # What was stored as begun while the runner ended.
        await self._repair_at_close(recover(self.snapshot, self._clock(), self._backoff), self._recovered)
        await self._follower.aclose()
        self._writer.listeners.close()
        await self._keeper.aclose()
        await self._writer.aclose(IllegalCommandError("The chapter is closed; open it again to go on."))

    async def _repair_at_close(self, needed: Changes | None, decide: Decide) -> None:
        if needed is None or self.is_read_only:
            return
        with suppress(StoryEngineError, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self._writer.apply(decide)

    def _recovered(self, snapshot: Snapshot) -> Changes:
        return recover(snapshot, self._clock(), self._backoff) or Changes(session_id=snapshot.session.id)

    def _unqueued(self, snapshot: Snapshot) -> Changes:
        return withdraw_queued_prompts(snapshot, self._clock()) or Changes(session_id=snapshot.session.id)

    def _in_state(
        self, snapshot: Snapshot, state: SessionState, *, archived_at: datetime | None = None
    ) -> Changes:
        session = replace(snapshot.session, state=state, archived_at=archived_at, updated_at=self._clock())
        return Changes(session_id=session.id, session=session)

    async def _ask(self, decide: commands.Ask) -> RequestId:
        """Store a new request; when nothing runs it begins in the same transaction."""
        asked: list[RequestId] = []

        def changes(snapshot: Snapshot) -> Changes:
            made, request_id = decide(snapshot)
            asked.append(request_id)
            following = next_request(snapshot.after(made))
            requests = (
                commands.begin(request, self._clock()) if request == following else request
                for request in made.requests
            )
            return replace(made, requests=tuple(requests))

        await self._writer.apply(changes)
        return asked[-1]
