"""How each kind of request is carried out: context, call, check, one repair for JSON (design 6 and 7)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from core.agents import character, context_summary, world_lock
from core.agents.context_builder import Context, ContextBuilder, repair_context
from core.agents.json_output import InvalidMemoryError, ParsedMemory
from core.config.models import AgentRole, ModelAssignments, PromptStyle
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.request import Request, RequestKind
from core.engine.outcome import CallRecords, Failed, LockMade, Outcome, ReplyMade, SummaryMade, failure_of
from core.engine.queue.model_call import Caller, CallResult, Cancellation
from core.engine.queue.narrative_job import Narrator, Save
from core.engine.sync.notifications import CallStarted, Notification, StreamRestarted, TextArrived
from core.store import Snapshot, Store

Publish = Callable[[Notification], None]
Parse = Callable[[str], ParsedMemory]


class Executor:
    """Carries out requests of one session, one at a time."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        builder: ContextBuilder,
        choices: ModelAssignments,
        save: Save,
    ) -> None:
        self._caller = caller
        self._builder = builder
        self._choices = choices
        self._narrator = Narrator(store, builder, choices[AgentRole.NARRATIVE], save)

    async def run(
        self, snapshot: Snapshot, request: Request, cancellation: Cancellation, publish: Publish
    ) -> tuple[Outcome, CallRecords]:
        """Return what came of `request`, with the provenance that is still to be stored.

        Raises:
            StorageError: The store cannot be read or written on the way.
            StoryEngineError: `LLM_CONTEXT_OVERFLOW`; what is to be sent cannot be made to fit.
        """
        calls = _Calls(self._caller, self._choices, request, cancellation, publish)
        try:
            return await self._carried_out(snapshot, request, calls)
        except Exception as stumble:
            # What was answered was paid for, whatever goes wrong with it here; a narrative stores it itself.
            if request.kind is RequestKind.NARRATIVE or not calls.call_records.artifacts:
                raise
            error = failure_of(stumble, f"request {request.id}")
            return Failed(error), calls.call_records.marked(error)

    def needs_room(self, snapshot: Snapshot, request: Request) -> bool:
        """Whether a prompt can be sent only with what is not in memory yet shortened."""
        if request.slot is None:
            return False
        try:
            context = self._builder.character(
                snapshot.session,
                snapshot.tab1,
                snapshot.blocks,
                snapshot.recent,
                request.slot,
                request.text,
            )
        except StoryEngineError:
            return False  # No summary makes enough room; the prompt's own try tells the GM.
        return context.is_shortened

    async def _carried_out(
        self, snapshot: Snapshot, request: Request, calls: "_Calls"
    ) -> tuple[Outcome, CallRecords]:
        match request.kind:
            case RequestKind.LOCK:
                return await self._lock(snapshot, calls)
            case RequestKind.REPLY:
                return await self._reply(snapshot, request, calls)
            case RequestKind.SUMMARY:
                return await self._summary(snapshot, request, calls)
            case RequestKind.NARRATIVE:
                return await self._narrator.run(snapshot, request, calls.make)
            case RequestKind.TEST:
                raise ValueError("a test call is never queued")
            case _:
                assert_never(request.kind)

    async def _lock(self, snapshot: Snapshot, calls: "_Calls") -> tuple[Outcome, CallRecords]:
        self._builder.require_room(snapshot.session, snapshot.tab1)
        context = self._builder.world_lock(snapshot.session, snapshot.tab1)
        style = calls.style_of(context)
        made, call_records = await _memory(
            context, calls, lambda text: world_lock.parse(text, snapshot.session, style)
        )
        return (made if isinstance(made, Failed) else LockMade(made.payload, made.json_text)), call_records

    async def _reply(
        self, snapshot: Snapshot, request: Request, calls: "_Calls"
    ) -> tuple[Outcome, CallRecords]:
        if request.slot is None:
            raise ValueError("a reply belongs to a slot")
        session = snapshot.session
        context = self._builder.character(
            session, snapshot.tab1, snapshot.blocks, snapshot.recent, request.slot, request.text
        )
        result = await calls.make(context)
        if result.error is not None:
            return Failed(result.error, result.retry_after), result.call_records
        is_unfinished = result.finish_reason == "length"
        text, call_records = result.text, result.call_records
        if calls.style_of(context) is PromptStyle.SMALL:
            text, cut = character.trim_small_reply(text, is_unfinished=is_unfinished)
            call_records = call_records.noting(cut)
        elif is_unfinished:
            error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
            return Failed(error), call_records.marked(error)
        try:
            return ReplyMade(character.clean_reply(text, session.name_of(request.slot))), call_records
        except StoryEngineError as error:
            return Failed(error), call_records.marked(error)

    async def _summary(
        self, snapshot: Snapshot, request: Request, calls: "_Calls"
    ) -> tuple[Outcome, CallRecords]:
        chunk = request.prompts
        if chunk is None:
            raise ValueError("a summary covers prompts")
        events = [event for event in snapshot.recent if event.prompt_index in chunk]
        session = snapshot.session
        chunk = self._builder.fitting_chunk(session, snapshot.blocks, chunk, events)
        context = self._builder.summary(session, snapshot.blocks, chunk, events)
        length = len(context_summary.chunk_text(session, chunk, events))
        style = calls.style_of(context)
        made, call_records = await _memory(
            context, calls, lambda text: context_summary.parse(text, session, chunk, length, style)
        )
        if isinstance(made, Failed):
            return made, call_records
        return SummaryMade(made.payload, made.json_text, chunk), call_records


