"""Asks the questions of one extraction, and stores each answer at once.

So an attempt after a crash, or after it made room for the play, goes on with the next question: an answer to
the same input is not asked for again.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from core.agents.answers.json_output import InvalidMemoryError
from core.config.models.model_config import ModelConfig
from core.context.segments import Context, repair_context
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import BackgroundRequest
from core.engine.changes.moves import provenance
from core.engine.kinds.base import Job
from core.engine.kinds.earlier_answers import EarlierAnswer
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords
from core.gateway.model_gateway import input_hash, model_request

Found = TypeVar("Found")
Reading = Callable[[str], Awaitable[tuple[Found, tuple[str, ...]]]]
"""Parses an answer; returns its findings, and notes for the GM on its unused parts."""


class NoAnswerError(Exception):
    """A call failed, or its answer cannot be used; `failed` and `call_records` are the outcome."""

    def __init__(self, failed: Failed, call_records: CallRecords) -> None:
        super().__init__(failed.error)
        self.failed = failed
        self.call_records = call_records


@dataclass(eq=False)
class Asking:
    """The calls of one attempt; `earlier` are the answers of those before it."""

    _job: Job
    _request: BackgroundRequest
    _choice: ModelConfig
    _earlier: Mapping[str, EarlierAnswer]
    _is_on_record = False

    async def ask(self, context: Context, read: Reading[Found]) -> Found:
        """Return what an answer says; one that cannot be read is shown to its author once.

        Raises NoAnswerError.
        """
        earlier = self._earlier.get(input_hash(model_request(context, self._choice)))
        if earlier is not None:
            found, _ = await read(earlier.text)
            return found
        for is_last in (False, True):
            result = await self._job.calls.make(context, self._choice)
            records = result.call_records
            if result.error is not None:
                raise self._without(result.error, records, result.retry_after)
            if result.finish_reason == "length":
                error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
                raise self._without(error, records.marked(error))
            try:
                found, notes = await read(result.text)
            except InvalidMemoryError as invalid:
                error = StoryEngineError(ErrorCode.LLM_INVALID_JSON)
                records = records.marked(error, "; ".join(invalid.problems))
                if is_last:
                    raise self._without(error, records) from invalid
                await self._store(records)
                context = repair_context(context, result.text, invalid.problems)
            else:
                await self._store(records.noting(notes))
                return found
        raise AssertionError("the second answer ends it")

    async def _store(self, records: CallRecords) -> None:
        await self._job.save(lambda _: provenance(self._request, records))
        self._is_on_record = True

    def _without(
        self, error: StoryEngineError, records: CallRecords, retry_after: float | None = None
    ) -> NoAnswerError:
        return NoAnswerError(Failed(error, retry_after, is_on_record=self._is_on_record), records)
