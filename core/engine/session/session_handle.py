"""The commands of the GM on a session that is open in this window."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial

from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import (
    BackgroundRequest,
    LockRequest,
    NarrativeRequest,
    ReplyRequest,
    Request,
    SummaryRequest,
    TestCallRequest,
)
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.engine.changes.absences import paused_in_library, slots_of
from core.engine.decisions import commands
from core.engine.decisions.transitions import time_of_service
from core.engine.kinds.test_call import record_of_test_call
from core.engine.queue.queue_commands import NOT_FAILED, begun_with
from core.engine.scene.scene import Scene
from core.engine.services.bank.bank import Bank
from core.engine.services.bank.keeping import BankKeeping, EarlierItems
from core.engine.services.takes.takes import OpenTakes
from core.engine.session.engine_parts import EngineParts
from core.engine.session.open_session import OpenSession
from core.engine.session.reset import apply_when_idle, reset_session
from core.engine.session.session_edits import OpenSessionEdits
from core.engine.session.session_reader import SessionReader
from core.engine.sync.notifications import BankChanged
from core.engine.sync.session_writer import SessionWriter
from core.engine.sync.subscriptions import Listener
from core.gateway.model_gateway import CallResult
from core.storage.changes import Changes
from core.storage.session_store import written_elsewhere
from core.storage.snapshot import Snapshot


class SessionHandle(OpenSession):
    """Commands in, notifications out. Every command is durable when it returns.

    Commands raise IllegalCommandError when the state refuses, LimitExceededError when a text is too
    long, SessionLockedError when another window writes, and StorageError when the store cannot save.
    """

    def __init__(self, writer: SessionWriter, parts: EngineParts) -> None:
        super().__init__(writer, parts)
        self.reads = SessionReader(writer.store, self.id)
        self.edits = OpenSessionEdits(writer, self._builder)
        self.earlier = EarlierItems(writer)
        self.keeping = BankKeeping(writer, self.background, self.vectors.ask_for_items)
        self.takes = OpenTakes(writer, self._worker, self._ask)
        self.scene = Scene(writer, self._builder, writer.clock)
        self._apply_when_idle = partial(apply_when_idle, writer, self.cancel)

    def listen(self) -> AbstractContextManager[Listener]:
        """Return a context with a listener for every notification from now on."""
        return self._writer.listeners.listen()

    async def newest_canon(self, *, known_to: Slot | None = None) -> Sequence[Event]:
        """Return the newest events of the story, or those that a character witnessed, for the transcript."""
        length = self.snapshot.session.limits.transcript
        return await self._store.newest_canon(self.id, length, known_to=known_to)

    @cached_property
    def bank(self) -> Bank:
        """The GM's commands on the items of this chapter; made on first use."""
        told = partial(self._writer.listeners.publish, BankChanged())
        return Bank(self._store.bank, self.id, self._clock, self._writing, told, self.vectors.ask_for_items)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        self._writer.require_writer()
        yield

    async def wait(self, request_id: RequestId) -> Request:
        """Wait until a request is settled and return it.

        Raises SessionLockedError when another window becomes the writer meanwhile, IllegalCommandError when
        the session is closed before or has no such request.
        """
        for request in self.snapshot.requests:
            if request.id == request_id:
                return await self._writer.waiters.wait(request_id) if request.state.is_open else request
        stored = {request.id: request for request in await self._store.calls.requests(self.id)}
        if request_id not in stored:
            raise IllegalCommandError("There is no such call in this chapter.")
        return stored[request_id]

    async def wait_idle(self) -> None:
        """Return when no request is open."""
        while open_requests := self.snapshot.open_requests:
            await self._writer.waiters.wait(open_requests[0].id)

    async def create_save_point(self, occasion: str) -> None:
        """Create an automatic save point before the current state is replaced."""
        await self._auto_saver.create_now(occasion)

    async def lock(self) -> RequestId:
        """Lock tab 1 and begin the first summary."""
        paused = await paused_in_library(self._store.library, self.snapshot, self._clock())
        return await self._ask(lambda snapshot: commands.lock(snapshot, self._clock(), paused))

    async def paused(self) -> frozenset[Slot]:
        """Return the slots that would be away if the chapter were locked now: paused in the library."""
        paused = await paused_in_library(self._store.library, self.snapshot, self._clock())
        return slots_of(self.snapshot.tab1, paused) & frozenset(self.snapshot.session.slots)

    async def submit_prompt(
        self,
        slot: Slot,
        text: str,
        *,
        heard_by: Audience | None = None,
        then: Sequence[Slot] = (),
        is_typed: bool = True,
    ) -> RequestId:
        """Send a prompt to the character in `slot`, or queue it; those in `then` answer after that one.

        Those present hear it, or those in `heard_by`; all who are called always do.
        `is_typed` says that the text is the content of the slot's composer, which is cleared; otherwise the
        composer keeps its other text.
        """
        await self.end_pauses()
        return await self._ask(
            lambda snapshot: commands.submit_prompt(
                snapshot, slot, text, self._clock(), heard_by=heard_by, then=then, is_typed=is_typed
            )
        )

    def time_of_service(self, request: Request) -> datetime | None:
        """Return the time before which the service asked not to receive a failed request again."""
        return time_of_service(request, self._worker.backoffs)

    async def withdraw(self, request_id: RequestId) -> None:
        """Withdraw a queued or failed prompt; its text is in its composer."""
        await self._writer.apply(lambda snapshot: commands.withdraw(snapshot, request_id, self._clock()))

    async def cancel(self, request_id: RequestId) -> None:
        """Stop a running request, which fails, or withdraw a queued one."""
        self._writer.require_writer()
        if isinstance(commands.find_request(self.snapshot, request_id), BackgroundRequest):
            await self.background.stop(request_id)
        elif not self._worker.cancel(request_id):
            await self.withdraw(request_id)

    async def retry(self, request_id: RequestId) -> RequestId:
        """Retry a failed request, or work that waits for its next try; return the id of the new attempt.

        A prompt is sent again once, however often it is asked for.
        """
        request = commands.find_request(self.snapshot, request_id)
        if not (request.has_failed or request.spec.is_background):
            raise IllegalCommandError(NOT_FAILED)
        match request:
            case LockRequest():
                return await self.lock()
            case ReplyRequest(prompts=PromptRange()):
                return await self.takes.ask_again(request)
            case ReplyRequest(slot=slot, text=text, audience=audience, then=then):
                await self.end_pauses()
                return await self._ask(
                    commands.once(
                        request_id,
                        lambda snapshot: commands.submit_prompt(
                            snapshot, slot, text, self._clock(), heard_by=audience, then=then, is_typed=False
                        ),
                    )
                )
            case SummaryRequest():
                await self._writer.apply(
                    lambda snapshot: commands.retry_summary(snapshot, self._clock(), request_id)
                )
                return request_id
            case NarrativeRequest():
                return await self.build_narrative(viewpoint=request.viewpoint)
            case BackgroundRequest():
                await self.background.retry(request_id)
                return request_id
            case TestCallRequest():
                raise ValueError("a test call is given up as soon as it has failed")

    async def record_test_call(self, test: TestCallRequest, result: CallResult) -> None:
        """Store the provenance of a test call, which was paid for: it outlives an unreachable store."""
        self._writer.require_writer()
        await self._writer.apply_paid(lambda _: record_of_test_call(test, result, self._clock()))

    async def end_chapter(self) -> None:
        """End the chapter, after a last summary if one is needed."""
        await self._writer.apply(lambda snapshot: commands.end_chapter(snapshot, self._clock()))

    async def build_narrative(self, *, viewpoint: Slot | None = None) -> RequestId:
        """Build a new draft, from a character's viewpoint if one is given; earlier ones stay."""
        return await self._ask(
            lambda snapshot: commands.build_narrative(snapshot, self._clock(), viewpoint=viewpoint)
        )

    async def reset(self) -> SessionId:
        """Archive this session, close it, and start a new one in its place; return its id (design 5)."""
        self._writer.require_writer()
        new_id = await reset_session(self._writer, self._apply_when_idle, self.create_save_point)
        await self.aclose()
        return new_id

    async def archive(self) -> None:
        """Stop all requests and archive this session; it can be restored unchanged.

        Raises SessionLockedError when another window writes; takes over from one that is gone.
        """
        if not await self.take_over():
            raise written_elsewhere(self.holder)
        await self._apply_when_idle(
            lambda snapshot: Changes(
                session_id=self.id, session=replace(snapshot.session, archived_at=self._clock())
            )
        )

    async def _ask(self, decide: commands.Ask) -> RequestId:
        """Store a new request, which begins in the same transaction if nothing runs and nothing is paused."""
        asked: list[RequestId] = []

        def changes(snapshot: Snapshot) -> Changes:
            made, request_id = decide(snapshot)
            asked.append(request_id)
            return made if self._worker.is_paused else begun_with(snapshot, made, self._clock())

        await self._writer.apply(changes)
        return asked[-1]
