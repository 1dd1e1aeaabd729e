"""Every call is written down with what it cost, and none is made that could pass a ceiling."""

import asyncio
import json
import threading
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from core.config.consent import Consent
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import PromptStyle
from core.context.segments import Context, plain
from core.context.tokens import estimate_tokens
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.cost import LOCAL, PROVIDER, YOURS, Cost, UnitPrices
from core.domain.requests.request import Request, Usage
from core.engine.kinds.test_call import new_test_call
from core.gateway.cancellation import Cancellation
from core.gateway.cashier import Cashier
from core.gateway.model_call import ModelCall
from core.gateway.model_gateway import CallResult, ModelGateway
from core.ledger.ceilings import CeilingGuard, Ceilings
from core.ledger.prices import PriceBook, Quote
from core.ledger.sums import LedgerEntry
from core.providers.base import Completion, OutputSchema, ProviderError, TextDelta
from core.text.delimiters import SegmentName
from tests.core.gateway.embedding_way import beside_the_play
from tests.core.gateway.test_model_gateway import StepModel
from tests.core.values.sessions import NOW, SESSION_ID, choice, choices
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio

ADDRESS = "https://api.openai.com/v1"
OWN = UnitPrices(input=Decimal(1), output=Decimal(2))
CHOICE = replace(choice(output=500_000), model="a-model", max_output_tokens=500_000)
CONTEXT = Context(
    agent_id=2,
    role=AgentRole.CHARACTER,
    style=PromptStyle.FULL,
    prompt_version="character@1",
    segments=(plain(SegmentName.USER_PROMPT, "Go on.", PromptStyle.FULL, "user"),),
    max_input_tokens=1_000,
)
FORECAST = Decimal(1) + Decimal(CONTEXT.tokens) / 1_000_000
"""500,000 tokens of output at 2, and the input at 1."""
USAGE = Usage(input_tokens=100_000, output_tokens=200_000)
SPENT = Decimal("0.5")


class Service(StepModel):
    """Answers elsewhere."""

    base_url = ADDRESS  # type: ignore[assignment]  # the base stays on this machine


def answer(usage: Usage = USAGE, billed: Decimal | None = None, model: str = "a-model") -> Completion:
    return Completion(finish_reason="stop", model=model, usage=usage, billed=billed)


def service(*steps: TextDelta | Completion | Exception | float) -> Service:
    return Service(*(steps or (TextDelta("I nod."), answer())))


def gateway(
    model: StepModel,
    tmp_path: Path,
    *,
    ceilings: Ceilings | None = None,
    store: MemoryStore | None = None,
    prices: PriceBook | None = None,
) -> ModelGateway:
    consent = Consent((ADDRESS,), tmp_path / "consent.json")
    guard = CeilingGuard(ceilings, (store or MemoryStore()).calls.spent, lambda: NOW) if ceilings else None
    cashier = Cashier(prices or PriceBook({"a-model": OWN}), guard, lambda: NOW)
    return ModelGateway(model, choices(), consent, lambda: NOW, cashier=cashier)


def asked(session_id: SessionId = SESSION_ID) -> Request:
    return new_test_call(session_id, NOW)


async def call(way: ModelGateway, request: Request | None = None, number: int = 1) -> CallResult:
    return await way.call(ModelCall(CONTEXT, CHOICE, request or asked(), number), Cancellation())


def cost_of(result: CallResult) -> Cost | None:
    [artifact] = result.call_records.artifacts
    return artifact.cost


async def test_a_call_is_written_down_with_its_cost_its_prices_and_who_says_so(tmp_path: Path) -> None:
    result = await call(gateway(service(), tmp_path))
    assert cost_of(result) == Cost(amount=SPENT, source=YOURS, prices=OWN)


async def test_a_call_of_the_listed_model_that_answered_has_the_price_of_that_one(tmp_path: Path) -> None:
    model = service(TextDelta("I nod."), answer(model="gpt-5-2025-08-07"))
    cost = cost_of(await call(gateway(model, tmp_path, prices=PriceBook())))
    assert cost is not None
    # 100,000 × 1.25 + 200,000 × 10, by the million: gpt-5 in genai-prices 0.2.3
    assert (cost.amount, cost.source) == (Decimal("2.125"), "genai-prices 0.2.3")


