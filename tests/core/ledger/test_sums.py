"""What calls cost together: the parts make up the whole, and what is unknown is never nothing."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import count
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import ArtifactId, RequestId
from core.domain.prompt_range import PromptRange
from core.domain.requests.cost import LOCAL, Cost
from core.domain.requests.request import (
    Artifact,
    NarrativeRequest,
    ReplyRequest,
    Request,
    SummaryRequest,
    Usage,
)
from core.domain.slot import Slot
from core.gateway.call_records import CallRecords, records_without_call
from core.ledger.sums import By, LedgerEntry, Sum, cost_text, dollars, entries_of, sum_of, sums_by, total_text
from tests.core.values.sessions import NOW, SESSION_ID, session

IDS = count(1)


def call(
    cost: Cost | None,
    *,
    agent: int = 1,
    request: Request | None = None,
    error: ErrorCode | None = None,
    at: datetime = NOW,
    provider: str = "openai",
) -> Artifact:
    return Artifact(
        id=ArtifactId(UUID(int=next(IDS))),
        session_id=SESSION_ID,
        request_id=request.id if request else RequestId(UUID(int=1)),
        attempt=1,
        call=1,
        agent_id=agent,
        provider=provider,
        model="a-model",
        prompt_version="character@1",
        input_hash="",
        input_ref="",
        output_ref=None if error else "hash",
        usage=Usage() if error else Usage(input_tokens=10, output_tokens=5),
        error_code=error,
        cost=cost,
        created_at=at,
    )


def known(amount: str) -> Cost:
    return Cost(amount=Decimal(amount), source="genai-prices 0.2.3")


def reply(prompt: int, slot: Slot = Slot.RED) -> ReplyRequest:
    return ReplyRequest(
        id=RequestId(UUID(int=100 + prompt)),
        session_id=SESSION_ID,
        slot=slot,
        text="And then?",
        prompts=PromptRange(prompt, prompt),
        created_at=NOW,
        updated_at=NOW,
    )


SUMMARY = SummaryRequest(
    id=RequestId(UUID(int=200)),
    session_id=SESSION_ID,
    prompts=PromptRange(1, 7),
    created_at=NOW,
    updated_at=NOW,
)
NARRATIVE = NarrativeRequest(
    id=RequestId(UUID(int=201)), session_id=SESSION_ID, created_at=NOW, updated_at=NOW
)
REQUESTS: list[Request | None] = [reply(1), reply(2, Slot.ORANGE), SUMMARY, NARRATIVE, None]

amounts = st.none() | st.decimals(min_value=0, max_value=1_000, places=12)
entries = st.lists(
    st.builds(
        lambda amount, agent, request, chapter, hours, number: LedgerEntry(
            chapter,
            number,
            call(
                None if amount is None else Cost(amount=amount, source="yours"),
                agent=agent,
                request=request,
                at=NOW + timedelta(hours=hours),
            ),
            request,
            f"agent {agent}",
        ),
        amounts,
        st.integers(0, 9),
        st.sampled_from(REQUESTS),
        st.sampled_from(["Ash", "Dawn"]),
        st.integers(0, 100),
        st.integers(1, 50),
    ),
    max_size=40,
)


@given(entries, st.sampled_from(By))
def test_the_sums_of_the_parts_are_the_sum_of_all_to_the_last_digit(made: list[LedgerEntry], by: By) -> None:
    whole = sum_of(made)
    parts = [part for _, part in sums_by(made, by)]
    assert sum(parts, Sum()) == whole
    exact = sum((Fraction(entry.amount) for entry in made if entry.amount is not None), Fraction())
    assert Fraction(whole.amount) == exact
    assert whole.calls == len(made)
    assert whole.unknown == sum(entry.amount is None for entry in made)


def entry(artifact: Artifact, request: Request | None = None, number: int = 1) -> LedgerEntry:
    return LedgerEntry("Ash", number, artifact, request, "Mara")


def test_a_call_of_unknown_price_is_counted_beside_the_sum_and_never_as_nothing() -> None:
    made = [entry(call(known("0.31"))), *(entry(call(None)) for _ in range(3))]
    total = sum_of(made)
    assert (total.amount, total.calls, total.unknown) == (Decimal("0.31"), 4, 3)
    assert total_text(total) == "$0.31 and 3 calls of unknown price"
    assert total_text(sum_of(made[1:2])) == "1 call of unknown price"
    assert not sum_of(made[1:]).is_spent


def test_a_call_of_known_prices_and_unknown_tokens_is_of_unknown_cost() -> None:
    assert entry(call(Cost(amount=None, source="yours"))).amount is None


@pytest.mark.parametrize("provider", ["local", "scripted"])
def test_a_call_of_this_machine_with_prices_of_the_gm_is_not_said_to_cost_nothing(provider: str) -> None:
    priced = entry(call(Cost(amount=Decimal("0.45"), source="yours"), provider=provider))
    assert not priced.is_local
    assert cost_text(sum_of([priced])) == "$0.45"


@pytest.mark.parametrize("provider", ["local", "scripted"])
def test_a_call_of_this_machine_cost_nothing_also_before_costs_were_stored(provider: str) -> None:
    before = entry(call(None, provider=provider))
    assert (before.amount, before.is_local) == (Decimal(0), True)
    server = entry(call(Cost(amount=Decimal(0), source=LOCAL)))
    assert (server.amount, server.is_local) == (Decimal(0), True)
    assert sum_of([before, server]) == Sum(calls=2, local=2, input_tokens=20, output_tokens=10)


@pytest.mark.parametrize(
    ("error", "is_known"),
    [
        (ErrorCode.CONSENT_REQUIRED, True),
        (ErrorCode.CEILING_REACHED, True),
        (ErrorCode.LLM_AUTH_ERROR, True),
        (ErrorCode.LLM_RATE_LIMITED, True),
        (ErrorCode.LLM_CANCELLED, False),
        (ErrorCode.LLM_TIMEOUT, False),
        (ErrorCode.LLM_SERVER_ERROR, False),
    ],
)
def test_only_what_no_model_had_is_known_to_cost_nothing(error: ErrorCode, is_known: bool) -> None:
    assert entry(call(None, error=error)).amount == (Decimal(0) if is_known else None)


def test_the_query_of_an_input_at_a_service_of_unknown_price_is_not_an_attempt_without_a_call() -> None:
    assert entry(replace(call(None), call=0)).amount is None
    assert entry(replace(call(None), call=0, provider="", model="")).amount == Decimal(0)


@pytest.mark.parametrize(
    ("provider", "error", "is_known"),
    [
        ("openai", ErrorCode.LLM_CANCELLED, False),
        ("openai", ErrorCode.STORAGE_SAVE_FAILED, False),
        ("openai", ErrorCode.LLM_ERROR, True),
        ("local", ErrorCode.LLM_CANCELLED, True),
    ],
)
def test_a_call_that_a_crash_may_have_cut_short_is_of_unknown_cost_where_a_service_answers(
    provider: str, error: ErrorCode, is_known: bool
) -> None:
    cut = replace(call(None, error=error), call=0, provider="", model="")
    [_, found] = entries_of("The Lamp", session(), [call(None, provider=provider), cut], [])
    assert found.amount == (Decimal(0) if is_known else None)


def test_a_refusal_within_an_answer_may_have_cost_something() -> None:
    refused = replace(call(None, error=ErrorCode.LLM_REQUEST_ERROR), output_ref="hash")
    assert entry(refused).amount is None


def test_sums_are_made_by_call_prompt_character_agent_chapter_and_day() -> None:
    tomorrow = NOW + timedelta(days=1)
    requests: list[Request] = [reply(1), reply(2, Slot.ORANGE), SUMMARY]
    artifacts = [
        call(known("0.01"), agent=0),
        call(known("0.02"), agent=1, request=reply(1)),
        call(known("0.03"), agent=1, request=reply(1)),
        call(known("0.04"), agent=2, request=reply(2)),
        call(known("0.05"), agent=8, request=SUMMARY, at=tomorrow),
    ]
    made = entries_of("Ash", session(names={Slot.RED: "Mara"}), artifacts, requests)

    def amounts_by(by: By, entries: list[LedgerEntry] = made) -> dict[str, str]:
        return {name: str(part.amount) for name, part in sums_by(entries, by)}

    assert amounts_by(By.CALL) == {f"call {n}": f"0.0{n}" for n in range(1, 6)}
    assert amounts_by(By.PROMPT) == {
        "no prompt": "0.01",
        "prompt 1": "0.05",
        "prompt 2": "0.04",
        "prompts 1–7": "0.05",
    }
    assert amounts_by(By.CHARACTER) == {"no character": "0.06", "1 Mara": "0.05", "2 Agent Orange": "0.04"}
    assert amounts_by(By.AGENT) == {
        "0 World & Chapter": "0.01",
        "1 Mara": "0.05",
        "2 Agent Orange": "0.04",
        "8 Context Summary": "0.05",
    }
    assert amounts_by(By.CHAPTER) == {"Ash": "0.15"}
    days = [f"{day.astimezone():%Y-%m-%d}" for day in (NOW, tomorrow)]
    assert amounts_by(By.DAY) == {days[0]: "0.10", days[1]: "0.05"}
    both = [*made, *(replace(one, chapter="Dawn") for one in made)]
    assert amounts_by(By.CHAPTER, both) == {"Ash": "0.15", "Dawn": "0.15"}
    assert amounts_by(By.PROMPT, both)["Dawn, prompt 1"] == "0.05"
    assert len(amounts_by(By.CALL, both)) == 10


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "$0.00"),
        ("0.31", "$0.31"),
        ("0.0151", "$0.02"),
        ("0.0042", "$0.0042"),
        ("0.00004", "<$0.0001"),
        ("1234.5", "$1,234.50"),
    ],
)
def test_an_amount_is_read_in_dollars_and_a_small_one_is_not_shown_as_nothing(amount: str, text: str) -> None:
    assert dollars(Decimal(amount)) == text


def test_a_mark_is_no_call_and_an_attempt_that_ended_after_its_query_is_one() -> None:
    query, used = replace(call(None, provider="local"), call=0), replace(call(None), input_hash="its input")
    error = StoryEngineError(ErrorCode.LLM_CONTEXT_OVERFLOW, "It is too long.")
    attempt = records_without_call(reply(1), error, NOW, CallRecords((query,)))
    marked = CallRecords(used=(used,), last_number=1).refused(reply(1), error, NOW)
    assert len(marked.artifacts) == 1
    found = entries_of("The Lamp", session(), [used, *attempt.artifacts, *marked.artifacts], [])
    assert [one.artifact for one in found] == [used, *attempt.artifacts]
