"""A request has the fields of its kind, and no others."""

from typing import Any
from uuid import UUID

import pytest

from core.domain.audience import Audience
from core.domain.ids import RequestId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import RequestRecord
from core.domain.requests.request_kinds import KIND_SPECS, Level, RequestKind
from core.domain.slot import Slot
from core.engine.kinds.registry import handler_of
from tests.core.values.sessions import NOW, SESSION_ID

"""Kinds whose handlers are still to come."""
OWN: dict[RequestKind, dict[str, Any]] = {
    RequestKind.LOCK: {},
    RequestKind.REPLY: {"slot": Slot.RED, "text": "And now?", "prompts": PromptRange(3, 3)},
    RequestKind.SUMMARY: {"prompts": PromptRange(1, 7)},
    RequestKind.NARRATIVE: {},
    RequestKind.TEST: {},
    RequestKind.ASSIST: {"text": "Shorter.", "model": "spare:m"},
    RequestKind.AFTERTHOUGHT: {
        "slot": Slot.RED,
        "prompts": PromptRange(3, 3),
        "audience": Audience.of([Slot.RED]),
    },
    RequestKind.HEARTBEAT: {"slot": Slot.RED, "text": "2", "prompts": PromptRange(3, 3)},
    RequestKind.GAPS: {"text": "Mira"},
    RequestKind.EMBEDDING: {},
    RequestKind.CEREMONY: {"slot": Slot.RED, "text": "Mira"},
    RequestKind.CONDENSE: {"prompts": PromptRange(1, 28), "audience": Audience.of([Slot.RED])},
    RequestKind.EXTRACTION: {
        "text": "1.1.0 1.1.1",
        "prompts": PromptRange(1, 7),
        "audience": Audience.of([Slot.RED]),
    },
}


def record(kind: RequestKind, **fields: Any) -> RequestRecord:
    return RequestRecord(
        id=RequestId(UUID(int=1)), session_id=SESSION_ID, kind=kind, created_at=NOW, updated_at=NOW, **fields
    )


@pytest.mark.parametrize("kind", RequestKind)
def test_a_request_of_each_kind_is_read_as_it_was_written(kind: RequestKind) -> None:
    written = record(kind, attempts=2, error_message="No.", **OWN[kind])
    request = written.request()
    assert request.kind is kind
    assert request.spec is KIND_SPECS[kind]
    assert request.priority == KIND_SPECS[kind].priority
    assert RequestRecord.of(request) == written


def test_the_priority_that_is_stored_counts_and_not_that_of_the_kind_today() -> None:
    assert record(RequestKind.LOCK).request(priority=7).order[0] == 7


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (RequestKind.REPLY, {"text": "To nobody"}),
        (RequestKind.LOCK, {"text": "x"}),
        (RequestKind.LOCK, {"slot": Slot.RED}),
        (RequestKind.TEST, {"prompts": PromptRange(1, 2)}),
        (RequestKind.NARRATIVE, {"prompts": PromptRange(1, 2)}),
        (RequestKind.SUMMARY, {}),
        (RequestKind.SUMMARY, {"prompts": PromptRange(1, 7), "text": "x"}),
        (RequestKind.EXTRACTION, {"text": "1.1.0"}),
        (RequestKind.CONDENSE, {}),
    ],
)
def test_a_field_of_another_kind_or_one_that_is_missing_is_refused(
    kind: RequestKind, fields: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="a call"):
        record(kind, **fields).request()


def test_every_kind_but_a_test_call_has_a_handler() -> None:
    for kind, own in OWN.items():
        request = record(kind, **own).request()
        if kind is RequestKind.TEST:
            with pytest.raises(ValueError, match="never queued"):
                handler_of(request)
        else:
            assert handler_of(request)


@pytest.mark.parametrize(
    ("priority", "level"),
    [(-1, "high"), (0, "high"), (40, "high"), (99, "high"), (100, "normal"), (200, "low"), (9_999, "low")],
)
def test_the_stored_priority_says_how_urgent_a_request_is(priority: int, level: str) -> None:
    assert Level.of(priority) == level
    assert [Level.of(level.first) for level in Level] == list(Level)


def test_every_kind_of_the_play_is_urgent_and_work_beside_the_play_is_not() -> None:
    for spec in KIND_SPECS.values():
        assert (Level.of(spec.priority) is Level.HIGH) is not spec.is_background
