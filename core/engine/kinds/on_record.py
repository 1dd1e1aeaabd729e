"""Answers that are on record: what was paid for is not asked for again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from core.config.models.model_config import ModelConfig
from core.context.segments import Context
from core.domain.errors import ErrorCode
from core.domain.ids import SessionId
from core.domain.requests.request import Artifact, Request
from core.domain.session.session import Session
from core.gateway.call_records import CallRecords
from core.gateway.model_call import input_hash, model_request
from core.gateway.model_gateway import CallResult
from core.storage.call_store import CallStore


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer that is on record; one that is not accepted was shown to its author to be corrected."""

    text: str
    model: str
    finish_reason: str
    is_accepted: bool

    @property
    def result(self) -> CallResult:
        """The answer as the result of a call that is on record already."""
        return CallResult(self.text, self.model, None, CallRecords(), self.finish_reason)


@dataclass(frozen=True, slots=True)
class AnswersOnRecord:
    """The answers to earlier attempts of a request, or to all requests of its kind in a chapter.

    The latter where the input says all about an answer that the GM wants: the same chunk, summarised or read
    before.
    """

    _calls: CallStore
    _request: Request
    _chapters: tuple[SessionId, ...] = ()
    used: list[Artifact] = field(default_factory=list)
    """The calls whose answers were taken."""

    def in_chapter(self, session: Session) -> "AnswersOnRecord":
        """Return the answers to all requests of the kind in a chapter and in the one that it branches off."""
        return replace(self, _chapters=tuple(filter(None, (session.branched_from, session.id))))

    async def to(self, context: Context, choice: ModelConfig) -> EarlierAnswer | None:
        """Return the newest answer to exactly this input that can be read or corrected; None without any.

        None too where an outcome that was made of such an answer was refused by the store since.
        """
        request = self._request
        if request.attempts <= 1 and not self._chapters:
            return None
        asked = input_hash(model_request(context, choice))
        made: list[Artifact] = []
        for chapter in self._chapters:
            made += await self._calls.artifacts(chapter, kind=request.kind, input_hash=asked)
        if not self._chapters:
            made += await self._calls.artifacts(request.session_id, request_id=request.id, input_hash=asked)
        return await self._newest(made)

    async def accepted(self, context: Context, choice: ModelConfig) -> EarlierAnswer | None:
        """Return the newest answer to exactly this input, if it was accepted."""
        answer = await self.to(context, choice)
        return answer if answer is not None and answer.is_accepted else None

    async def _newest(self, made: Sequence[Artifact]) -> EarlierAnswer | None:
        for call in reversed(made):
            if call.error_code is ErrorCode.STORAGE_SAVE_FAILED:
                return None
            if call.output_ref is not None and call.error_code in (None, ErrorCode.LLM_INVALID_JSON):
                texts = await self._calls.contents(call.session_id, [call.output_ref])
                self.used.append(call)
                text, is_accepted = texts[call.output_ref], call.error_code is None
                return EarlierAnswer(text, call.model, call.finish_reason, is_accepted)
        return None
