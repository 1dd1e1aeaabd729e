"""One session as it is open in this window: the commands of the GM, and what listeners hear of it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from core.draft import NarrativeDraft
from core.engine import commands
from core.engine.clock import Clock
from core.engine.commands import Tab1Edit
from core.engine.follower import Follower
from core.engine.listeners import Listener
from core.engine.notices import SessionReplaced, WriterChanged
from core.engine.recovery import recover
from core.engine.runner import Runner, next_request
from core.engine.writing import Writer
from core.errors import IllegalCommandError
from core.event import Event
from core.ids import RequestId, SessionId, new_uuid
from core.machine import Command, facts_of, is_allowed
from core.request import Request, RequestKind, RequestState
from core.session import SessionState
from core.slot import Slot
from core.store import Changes, Holder, Lease, Snapshot, Store

LONGEST_STOP = 30.0
"""Seconds to wait for a call that was stopped to be settled."""


class OpenSession:
    """Commands in, notices out. Every command is durable when it returns.

    Commands raise IllegalCommandError when the state refuses, LimitExceededError when a text is too
    long, SessionLockedError when another window writes, and StorageError when the store cannot save.
    """

    def __init__(
        self, store: Store, writer: Writer, runner: Runner, follower: Follower, clock: Clock, backoff: float
    ) -> None:
        self._store = store
        self._writer = writer
        self._runner = runner
        self._follower = follower
        self._clock = clock
        self._backoff = backoff

    @property
    def id(self) -> SessionId:
        """The session's id."""
        return self._writer.snapshot.session.id

    @property
    def snapshot(self) -> Snapshot:
        """The session as it is stored."""
        return self._writer.snapshot

    @property
    def holder(self) -> Holder | None:
        """Who writes here, if it is another window."""
        return self._writer.holder

    @property
    def is_read_only(self) -> bool:
        """Whether another window writes."""
        return self._writer.lease is None

    def can(self, command: Command) -> bool:
        """Whether `command` is possible now: what a screen enables."""
        snapshot = self.snapshot
        open_replies = sum(
            1 for request in snapshot.requests if request.kind is RequestKind.REPLY and request.state.is_open
        )
        facts = facts_of(snapshot.session, snapshot.tab1, open_replies=open_replies)
        return not self.is_read_only and is_allowed(snapshot.session.state, command, facts)

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

    async def lock(self) -> RequestId:
        """Lock tab 1 and begin the first summary."""
        return await self._ask(lambda snapshot: commands.lock(snapshot, self._clock()))

    async def submit_prompt(self, slot: Slot, text: str) -> RequestId:
        """Send a prompt to the character in `slot`, or queue it behind what runs."""
        return await self._ask(lambda snapshot: commands.submit_prompt(snapshot, slot, text, self._clock()))

    async def take_back(self, request_id: RequestId) -> None:
        """Take a queued prompt back, or give up a failed one; its text is in its composer."""
        await self._writer.apply(lambda snapshot: commands.take_back(snapshot, request_id, self._clock()))
        self._runner.wake()

    async def cancel(self, request_id: RequestId) -> None:
        """Stop a request: with a model, it is settled as a failure; queued, it is taken back."""
        if self._runner.cancel(request_id):
            return
        await self.take_back(request_id)

    async def retry(self, request_id: RequestId) -> RequestId:
        """Try a failed request again."""
        request = commands.find_request(self.snapshot, request_id)
        if request.state is not RequestState.FAILED:
            raise IllegalCommandError("That call has not failed; there is nothing to retry.")
        match request.kind:
            case RequestKind.LOCK:
                return await self.lock()
            case RequestKind.REPLY:
                return await self.submit_prompt(request.slot or Slot.RED, request.text)
            case RequestKind.SUMMARY:
                await self._writer.apply(lambda snapshot: commands.retry_summary(snapshot, self._clock()))
                self._runner.wake()
                return request_id
            case RequestKind.NARRATIVE:
                return await self.build_narrative()

    async def end_chapter(self) -> None:
        """End the chapter, after a last summary if one is needed."""
        await self._writer.apply(lambda snapshot: commands.end_chapter(snapshot, self._clock()))
        self._runner.wake()

    async def define_narrative(self, text: str, target_words: int | None) -> None:
        """Store the definition of the narrative agent."""
        await self._writer.apply(
            lambda snapshot: commands.define_narrative(snapshot, text, target_words, self._clock())
        )

    async def build_narrative(self) -> RequestId:
        """Build a new draft; earlier ones stay."""
        return await self._ask(lambda snapshot: commands.build_narrative(snapshot, self._clock()))

    async def reset(self) -> SessionId:
        """Archive this session and start a new one in its place; return its id (design 5)."""
        await self._stop_everything()
        resting = self.snapshot.session
        self._require(Command.RESET)
        now = self._clock()
        resetting = replace(resting, state=SessionState.RESETTING, updated_at=now)
        await self._writer.apply(lambda _: Changes(session_id=resting.id, session=resetting))
        fresh = commands.new_session(now, session_id=SessionId(new_uuid()))
        await self._store.create(fresh)
        # Archived as it stood, so that it can be restored and played on.
        archived = replace(resting, archived_at=now, updated_at=now)
        await self._writer.apply(lambda _: Changes(session_id=resting.id, session=archived))
        self._writer.listeners.publish(SessionReplaced(fresh.session_id))
        return fresh.session_id

    async def events(self, *, first: int = 1, last: int | None = None) -> Sequence[Event]:
        """Return the events of prompts `first` to `last`."""
        return await self._store.events(self.id, first=first, last=last)

    async def newest_events(self) -> Sequence[Event]:
        """Return the newest events: enough of them to fill the transcript's window."""
        return await self._store.newest_events(self.id, self.snapshot.session.limits.transcript)

    async def drafts(self) -> Sequence[NarrativeDraft]:
        """Return every draft, oldest version first."""
        return await self._store.drafts(self.id)

    async def wait(self, request_id: RequestId) -> Request:
        """Return the request once it is settled; at once when it already is."""
        for request in self.snapshot.requests:
            if request.id == request_id:
                if not request.state.is_open:
                    return request
                return await self._writer.settled(request)
        stored = {request.id: request for request in await self._store.requests(self.id)}
        return stored[request_id]

    async def wait_idle(self) -> None:
        """Return when no request is open."""
        while open_requests := [request for request in self.snapshot.requests if request.state.is_open]:
            await self._writer.settled(open_requests[0])

    async def take_over(self) -> bool:
        """Become the writer if the other window is gone; return whether this one writes now."""
        if not self.is_read_only:
            return True
        taken = await self._store.acquire(self.id, self._writer.label)
        if isinstance(taken, Holder):
            self._writer.holder = taken
            return False
        await self.begin_writing(taken)
        self._writer.listeners.publish(WriterChanged(None))
        return True

    async def begin_writing(self, lease: Lease) -> None:
        """Mend what a crash left, and work through what is pending."""
        await self._follower.aclose()
        self._writer.lease, self._writer.holder = lease, None
        self._writer.snapshot = await self._store.load(self.id)
        mended = recover(self._writer.snapshot, self._clock(), self._backoff)
        if mended is not None:
            await self._writer.apply(lambda _: mended)
        self._runner.start()

    def begin_following(self) -> None:
        """Follow along, read-only."""
        self._follower.start()

    async def aclose(self) -> None:
        """Stop what runs, settle it, and give the writer's lock back."""
        await self._runner.aclose()
        await self._follower.aclose()
        self._writer.listeners.close()
        if self._writer.lease is not None:
            await self._writer.lease.aclose()
            self._writer.lease = None

    async def _ask(self, decide: commands.Ask) -> RequestId:
        """Store a new request; when nothing runs it begins in the same transaction."""
        asked: list[RequestId] = []

        def changes(snapshot: Snapshot) -> Changes:
            made, request_id = decide(snapshot)
            asked.append(request_id)
            after = snapshot.after(made)
            following = next_request(after)
            if not self._runner.is_idle or following is None or following.id != request_id:
                return made
            return replace(
                made,
                requests=tuple(
                    commands.begin(request, self._clock()) if request.id == request_id else request
                    for request in made.requests
                ),
            )

        await self._writer.apply(changes)
        self._runner.wake()
        return asked[-1]

    async def _stop_everything(self) -> None:
        for request in self.snapshot.requests:
            if request.state is RequestState.PENDING and request.kind is RequestKind.REPLY:
                await self.take_back(request.id)
        async with asyncio.timeout(LONGEST_STOP):
            while running := [r for r in self.snapshot.requests if r.state.is_open]:
                settled = self._writer.settled(running[0])
                self._runner.cancel(running[0].id)
                self._runner.wake()
                await settled

    def _require(self, command: Command) -> None:
        if not self.can(command):
            raise IllegalCommandError("The chapter cannot be reset now; try again in a moment.")
