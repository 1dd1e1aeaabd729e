"""What came of a request, before it is settled."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from core.agents import context_summary, narrative, world_lock
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import ArtifactId, BlockId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.request import Artifact, Content, Request, RequestKind
from core.text.cleaning import clean

log = logging.getLogger(__name__)

UNKNOWN_CALL = 0
"""The number of the artifact of an attempt that made no call, or whose call is unknown."""
_NOTHING_KNOWN = Content.of("[]")
_AGENTS = {
    RequestKind.LOCK: world_lock.AGENT_ID,
    RequestKind.SUMMARY: context_summary.AGENT_ID,
    RequestKind.NARRATIVE: narrative.AGENT_ID,
}
BUG = "Something in the program went wrong with this call; nothing is lost, retry, and please report the log."


@dataclass(frozen=True, slots=True)
class LockMade:
    """Agent 0's memory validated; the fields are those of `MemoryBlock`."""

    payload: Mapping[str, object]
    json_text: str = ""


@dataclass(frozen=True, slots=True)
class ReplyMade:
    """A character answered."""

    text: str


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """Agent 8's delta validated; the fields are those of `MemoryBlock`.

    `prompts` are those that it covers, None for all that were asked for.
    """

    payload: Mapping[str, object]
    json_text: str = ""
    prompts: PromptRange | None = None


@dataclass(frozen=True, slots=True)
class NarrativeMade:
    """The chapter's prose, whole, and what shaped it."""

    text: str
    model: str
    definition: str
    target_words: int | None
    block_ids: tuple[BlockId, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable answer; `retry_after` is in seconds, where the service named a time."""

    error: StoryEngineError
    retry_after: float | None = None


Outcome = LockMade | ReplyMade | SummaryMade | NarrativeMade | Failed


@dataclass(frozen=True, slots=True)
class CallRecords:
    """The provenance of the calls that led to an outcome and are not stored yet."""

    artifacts: tuple[Artifact, ...] = ()
    contents: tuple[Content, ...] = field(default_factory=tuple)

    def __add__(self, other: "CallRecords") -> "CallRecords":
        return CallRecords(self.artifacts + other.artifacts, self.contents + other.contents)

    def marked(self, error: StoryEngineError, message: str = "") -> "CallRecords":
        """Return the trail with its last artifact marked as failed by what was found in the answer."""
        *before, last = self.artifacts
        failed = replace(last, error_code=error.code, error_message=message or error.message)
        return CallRecords((*before, failed), self.contents)

    def noting(self, left_out: Sequence[str]) -> "CallRecords":
        """Return the trail with a note on its last artifact of what was left out."""
        *before, last = self.artifacts
        return CallRecords((*before, replace(last, left_out=(*last.left_out, *left_out))), self.contents)


def failure_of(error: BaseException, what: str) -> StoryEngineError:
    """Return what the GM hears of an error that ended `what`; a bug is logged, and has its own sentence."""
    if isinstance(error, StoryEngineError):
        return error
    log.error("%s failed by a bug", what, exc_info=error)
    return StoryEngineError(ErrorCode.LLM_ERROR, BUG)


def trail_without_call(request: Request, error: StoryEngineError, now: datetime) -> CallRecords:
    """Return the provenance of an attempt that failed without a call: every attempt is on record."""
    artifact = Artifact(
        id=ArtifactId(new_uuid()),
        session_id=request.session_id,
        request_id=request.id,
        attempt=request.attempts,
        call=UNKNOWN_CALL,
        agent_id=_AGENTS.get(request.kind, int(request.slot or 0)),
        provider="",
        model="",
        prompt_version="",
        input_hash=_NOTHING_KNOWN.hash,
        input_ref=_NOTHING_KNOWN.hash,
        output_ref=None,
        error_code=error.code,
        error_message=clean(error.message),
        created_at=now,
    )
    return CallRecords((artifact,), (_NOTHING_KNOWN,))