async def test_the_bill_of_the_service_counts_also_where_its_answer_is_an_error(tmp_path: Path) -> None:
    fine = service(TextDelta("I nod."), answer(billed=Decimal("0.07")))
    cut = service(ProviderError(ErrorCode.LLM_TRUNCATED, usage=USAGE, billed=Decimal("0.07")))
    for model in (fine, cut):
        cost = cost_of(await call(gateway(model, tmp_path)))
        assert cost == Cost(amount=Decimal("0.07"), source=PROVIDER, prices=OWN)


async def test_a_failed_call_costs_what_it_used(tmp_path: Path) -> None:
    model = service(ProviderError(ErrorCode.LLM_TRUNCATED, usage=USAGE))
    assert cost_of(await call(gateway(model, tmp_path))) == Cost(amount=SPENT, source=YOURS, prices=OWN)


async def test_a_call_without_a_known_price_has_no_cost_and_is_made(tmp_path: Path) -> None:
    ceilings = Ceilings(chapter=Decimal("0.01"))
    for way in (
        gateway(service(), tmp_path, prices=PriceBook()),
        gateway(service(), tmp_path, prices=PriceBook(), ceilings=ceilings),
    ):
        result = await call(way)
        assert (result.text, cost_of(result)) == ("I nod.", None)


async def test_a_call_without_a_count_of_tokens_has_prices_and_no_amount(tmp_path: Path) -> None:
    result = await call(gateway(service(TextDelta("I nod."), answer(Usage())), tmp_path))
    assert cost_of(result) == Cost(amount=None, source=YOURS, prices=OWN)


async def test_a_call_that_was_not_sent_has_no_cost(tmp_path: Path) -> None:
    cashier = Cashier(PriceBook({"a-model": OWN}), None, lambda: NOW)
    way = ModelGateway(service(), choices(), None, lambda: NOW, cashier=cashier)
    result = await call(way)
    assert result.error is not None
    assert (result.error.code, cost_of(result)) == (ErrorCode.CONSENT_REQUIRED, None)


async def test_a_model_of_this_machine_costs_nothing_and_no_library_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("no price is looked up")

    monkeypatch.setattr("core.ledger.prices.kept_prices", refuse)
    model = StepModel(TextDelta("I nod."), answer())
    way = gateway(
        model, tmp_path, prices=PriceBook({"other": OWN}), ceilings=Ceilings(chapter=Decimal("0.01"))
    )
    assert cost_of(await call(way)) == Cost(amount=Decimal(0), source=LOCAL)


async def test_a_proxy_on_this_machine_costs_what_the_gm_says_and_is_held_to_the_ceiling(
    tmp_path: Path,
) -> None:
    model = StepModel(TextDelta("I nod."), answer())
    assert cost_of(await call(gateway(model, tmp_path))) == Cost(amount=SPENT, source=YOURS, prices=OWN)
    refused = await call(gateway(model, tmp_path, ceilings=Ceilings(chapter=Decimal("0.01"))))
    assert refused.error is not None
    assert refused.error.code is ErrorCode.CEILING_REACHED


async def test_an_answer_is_kept_where_its_price_cannot_be_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the library is broken")

    monkeypatch.setattr("core.ledger.prices.kept_prices", fail)
    result = await call(gateway(service(), tmp_path, prices=PriceBook()))
    assert (result.text, result.error, cost_of(result)) == ("I nod.", None, None)