class _Calls:
    """The calls of one attempt, numbered from 1, with their notices."""

    def __init__(
        self,
        caller: Caller,
        choices: ModelAssignments,
        request: Request,
        cancellation: Cancellation,
        publish: Publish,
    ) -> None:
        self._caller = caller
        self._choices = choices
        self._request = request
        self._cancellation = cancellation
        self._publish = publish
        self._trail = CallRecords()
        self._count = 0

    @property
    def call_records(self) -> CallRecords:
        """The provenance of every call so far."""
        return self._trail

    def style_of(self, context: Context) -> PromptStyle:
        """Whether the model that answers is the very small one."""
        return self._choices.of(context.role, context.agent_id).style

    async def make(self, context: Context) -> CallResult:
        """Make the next call of this attempt."""
        self._count += 1
        choice = self._choices.of(context.role, context.agent_id)
        if self._count > 1 and context.role is not AgentRole.NARRATIVE:
            self._publish(StreamRestarted(self._request.id))
        self._publish(
            CallStarted(
                self._request,
                context.agent_id,
                self._caller.answering(choice.model),
                self._count,
                context.left_out,
                self._caller.is_local,
            )
        )
        result = await self._caller.call(
            context,
            choice,
            self._request,
            self._count,
            self._cancellation,
            lambda text: self._publish(TextArrived(self._request.id, text)),
        )
        self._trail += result.call_records
        return result


@dataclass(frozen=True, slots=True)
class _Try:
    """What one call for memory gave; `problems` is what the model can be asked to correct."""

    made: ParsedMemory | Failed
    call_records: CallRecords
    text: str = ""
    problems: tuple[str, ...] = ()

    @property
    def rejected(self) -> CallRecords:
        """The trail, with the problems as the error of its call."""
        return self.call_records.marked(
            StoryEngineError(ErrorCode.LLM_INVALID_JSON), "; ".join(self.problems)
        )


async def _memory(context: Context, calls: _Calls, parse: Parse) -> tuple[ParsedMemory | Failed, CallRecords]:
    """Get JSON that validates: one call, and one more that shows the model its error (design 7).

    Memory that is valid but too long is asked for once more too, and kept when no other comes of it.
    """
    first = await _try(context, calls, parse)
    if not first.problems:
        return first.made, first.call_records
    second = await _try(repair_context(context, first.text, first.problems), calls, parse)
    if isinstance(second.made, Failed):
        last = second.rejected if second.problems else second.call_records
        is_cancelled = second.made.error.code is ErrorCode.LLM_CANCELLED
        if isinstance(first.made, ParsedMemory) and not is_cancelled:
            return first.made, first.call_records + last
        return second.made, first.rejected + last
    return second.made, first.rejected + second.call_records


async def _try(context: Context, calls: _Calls, parse: Parse) -> _Try:
    result = await calls.make(context)
    if result.error is not None:
        return _Try(Failed(result.error, result.retry_after), result.call_records)
    if result.finish_reason == "length":
        error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
        return _Try(Failed(error), result.call_records.marked(error))
    try:
        made = parse(result.text)
    except InvalidMemoryError as invalid:
        error = StoryEngineError(ErrorCode.LLM_INVALID_JSON)
        return _Try(Failed(error), result.call_records, result.text, invalid.problems)
    return _Try(made, result.call_records, result.text, made.too_long)
