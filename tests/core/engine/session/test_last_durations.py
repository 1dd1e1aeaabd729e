"""How long a kind of work took last time: of this chapter, else of those played last."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import pytest

from core.domain.errors import ErrorCode
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import Artifact
from core.domain.session.session import SessionSummary
from core.domain.session.session_state import SessionState
from core.engine.session.session_reader import (
    MAX_SESSIONS_SCANNED,
    NEWEST,
    find_last_duration,
    last_duration,
)
from core.storage.session_store import SessionStore
from tests.core.engine.decisions.test_transitions import a_trail
from tests.core.rooms.simulation import active
from tests.core.values.sessions import NOW, SESSION_ID

pytestmark = pytest.mark.anyio


def a_call(work: int, total_ms: int | None = 1_000, **changes: Any) -> Artifact:
    """A call of agent 1 with the model `m` for a piece of work."""
    simulation = active()
    simulation.submit("One")
    [artifact] = a_trail(simulation).artifacts
    return replace(artifact, request_id=RequestId(UUID(int=work)), total_ms=total_ms, **changes)


def other(number: int, *, is_readable: bool = True) -> SessionSummary:
    return SessionSummary(
        id=SessionId(UUID(int=number)),
        title="",
        state=SessionState.ACTIVE,
        prompt_index=0,
        draft_count=0,
        updated_at=NOW,
        archived_at=None,
        is_readable=is_readable,
    )


class Chapters:
    """The calls of several chapters, listed as they were played last."""

    def __init__(self, calls: dict[SessionId, list[Artifact]], listed: Sequence[SessionSummary] = ()) -> None:
        self.chapters, self.calls, self._calls = self, self, calls
        self._listed = listed

    async def listed(self) -> Sequence[SessionSummary]:
        return self._listed

    async def artifacts(self, session_id: SessionId, *, agent_id: int, newest: int) -> Sequence[Artifact]:
        return self._calls.get(session_id, [])[-newest:]


async def found(calls: dict[SessionId, list[Artifact]], *listed: SessionSummary) -> float | None:
    return await find_last_duration(cast("SessionStore", Chapters(calls, listed)), SESSION_ID, 1, "m")


def test_the_newest_work_counts_in_seconds_with_all_its_calls() -> None:
    calls = [a_call(1, 9_000), a_call(2, 1_000), a_call(2, 500)]
    assert last_duration(calls, 1, "m") == 1.5
    assert last_duration([], 1, "m") is None


@pytest.mark.parametrize(
    "newest",
    [
        [a_call(2, error_code=ErrorCode.LLM_ERROR)],
        [a_call(2, attempt=2)],
        [a_call(2, model="another")],
        [a_call(2, None)],
        [a_call(2), a_call(2, None)],
        [a_call(2, agent_id=8)],
    ],
    ids=["failed", "tried again", "another model", "without a time", "half without", "another agent"],
)
def test_what_tells_nothing_leaves_what_was_known_before(newest: list[Artifact]) -> None:
    assert last_duration([a_call(1, 7_000), *newest], 1, "m") == 7.0


async def test_this_chapter_goes_before_others_and_those_played_last_before_the_rest() -> None:
    mine, first, second = SESSION_ID, other(11), other(12)
    others = {first.id: [a_call(1, 2_000)], second.id: [a_call(1, 3_000)]}
    assert await found({mine: [a_call(1, 1_000)], **others}, first, second) == 1.0
    assert await found(others, first, second) == 2.0
    assert await found(others, second, first) == 3.0
    assert await found({}, first) is None


async def test_five_other_chapters_are_looked_at_and_none_that_cannot_be_read() -> None:
    assert MAX_SESSIONS_SCANNED == 5
    unknown = [other(number) for number in range(20, 24)]
    known = {other(30).id: [a_call(1, 4_000)]}
    assert await found(known, *unknown, other(30)) == 4.0
    assert await found(known, *unknown, other(24), other(30)) is None
    assert await found(known, *unknown, other(24, is_readable=False), other(30)) == 4.0
    assert await found(known, other(30, is_readable=False)) is None


async def test_work_whose_first_calls_were_not_read_does_not_count() -> None:
    assert NEWEST == 64
    whole = [a_call(1, 9_000)] * (NEWEST - 1)
    assert await found({SESSION_ID: whole}) == 9.0 * (NEWEST - 1)
    cut = [a_call(1, 9_000)] * NEWEST
    assert await found({SESSION_ID: cut}) is None
    assert await found({SESSION_ID: [*cut, a_call(2, 1_000)]}) == 1.0
    newer = [a_call(2, 1_000)] * (NEWEST - 1)
    assert await found({SESSION_ID: [a_call(1, 9_000), *newer]}) == NEWEST - 1
