"""Requests that a restored backup lacks, made again for calls of theirs that were paid for.

A call is stored with its request. A prompt comes back as one that failed, where the chapter can still ask it:
its text returns to its panel, and the answer can be kept as the reply. Any other request is settled.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from core.domain.errors import ErrorCode
from core.domain.ids import RequestId, SessionId
from core.domain.requests.removed import PROMPT_REMOVED, WORK_REMOVED, can_ask_again
from core.domain.requests.request import RequestState, TestCallRequest
from core.domain.requests.request_kinds import KIND_SPECS, RequestKind
from core.domain.session.session_state import SessionState
from core.text.composer_text import joined, without
from db.rows.mapping import request_values
from db.rows.row_mapping import Values
from db.tables import LLM_ARTIFACT, LLM_REQUEST, UNSENT_TEXT
from db.writes.commit_statement import as_json

FIND: Final = """
SELECT state, slots,
    ARRAY(SELECT request_id FROM llm_request WHERE session_id = %(id)s AND request_id = ANY (%(asked)s)),
    (SELECT jsonb_object_agg(slot, text) FROM unsent_text WHERE session_id = %(id)s)
FROM session WHERE id = %(id)s
"""
"""Finds those of the requests `asked` that a chapter has, and facts that decide which can come back."""
_IN_NO_PLACE: Final = {"from_prompt": None, "to_prompt": None, "retry_after": None}


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter as it is now: its state, its characters, its requests of those looked for, its panels."""

    state: SessionState
    slots: Collection[int]
    requests: Collection[UUID]
    unsent: Mapping[str, str]

    @classmethod
    def of(cls, state: str, slots: list[int], requests: list[UUID], unsent: Any) -> "Chapter":
        """Return the chapter of a row of `FIND`."""
        return cls(SessionState(state), slots, requests, unsent or {})

    def can_ask(self, request: Values) -> bool:
        """Whether a prompt can be sent again as it was."""
        is_prompt = request["kind"] == RequestKind.REPLY and not (request["follows"] or request["continues"])
        return is_prompt and can_ask_again(self.state, self.slots, {request["slot"], *request["then_slots"]})

    def can_have(self, request: Values) -> bool:
        """Whether a request that is about no prompt can be among its settled ones."""
        kind = RequestKind(request["kind"])
        is_of_prompts = kind in (RequestKind.REPLY, RequestKind.SUMMARY)
        return not is_of_prompts and (KIND_SPECS[kind].may_precede_lock or not self.state.is_unlocked)


def asked_by(parameters: Mapping[str, object]) -> list[UUID]:
    """Return the requests of the calls in a commit."""
    return sorted({UUID(call["request_id"]) for call in _rows(parameters, LLM_ARTIFACT.name)})


def removed_requests(
    session_id: SessionId, parameters: Mapping[str, object], chapter: Chapter
) -> dict[str, object]:
    """Return the parameters of a commit that store the requests again which its calls lack; none of none."""
    calls = {UUID(call["request_id"]): call for call in _rows(parameters, LLM_ARTIFACT.name)}
    kept = {UUID(one["request_id"]): one for one in _rows(parameters, LLM_REQUEST.name)}
    made: list[Values] = []
    texts: dict[int, str] = {}
    for request_id in sorted(calls.keys() - set(chapter.requests)):
        request = kept.get(request_id)
        if request is not None and chapter.can_ask(request):
            made.append(_marked(request, RequestState.FAILED, PROMPT_REMOVED))
            slot = request["slot"]
            texts[slot] = _with(request["text"], texts.get(slot, chapter.unsent.get(str(slot), "")))
        elif request is not None and chapter.can_have(request):
            made.append({**_marked(request, RequestState.CANCELLED, WORK_REMOVED), "slot": None})
        else:
            made.append(_of_no_kind(session_id, request_id, calls[request_id]))
    unsent = [{"session_id": session_id, "slot": slot, "text": text} for slot, text in texts.items()]
    rows = {LLM_REQUEST.name: made, UNSENT_TEXT.name: unsent}
    return {name: as_json(values) for name, values in rows.items() if values}


def _marked(request: Values, state: RequestState, message: str) -> Values:
    said = {"state": state, "error_code": ErrorCode.STORAGE_SAVE_FAILED, "error_message": message}
    return {**request, **_IN_NO_PLACE, **said}


def _of_no_kind(session_id: SessionId, request_id: UUID, call: Values) -> Values:
    """Return a settled test call: a request of any other kind has places that the chapter lacks."""
    at = datetime.fromisoformat(call["created_at"])
    settled = TestCallRequest(
        id=RequestId(request_id),
        session_id=session_id,
        state=RequestState.CANCELLED,
        attempts=call["attempt"],
        error_code=ErrorCode.STORAGE_SAVE_FAILED,
        error_message=WORK_REMOVED,
        created_at=at,
        updated_at=at,
    )
    return dict(request_values(settled))


def _with(text: str, typed: str) -> str:
    return typed if without(typed, text) is not None else joined(text, typed)


def _rows(parameters: Mapping[str, object], name: str) -> list[Values]:
    return list(json.loads(str(parameters.get(name, "[]"))))
