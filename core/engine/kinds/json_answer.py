"""Requests JSON from a model, and a correction when it does not validate (design 7)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from core.agents.answers.json_output import InvalidMemoryError, ParsedMemory, is_whole
from core.agents.context_builder import Context, repair_context
from core.config.models.model_config import ModelConfig
from core.domain.errors import ErrorCode, StoryEngineError
from core.engine.kinds.base import Calls
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Tried(Generic[Found]):
    """The result of one call; `problems` are those that the model can be asked to correct."""

    made: Found | Failed
    call_records: CallRecords
    text: str = ""
    problems: tuple[str, ...] = ()

    @property
    def rejected(self) -> CallRecords:
        """The call records, with the problems as the error of the call, if there are any."""
        if not self.problems:
            return self.call_records
        return self.call_records.marked(
            StoryEngineError(ErrorCode.LLM_INVALID_JSON), "; ".join(self.problems)
        )


async def make_memory(
    context: Context, calls: Calls, parse: Callable[[str], ParsedMemory], choice: ModelConfig | None = None
) -> tuple[ParsedMemory | Failed, CallRecords]:
    """Return validated memory, as `make_json`; what is valid but too long is requested once more too."""
    return await make_json(context, calls, parse, choice, lambda made: made.too_long)


async def make_json(
    context: Context,
    calls: Calls,
    read: Callable[[str], Found],
    choice: ModelConfig | None = None,
    faults_of: Callable[[Found], tuple[str, ...]] | None = None,
) -> tuple[Found | Failed, CallRecords]:
    """Return what is read in an answer after one call, or after a second one that shows the model its errors.

    An answer with faults that can be used as it is, is kept if the second call fails.
    """

    async def read_now(text: str) -> Found:
        return read(text)

    tries = [one async for one in answers(context, calls, read_now, choice, faults_of)]
    first, second = tries[0], tries[-1]
    if second is first:
        return first.made, first.call_records
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
) -> AsyncIterator[Tried[Found]]:
    """Yield the result of a call, and, if it has problems, that of a second one that shows them to the model.

    The second call is made when the caller asks for it, who may store the first answer before.
    """
    first = await _try(context, calls, read, choice, faults_of)
    yield first
    if first.problems:
        again = repair_context(context, first.text, first.problems)
        yield await _try(again, calls, read, choice, faults_of)


async def _try(
    context: Context,
    calls: Calls,
    read: Callable[[str], Awaitable[Found]],
    choice: ModelConfig | None,
    faults_of: Callable[[Found], tuple[str, ...]] | None,
) -> Tried[Found]:
    result = await calls.make(context, choice)
    if result.error is not None:
        return Tried(Failed(result.error, result.retry_after), result.call_records)
    if result.finish_reason == "length" and not is_whole(result.text):
        error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
        return Tried(Failed(error), result.call_records.marked(error))
    try:
        made = await read(result.text)
    except InvalidMemoryError as invalid:
        error = StoryEngineError(ErrorCode.LLM_INVALID_JSON)
        return Tried(Failed(error), result.call_records, result.text, invalid.problems)
    return Tried(made, result.call_records, result.text, faults_of(made) if faults_of else ())
