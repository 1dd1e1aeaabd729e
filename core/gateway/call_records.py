"""The provenance of the calls of one attempt, before it is stored (design 4)."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from core.context.lore import NOTE_ROLE, NOTES, notes_text
from core.context.segments import Context
from core.context.window import WINDOW_NOTES, notes_of
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import ArtifactId, new_uuid
from core.domain.requests.request import (
    NO_TOKENS,
    Artifact,
    BackgroundRequest,
    Content,
    ReplyRequest,
    Request,
    Usage,
)
from core.text.cleaning import clean

log = logging.getLogger(__name__)

UNKNOWN_CALL: Final = 0
"""The number of the artifact of an attempt that made no call, or whose call is unknown."""
_NOTHING_KNOWN: Final = Content.of("[]")
BUG: Final = (
    "Something in the program went wrong with this call; nothing is lost, retry, and please report the log."
)


@dataclass(frozen=True, slots=True)
class CallRecords:
    """The provenance of the calls that led to an outcome and are not stored yet."""

    artifacts: tuple[Artifact, ...] = ()
    contents: tuple[Content, ...] = field(default_factory=tuple)
    used: tuple[Artifact, ...] = ()
    """Calls that are stored already, whose answers the outcome was made of."""
    last_number: int = 0
    """That of the last call of the attempt, which may be stored already."""

    def __add__(self, other: "CallRecords") -> "CallRecords":
        return CallRecords(self.artifacts + other.artifacts, self.contents + other.contents)

    def marked(self, error: StoryEngineError, message: str = "") -> "CallRecords":
        """Return the records with the last artifact, if any, marked as failed by an error in the answer."""
        if not self.artifacts:
            return self
        *before, last = self.artifacts
        failed = replace(last, error_code=error.code, error_message=message or error.message)
        return CallRecords((*before, failed), self.contents)

    def refused(self, request: Request, error: StoryEngineError, now: datetime) -> "CallRecords":
        """Return the records of an outcome that can never be stored: none of its answers is used again.

        Those that are stored already get a mark each, which is the newest record with their input.
        """
        own = tuple(
            replace(one, error_code=error.code, error_message=error.message)
            if one.error_code is None and one.call != UNKNOWN_CALL
            else one
            for one in self.artifacts
        )
        nothing = records_without_call(request, error, now)
        [blank] = nothing.artifacts
        hashes = dict.fromkeys(one.input_hash for one in self.used)
        marks = tuple(
            replace(blank, id=ArtifactId(new_uuid()), call=call, input_hash=hash, usage=NO_TOKENS)
            for call, hash in enumerate(hashes, start=self.last_number + 1)
        )
        if not (own or marks):
            return nothing
        return CallRecords((*own, *marks), (*self.contents, *nothing.contents))

    def accepted(self) -> "CallRecords":
        """Return the records with their last artifact as that of a call that went well."""
        *before, last = self.artifacts
        good = replace(last, error_code=None, error_message="")
        return CallRecords((*before, good), self.contents)

    def noting(self, left_out: Sequence[str]) -> "CallRecords":
        """Return the records with a note on the last artifact, if any, of the omitted parts."""
        if not self.artifacts:
            return self
        *before, last = self.artifacts
        return CallRecords((*before, replace(last, left_out=(*last.left_out, *left_out))), self.contents)


def failure_of(error: BaseException, what: str) -> StoryEngineError:
    """Return the error to show for one that ended `what`; a bug is logged, and has its own sentence."""
    if isinstance(error, StoryEngineError):
        return error
    log.error("%s failed by a bug", what, exc_info=error)
    return StoryEngineError(ErrorCode.LLM_ERROR, BUG)


def agent_of(request: Request) -> int:
    """Return the id of the agent, or of the character, that a request is carried out by."""
    slot = request.slot if isinstance(request, ReplyRequest | BackgroundRequest) else None
    return slot or request.spec.role.agent_id or 0


def records_without_call(
    request: Request, error: StoryEngineError, now: datetime, query: CallRecords | None = None
) -> CallRecords:
    """Return the provenance of an attempt that failed without a call: every attempt is on record.

    `query` is that of the query for its input, if one was made: it has the number of an unknown call.
    """
    query = query or CallRecords()
    artifact = Artifact(
        id=ArtifactId(new_uuid()),
        session_id=request.session_id,
        request_id=request.id,
        attempt=request.attempts,
        call=UNKNOWN_CALL + len(query.artifacts),
        agent_id=agent_of(request),
        provider="",
        model="",
        prompt_version="",
        input_hash=_NOTHING_KNOWN.hash,
        input_ref=_NOTHING_KNOWN.hash,
        output_ref=None,
        usage=NO_TOKENS if query.artifacts else Usage(),
        error_code=error.code,
        error_message=clean(error.message),
        created_at=now,
    )
    return query + CallRecords((artifact,), (_NOTHING_KNOWN,))


def input_contents(context: Context) -> tuple[Content, tuple[Content, ...]]:
    """Return the manifest of an input and its parts.

    Each segment is a content of its own, so that one that repeats from call to call is stored once. Behind
    them come notes on lore and on shortened parts, if there are any, which are not sent.
    """
    parts = [Content.of(segment.text) for segment in context.segments]
    manifest = [
        [segment.role, segment.name, part.hash] for segment, part in zip(context.segments, parts, strict=True)
    ]
    for name, note in ((NOTES, notes_text(context.lore)), (WINDOW_NOTES, notes_of(context.segments))):
        if note:
            parts.append(Content.of(note))
            manifest.append([NOTE_ROLE, name, parts[-1].hash])
    return Content.of(json.dumps(manifest, separators=(",", ":"))), tuple(parts)