@pytest.mark.parametrize("where", ["rates.RateLimiter.wait", "cashier.Cashier.admit"])
@pytest.mark.parametrize("prices", [PriceBook({"a-model": OWN}), PriceBook()], ids=["known", "unknown"])
async def test_a_call_that_is_stopped_while_it_waits_for_its_turn_costs_nothing(
    where: str, prices: PriceBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = asyncio.Event()

    async def wait(*_: object, **__: object) -> None:
        waits.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(f"core.gateway.{where}", wait)
    model, cancellation = service(), Cancellation()
    way = gateway(model, tmp_path, prices=prices)
    stopped = asyncio.create_task(way.call(ModelCall(CONTEXT, CHOICE, asked(), 1), cancellation))
    await waits.wait()
    cancellation.request()
    [artifact] = (await stopped).call_records.artifacts
    assert (artifact.error_code, model.calls) == (ErrorCode.LLM_CANCELLED, 0)
    assert LedgerEntry("A chapter", 1, artifact, None, "Mira").amount == 0


async def test_the_call_that_could_pass_the_ceiling_is_not_made(tmp_path: Path) -> None:
    model = service()
    way = gateway(model, tmp_path, ceilings=Ceilings(chapter=FORECAST - Decimal("0.000001")))
    result = await call(way)
    assert result.error is not None
    assert result.error.code is ErrorCode.CEILING_REACHED
    assert "This call may cost up to $1.00" in result.error.message
    assert "nothing was sent" in result.error.message
    assert "STORYENGINE_CEILINGS__CHAPTER" in result.error.hint
    assert (model.calls, cost_of(result)) == (0, None)


async def test_the_call_that_just_reaches_the_ceiling_is_made(tmp_path: Path) -> None:
    model = service()
    assert (await call(gateway(model, tmp_path, ceilings=Ceilings(chapter=FORECAST)))).error is None
    assert model.calls == 1


async def test_what_a_call_cost_counts_before_it_is_stored(tmp_path: Path) -> None:
    """A repair, or the next part of a chapter, is asked for before the first call is in the database."""
    way = gateway(service(), tmp_path, ceilings=Ceilings(chapter=FORECAST + SPENT))
    request = asked()
    codes = [(await call(way, request, number)).error for number in (1, 2, 3)]
    assert [error and error.code for error in codes] == [None, None, ErrorCode.CEILING_REACHED]


async def test_what_is_stored_counts_and_a_call_is_not_counted_twice(tmp_path: Path) -> None:
    store = MemoryStore()
    stored = Decimal(0)
    asked_for: list[tuple[object, ...]] = []

    async def spent(session_id: object = None, *, since: object = None, but_for: object = ()) -> Decimal:
        asked_for.append((session_id, since, but_for))
        return stored

    way = gateway(service(), tmp_path, store=store)
    guard = CeilingGuard(Ceilings(chapter=FORECAST + SPENT), spent, lambda: NOW)
    way.cashier = Cashier(PriceBook({"a-model": OWN}), guard, lambda: NOW)
    first = await call(way)
    [artifact] = first.call_records.artifacts
    stored = SPENT
    guard.forget_stored([artifact])
    second = await call(way)
    assert second.error is None
    guard.forget_stored(second.call_records.artifacts)
    assert asked_for == [(SESSION_ID, None, ()), (SESSION_ID, None, ())]
    request = asked()
    stored = Decimal(0)
    assert (await call(way, request)).error is None
    assert (await call(way, request, 2)).error is None
    assert len(asked_for[-1][2]) == 1, "the call before, of the same attempt"  # type: ignore[arg-type]
    assert artifact.id not in asked_for[-1][2]  # type: ignore[operator]


async def test_a_day_counts_all_chapters_and_a_chapter_only_itself(tmp_path: Path) -> None:
    other = SessionId(new_uuid())
    by_day = gateway(service(), tmp_path, ceilings=Ceilings(day=FORECAST + SPENT / 2))
    assert (await call(by_day)).error is None
    refused = (await call(by_day, asked(other))).error
    assert refused is not None
    assert "today" in refused.message
    assert "STORYENGINE_CEILINGS__DAY" in refused.hint
    by_chapter = gateway(service(), tmp_path, ceilings=Ceilings(chapter=FORECAST + SPENT / 2))
    assert (await call(by_chapter)).error is None
    assert (await call(by_chapter, asked(other))).error is None


async def test_two_calls_at_once_cannot_pass_a_ceiling_together(tmp_path: Path) -> None:
    slow = service(TextDelta("I "), 60.0, answer())
    way = gateway(slow, tmp_path, ceilings=Ceilings(day=FORECAST + SPENT))
    cancellation = Cancellation()
    first = asyncio.create_task(way.call(ModelCall(CONTEXT, CHOICE, asked(), 1), cancellation))
    await slow.sleeps.wait()
    second = await call(way, asked(SessionId(new_uuid())))
    cancellation.request()
    await first
    assert second.error is not None
    assert second.error.code is ErrorCode.CEILING_REACHED
    assert slow.calls == 1


async def test_a_call_that_is_cancelled_while_the_prices_load_ends_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, loaded = threading.Event(), threading.Event()

    def load(*_: object) -> None:
        begun.set()
        loaded.wait(20)

    monkeypatch.setattr("core.ledger.prices.kept_prices", load)
    way = gateway(service(), tmp_path, prices=PriceBook())
    given_up = asyncio.create_task(call(way))
    await asyncio.to_thread(begun.wait, 20)
    given_up.cancel()
    await asyncio.wait({given_up})
    loaded.set()
    assert given_up.cancelled()
    assert (await call(way)).text == "I nod."


async def test_a_call_that_is_cancelled_while_its_cost_is_computed_counts_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computing = asyncio.Event()

    async def quote(_: object, __: object, ___: object, models: tuple[str, ...], *____: object) -> Quote:
        if models == ("the-answered-model", "a-model") and not computing.is_set():
            computing.set()
            await asyncio.Event().wait()
        return Quote(YOURS, OWN)

    monkeypatch.setattr(PriceBook, "quote", quote)
    model = service(TextDelta("I nod."), answer(model="the-answered-model"))
    way = gateway(model, tmp_path, ceilings=Ceilings(day=FORECAST))
    given_up = asyncio.create_task(call(way))
    await computing.wait()
    given_up.cancel()
    await asyncio.wait({given_up})
    assert (await call(way, asked(SessionId(new_uuid())))).error is None


async def test_the_forecast_of_a_reply_has_its_second_try_where_one_that_only_repeats_is_asked_again(
    tmp_path: Path,
) -> None:
    way = gateway(service(), tmp_path)
    once, again = [
        await way.forecast(
            CONTEXT,
            choices=ModelAssignments({role: replace(CHOICE, avoids_repeats=avoids) for role in AgentRole}),
        )
        for avoids in (False, True)
    ]
    assert (once, again) == (FORECAST, 2 * FORECAST)


async def test_the_forecast_of_a_call_has_the_form_of_its_answer_which_is_sent_too(tmp_path: Path) -> None:
    form = {"properties": {"moments": {"description": "What happened, " * 100}}}
    asking = replace(CONTEXT, schema=OutputSchema("memory", form))
    every = ModelAssignments(dict.fromkeys(AgentRole, CHOICE))
    forecast = await gateway(service(), tmp_path).forecast(asking, choices=every)
    assert forecast == FORECAST + Decimal(estimate_tokens(json.dumps(form))) / 1_000_000


async def test_the_gm_can_go_on_beyond_the_ceiling_by_as_much_again(tmp_path: Path) -> None:
    guard = CeilingGuard(Ceilings(chapter=Decimal("0.4")), MemoryStore().calls.spent, lambda: NOW)
    way = gateway(service(), tmp_path)
    way.cashier = Cashier(PriceBook({"a-model": OWN}), guard, lambda: NOW)
    assert (await call(way)).error is not None
    reached = guard.reached(SESSION_ID)
    assert reached is not None
    assert (reached.limit, reached.spent) == (Decimal("0.4"), Decimal(0))
    assert reached.next_limit == Decimal("1.2")
    assert guard.told(SESSION_ID) == ("$0.40 in this chapter",)
    guard.go_on(SESSION_ID)
    assert guard.told(SESSION_ID) == ("$0.40 in this chapter ($1.20 until you quit)",)
    assert (await call(way)).error is None
    assert guard.reached(SESSION_ID) is None
    assert guard.reached(SessionId(new_uuid())) is None


@pytest.mark.parametrize("other", ["beside, admitted", "beside, refused", "of the play, admitted"])
async def test_another_call_changes_nothing_of_what_the_gm_is_asked_about_a_ceiling(
    other: str, tmp_path: Path
) -> None:
    guard = CeilingGuard(Ceilings(chapter=FORECAST - Decimal("0.1")), MemoryStore().calls.spent, lambda: NOW)
    way = gateway(service(), tmp_path)
    way.cashier = Cashier(PriceBook({"a-model": OWN}), guard, lambda: NOW)
    assert (await call(way)).error is not None
    reached = guard.reached(SESSION_ID)
    cheap, dear = CHOICE.max_output_tokens // 2, CHOICE.max_output_tokens * 2
    choice_of_it = replace(CHOICE, max_output_tokens=cheap if "admitted" in other else dear)
    request = beside_the_play() if "beside" in other else asked()
    made = await way.call(ModelCall(CONTEXT, choice_of_it, request, 1), Cancellation())
    assert (made.error is None) is ("admitted" in other)
    assert reached is not None
    assert guard.reached(SESSION_ID) == reached


async def test_a_call_that_was_cancelled_counts_no_longer(tmp_path: Path) -> None:
    slow = service(TextDelta("I "), 60.0, answer())
    way = gateway(slow, tmp_path, ceilings=Ceilings(day=FORECAST))
    given_up = asyncio.create_task(call(way))
    await slow.sleeps.wait()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert slow.calls == 1
    slow._steps = (TextDelta("I nod."), answer())
    assert (await call(way, asked(SessionId(new_uuid())))).error is None
