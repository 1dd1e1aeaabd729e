"""Vectors that were made batch after batch are one row of the history, and no agent is named for them."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from textual.widgets import DataTable

from core.domain.errors import ErrorCode
from core.domain.prompt_range import PromptRange
from core.domain.requests.cost import Cost
from core.domain.requests.request import (
    Artifact,
    LockRequest,
    NarrativeRequest,
    ReplyRequest,
    Request,
    SummaryRequest,
    Usage,
)
from core.domain.requests.request_kinds import KIND_SPECS, RequestKind
from core.domain.slot import Slot
from core.gateway.embedding_records import EMBEDDING_VERSION
from storyengine_tui.screens.calls.history_view import PROMPT_WIDTH
from storyengine_tui.screens.calls.inputs import call_rows, call_runs
from storyengine_tui.screens.calls.inputs.call_rows import CallRow, calls_of, facts_of, prompt_of
from storyengine_tui.screens.calls.inputs.call_runs import CallRun, runs_of
from storyengine_tui.screens.calls.inputs.call_screen import CallScreen
from tests.core.rooms.simulation import active
from tests.engine.queue.test_background import work
from tests.tui.engine_app import Desktop, screen_text, until
from tests.tui.screens.calls.test_calls_screen import artifact, listing, rows

NONE: frozenset[int] = frozenset()


def vectors(**values: Any) -> Artifact:
    usage = Usage(100, None)
    made = {"agent_id": 8, "prompt_version": EMBEDDING_VERSION, "model": "embed-1", "usage": usage}
    return artifact(8, **{**made, "first_token_ms": None, **values})


def newest_first(artifacts: Sequence[Artifact]) -> list[CallRow]:
    return calls_of(artifacts, [])[::-1]


def numbers(runs: Sequence[CallRun]) -> list[list[int]]:
    return [[call.number for call in run.calls] for run in runs]


def test_vectors_without_another_call_between_them_are_one_row_until_it_is_opened() -> None:
    calls = newest_first(
        [artifact(0), vectors(), vectors(), artifact(1), vectors(), artifact(2), artifact(2)]
    )
    assert numbers(runs_of(calls, NONE)) == [[7], [6], [5], [4], [3, 2], [1]]
    assert numbers(runs_of(calls, frozenset({2}))) == [[7], [6], [5], [4], [3], [2], [1]]
    assert numbers(runs_of(newest_first([vectors(), vectors(model="embed-2")]), NONE)) == [[2], [1]]


def test_the_row_of_several_calls_has_their_sums_and_says_how_many_failed() -> None:
    bill = Cost(amount=Decimal("0.25"), source="list")
    failed = vectors(usage=Usage(), error_code=ErrorCode.LLM_TIMEOUT, cost=bill)
    [run] = runs_of(newest_first([vectors(cost=bill), failed, vectors(cost=bill)]), NONE)
    assert (call_runs.tokens_of(run), call_runs.first_of(run)) == ("200 → –", "–")
    assert (call_runs.cost_of(run), call_runs.outcome_of(run)) == ("$0.75", "1 of 3 failed")
    [run] = runs_of(newest_first([vectors(), vectors()]), NONE)
    assert call_runs.outcome_of(run) == "2 calls"


def test_a_call_for_vectors_is_shown_without_an_agent_and_as_one_that_was_made() -> None:
    [call] = newest_first([vectors(call=0)])
    facts = facts_of(call, active().snapshot.session)
    assert facts.splitlines()[0].endswith(" · attempt 1")
    assert facts.startswith("Embedding · ")
    assert "Context Summary" not in facts


@pytest.mark.parametrize(
    ("kind", "row", "said"),
    [
        (RequestKind.AFTERTHOUGHT, "3", "afterthought, prompt 3"),
        (RequestKind.HEARTBEAT, "hint", "heartbeat, no part of the story"),
    ],
)
def test_what_a_character_adds_is_told_with_the_number_of_its_prompt(
    kind: RequestKind, row: str, said: str
) -> None:
    simulation = active()
    session = simulation.snapshot.session
    request = replace(work(session.id), kind=kind, prompts=PromptRange(3, 3))
    call = CallRow(1, artifact(1), request)
    assert prompt_of(call) == row
    assert f" · {said} · " in facts_of(call, session).splitlines()[0]


def test_a_call_is_told_with_its_prompts_or_with_its_work() -> None:
    session = active().snapshot.session
    base = work(session.id)
    same: dict[str, Any] = {
        name: getattr(base, name) for name in ("id", "session_id", "state", "created_at", "updated_at")
    }
    told: dict[Request, str] = {
        SummaryRequest(prompts=PromptRange(1, 7), **same): "summary, prompts 1–7",
        ReplyRequest(slot=Slot.RED, text="Go.", **same): "reply",
        ReplyRequest(slot=Slot.RED, text="Go.", prompts=PromptRange(3, 3), **same): "reply, prompt 3",
        NarrativeRequest(**same): "the chapter as text",
        LockRequest(**same): "lock",
    }
    for request, said in told.items():
        assert f" · {said} · " in facts_of(CallRow(1, artifact(1), request), session).splitlines()[0]


def test_no_word_for_a_call_is_cut_off_in_its_column() -> None:
    assert not [spec.word for spec in KIND_SPECS.values() if len(spec.word) > PROMPT_WIDTH]


@pytest.mark.anyio
async def test_a_long_name_of_a_model_does_not_touch_the_word_after_it(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_rows, "prompt_of", lambda _: "vector")
    async with listing(desktop, [vectors(model="scripted-vectors")]) as (pilot, screen):
        await until(pilot, lambda: rows(screen))
        assert " scripted… vector " in screen_text(pilot.app)


@pytest.mark.anyio
async def test_the_prompts_of_a_late_summary_are_not_cut_off(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = str(PromptRange(1_288, 1_294))
    monkeypatch.setattr(call_rows, "prompt_of", lambda _: late)
    async with listing(desktop, [artifact(1)]) as (pilot, screen):
        await until(pilot, lambda: rows(screen))
        assert f" {late} " in screen_text(pilot.app)
        assert rows(screen)[0][-1] in screen_text(pilot.app)


@pytest.mark.anyio
async def test_enter_takes_a_row_of_vectors_apart_and_then_shows_a_call(
    desktop: Desktop,
) -> None:
    made = [artifact(0), *(vectors() for _ in range(509)), artifact(1)]
    async with listing(desktop, made) as (pilot, screen):
        listed = rows(screen)
        assert [row[0] for row in listed] == ["511", "510", "1"]
        assert (listed[1][1], listed[1][4], listed[1][6]) == ("Embedding", "50,900 → –", "509 calls")
        table = screen.query_one(DataTable)
        await pilot.press("down", "enter")
        await until(pilot, lambda: table.row_count > 3)
        assert table.cursor_row == 1
        assert [row[0] for row in rows(screen)[:3]] == ["511", "510", "509"]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, CallScreen))
