"""Requests JSON from a model, and a correction when it does not validate (design 7)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from core.agents.answers.json_output import InvalidMemoryError, ParsedMemory, is_whole
from core.agents.context_builder import Context, repair_context
from core.config.models.model_config import ModelConfig
from core.domain.errors import ErrorCode, StoryEngineError
from core.engine.kinds.base import Calls
from core.engine.kinds.on_record import AnswersOnRecord
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords
from core.gateway.model_gateway import CallResult

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Tried(Generic[Found]):
    """Holds an answer or a failure; `problems` are those that the model can be asked to correct.

    One that is on record from before has no call records. `is_last` is whether no other is asked for.
    """

    made: Found | Failed
    call_records: CallRecords
    text: str = ""
    problems: tuple[str, ...] = ()
    is_last: bool = True

    @property
    def rejected(self) -> CallRecords:
        """The call records, with the problems as the error of the call, if there are any."""
        if not self.problems:
            return self.call_records
        return self.call_records.marked(
            StoryEngineError(ErrorCode.LLM_INVALID_JSON), "; ".join(self.problems)
        )


async def make_memory(
    context: Context,
    calls: Calls,
    parse: Callable[[str], ParsedMemory],
    choice: ModelConfig | None = None,
    on_record: AnswersOnRecord | None = None,
) -> tuple[ParsedMemory | Failed, CallRecords]:
    """Return validated memory, as `make_json`; what is valid but too long is requested once more too."""
    return await make_json(context, calls, parse, choice, lambda made: made.too_long, on_record)


async def make_json(
    context: Context,
    calls: Calls,
    read: Callable[[str], Found],
    choice: ModelConfig | None = None,
    faults_of: Callable[[Found], tuple[str, ...]] | None = None,
    on_record: AnswersOnRecord | None = None,
) -> tuple[Found | Failed, CallRecords]:
    """Return what is read in an answer after one call, or after a second one that shows the model its errors.

    An answer with faults that can be used as it is, is kept if the second call fails.
    """

    async def read_now(text: str) -> Found:
        return read(text)

    tries: list[Tried[Found]] = []
    async for one in answers(context, calls, read_now, choice, faults_of, on_record):
        tries.append(one)
        if isinstance(one.made, Failed) and not one.is_last:
            await calls.keep(one.rejected)  # it was paid for, whatever becomes of the second call
    first, second = tries[0], tries[-1]
    if second is first:
        return first.made, first.rejected if isinstance(first.made, Failed) else first.call_records
    if isinstance(second.made, Failed):
        is_cancelled = second.made.error.code is ErrorCode.LLM_CANCELLED
        if not isinstance(first.made, Failed) and not is_cancelled:
            return first.made, first.call_records + second.rejected
        return second.made, first.rejected + second.rejected
    return second.made, first.rejected + second.call_records


async def answers(
    context: Context,
    calls: Calls,
    read: Callable[[str], Awaitable[Found]],
    choice: ModelConfig | None = None,
    faults_of: Callable[[Found], tuple[str, ...]] | None = None,
    on_record: AnswersOnRecord | None = None,
) -> AsyncIterator[Tried[Found]]:
    """Yield the result of a call, and, if it has problems, that of a second one that shows them to the model.

    The second call is made when the caller asks for it, who may store the first answer before. An answer that
    is `on_record`, or else with those of earlier attempts, is not asked for again, unless both are rejected.
    """
    asking = _Asking(calls, read, choice, faults_of, on_record or calls.on_record)
    earlier = await asking.recorded(context)
    if earlier is not None:
        if not earlier.problems:
            yield earlier
            return
        again = repair_context(context, earlier.text, earlier.problems)
        corrected = await asking.recorded(again)
        if corrected is None:
            yield replace(earlier, is_last=False)
            yield await asking.call(again)
            return
        if not corrected.problems:
            yield corrected
            return
    first = await asking.call(context)
    yield replace(first, is_last=not first.problems)
    if first.problems:
        yield await asking.call(repair_context(context, first.text, first.problems))


@dataclass(frozen=True, slots=True)
class _Asking(Generic[Found]):
    """The way to an answer, the same for an input and for its repair."""

    calls: Calls
    read: Callable[[str], Awaitable[Found]]
    choice: ModelConfig | None
    faults_of: Callable[[Found], tuple[str, ...]] | None
    on_record: AnswersOnRecord

    async def recorded(self, asked: Context) -> Tried[Found] | None:
        """Return what the answer on record says; one that was rejected for its faults has them still."""
        earlier = await self.on_record.to(asked, self.choice or self.calls.config_of(asked))
        if earlier is None:
            return None
        tried = await self._tried(earlier.result)
        is_rejected = isinstance(tried.made, Failed) or not earlier.is_accepted
        return tried if is_rejected else replace(tried, problems=())

    async def call(self, asked: Context) -> Tried[Found]:
        """Return what the answer to a call says."""
        result = await self.calls.make(asked, self.choice)
        if result.error is not None:
            return Tried(Failed(result.error, result.retry_after), result.call_records)
        if result.finish_reason == "length" and not is_whole(result.text):
            error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
            return Tried(Failed(error), result.call_records.marked(error))
        return await self._tried(result)

    async def _tried(self, result: CallResult) -> Tried[Found]:
        try:
            made = await self.read(result.text)
        except InvalidMemoryError as invalid:
            error = StoryEngineError(ErrorCode.LLM_INVALID_JSON)
            return Tried(Failed(error), result.call_records, result.text, invalid.problems)
        faults = self.faults_of(made) if self.faults_of else ()
        return Tried(made, result.call_records, result.text, faults)
