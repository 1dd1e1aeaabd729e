"""The handler of every kind of request; a new kind is added here and in `KIND_SPECS`."""

from collections.abc import Mapping
from typing import Any, Final

from core.domain.requests.request import Request
from core.domain.requests.request_kinds import RequestKind
from core.engine.kinds.assist import AssistHandler
from core.engine.kinds.bank.embedding import EmbeddingHandler
from core.engine.kinds.bank.extraction import ExtractionHandler
from core.engine.kinds.base import KindHandler
from core.engine.kinds.cast.handler import CastHandler
from core.engine.kinds.memory.condense import CondenseHandler
from core.engine.kinds.memory.lock import LockHandler
from core.engine.kinds.memory.summary import SummaryHandler
from core.engine.kinds.narrative import NarrativeHandler
from core.engine.kinds.speaking.afterthought import AfterthoughtHandler, HeartbeatHandler
from core.engine.kinds.speaking.reply import ReplyHandler

_HANDLERS: Final[Mapping[RequestKind, KindHandler[Any, Any]]] = {
    RequestKind.LOCK: LockHandler(),
    RequestKind.REPLY: ReplyHandler(),
    RequestKind.SUMMARY: SummaryHandler(),
    RequestKind.NARRATIVE: NarrativeHandler(),
    RequestKind.ASSIST: AssistHandler(),
    RequestKind.AFTERTHOUGHT: AfterthoughtHandler(),
    RequestKind.HEARTBEAT: HeartbeatHandler(),
    RequestKind.GAPS: CastHandler(),
    RequestKind.CEREMONY: CastHandler(),
    RequestKind.CONDENSE: CondenseHandler(),
    RequestKind.EMBEDDING: EmbeddingHandler(),
    RequestKind.EXTRACTION: ExtractionHandler(),
}


def handler_of(request: Request) -> KindHandler[Any, Any]:
    """Return the handler of a request; raise ValueError for a test call, which is never queued."""
    if request.kind not in _HANDLERS:
        raise ValueError(f"a {request.kind} request is never queued")
    return _HANDLERS[request.kind]
