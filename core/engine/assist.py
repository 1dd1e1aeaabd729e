"""Help with a text of the GM's own: one call outside the story, with full provenance (design 17).

It is made at once and beside what runs, for the GM waits for it, and stored with its outcome.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from core.agents import assist
from core.agents.assist import Asked, Proposal
from core.agents.context_builder import ContextBuilder
from core.agents.prompt_file import SEGMENTS
from core.config.models import AgentRole
from core.context.segments import Context
from core.domain.clock import Clock
from core.domain.errors import ErrorCode, SessionLockedError, StoryEngineError
from core.domain.ids import RequestId, new_uuid
from core.domain.requests.request import AssistRequest, RequestState
from core.engine.sync.session_writer import SessionWriter
from core.gateway.model_gateway import CallResult, Cancellation, ModelGateway
from core.snapshot import Changes
from core.text.cleaning import clean
from core.text.repetition import Source, first_repeated

SETTLE_TIMEOUT_SECONDS = 5.0
"""Seconds to store a stopped call when the session is closed."""


class Assist:
    """Makes proposals for one session."""

    def __init__(
        self, writer: SessionWriter, builder: ContextBuilder, gateway: ModelGateway, clock: Clock
    ) -> None:
        self._writer = writer
        self._builder = builder
        self._gateway = gateway
        self._clock = clock
        self._running: dict[asyncio.Task[Proposal], Cancellation] = {}

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._gateway.model_label(self._gateway.choices[AgentRole.NARRATIVE])

    def new(self, failed: AssistRequest | None = None) -> AssistRequest:
        """Return the request of a proposal, or that of one that failed for another attempt.

        It is stored with its outcome.
        """
        if failed is not None:
            return replace(failed, attempts=failed.attempts + 1)
        now = self._clock()
        return AssistRequest(
            id=RequestId(new_uuid()),
            session_id=self._writer.snapshot.session.id,
            state=RequestState.DONE,
            attempts=1,
            created_at=now,
            updated_at=now,
        )

    async def propose(
        self, request: AssistRequest, asked: Asked, cancellation: Cancellation, on_text: Callable[[str], None]
    ) -> Proposal:
        """Return a proposal; `on_text` receives the answer as it streams, cleaned.

        Raises SessionLockedError where another window writes, and StoryEngineError where nothing can be
        proposed or the call failed; what it cost is stored in any case.
        """
        if self._writer.lease is None:
            raise SessionLockedError()
        assist.require_possible(asked)
        # A task of its own: a dialog that is closed ends its worker, and the call is stored all the same.
        task = asyncio.create_task(self._propose(request, asked, cancellation, on_text), name="assist")
        self._running[task] = cancellation
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Proposal]) -> None:
        self._running.pop(task, None)
        if not task.cancelled():
            task.exception()  # Read, or asyncio warns where its caller is gone.

    async def _propose(
        self, request: AssistRequest, asked: Asked, cancellation: Cancellation, on_text: Callable[[str], None]
    ) -> Proposal:
        snapshot = self._writer.snapshot
        choice = self._gateway.choices[AgentRole.NARRATIVE]
        choice = replace(choice, max_output_tokens=min(assist.MOST_OUTPUT, choice.max_output_tokens))
        context = self._builder.assist(snapshot.session, snapshot.tab1, asked, choice)
        result = await self._gateway.call(context, choice, request, 1, cancellation, on_text)
        records = result.call_records
        try:
            made: Proposal | StoryEngineError = _read(context, asked, result)
        except StoryEngineError as error:
            made = error
        if isinstance(made, Proposal):
            records = records.noting(made.cut)
        elif result.error is None:
            records = records.marked(made)
        settled = _settled(request, made, self._clock())
        await self._writer.apply_patiently(
            lambda _: Changes(
                session_id=request.session_id,
                requests=(settled,),
                artifacts=records.artifacts,
                contents=records.contents,
            )
        )
        if isinstance(made, Proposal):
            return made
        raise made

    async def aclose(self) -> None:
        """Stop what runs, and store it."""
        for cancellation in self._running.values():
            cancellation.request()
        if self._running:
            await asyncio.wait(list(self._running), timeout=SETTLE_TIMEOUT_SECONDS)


def _read(context: Context, asked: Asked, result: CallResult) -> Proposal:
    """Return the proposal of a call; raises StoryEngineError for one that is of no use."""
    if result.error is not None:
        raise result.error
    is_unfinished = result.finish_reason == "length"
    made = assist.read_proposal(asked, result.text, is_unfinished=is_unfinished, style=context.style)
    prompt = [
        Source("an example or a rule of its prompt", segment.text)
        for segment in context.segments
        if segment.name in SEGMENTS
    ]
    repeated = first_repeated(made.text, prompt)
    if repeated is not None:
        raise StoryEngineError(
            ErrorCode.LLM_ERROR,
            f"The proposal only repeats {repeated.what}; try again.",
        )
    return made


def _settled(request: AssistRequest, made: Proposal | StoryEngineError, now: datetime) -> AssistRequest:
    """Return the request as it is stored; a failed one is cancelled, because only the GM retries it."""
    if isinstance(made, Proposal):
        return replace(request, state=RequestState.DONE, error_code=None, error_message="", updated_at=now)
    return replace(
        request,
        state=RequestState.CANCELLED,
        error_code=made.code,
        error_message=clean(str(made)),
        updated_at=now,
    )
