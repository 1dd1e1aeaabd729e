"""Requests JSON from a model, and a correction when it does not validate (design 7)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from core.agents.answers.json_output import InvalidMemoryError, ParsedMemory
from core.agents.context_builder import Context, repair_context
from core.config.models.model_config import ModelConfig
from core.domain.errors import ErrorCode, StoryEngineError
from core.engine.kinds.base import Calls
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class _Try(Generic[Found]):
    """The result of one call; `problems` are those that the model can be asked to correct."""

    made: Found | Failed
    call_records: CallRecords
    text: str = ""
    problems: tuple[str, ...] = ()

    @property
    def rejected(self) -> CallRecords:
        """The call records, with the problems as the error of the call."""
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
    first = await _try(context, calls, read, choice, faults_of)
    if not first.problems:
        return first.made, first.call_records
    again = repair_context(context, first.text, first.problems)
    second = await _try(again, calls, read, choice, faults_of)
    if isinstance(second.made, Failed):
        last = second.rejected if second.problems else second.call_records
        is_cancelled = second.made.error.code is ErrorCode.LLM_CANCELLED
        if not isinstance(first.made, Failed) and not is_cancelled:
            return first.made, first.call_records + last
        return second.made, first.rejected + last
    return second.made, first.rejected + second.call_records


async def _try(
    context: Context,
    calls: Calls,
    read: Callable[[str], Found],
    choice: ModelConfig | None,
    faults_of: Callable[[Found], tuple[str, ...]] | None,
) -> _Try[Found]:
    result = await calls.make(context, choice)
    if result.error is not None:
        return _Try(Failed(result.error, result.retry_after), result.call_records)
    if result.finish_reason == "length":
        error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
        return _Try(Failed(error), result.call_records.marked(error))
    try:
        made = read(result.text)
    except InvalidMemoryError as invalid:
        error = StoryEngineError(ErrorCode.LLM_INVALID_JSON)
        return _Try(Failed(error), result.call_records, result.text, invalid.problems)
    return _Try(made, result.call_records, result.text, faults_of(made) if faults_of else ())
