"""A price that is stated under the name that a model answers with counts before a call as after it."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.cost import YOURS, Cost
from core.gateway.model_gateway import ModelGateway
from core.ledger.ceilings import Ceilings
from core.ledger.prices import PriceBook, Quote
from core.providers.base import ProviderError, TextDelta
from tests.core.gateway.test_costs_of_calls import (
    CHOICE,
    CONTEXT,
    FORECAST,
    OWN,
    SPENT,
    USAGE,
    Service,
    answer,
    call,
    cost_of,
    gateway,
)
from tests.core.gateway.test_model_gateway import StepModel

pytestmark = pytest.mark.anyio

EVERY = ModelAssignments(dict.fromkeys(AgentRole, CHOICE))
SMALL = Ceilings(chapter=Decimal("0.1"))


def answering(name: str, model: type[StepModel] = Service) -> StepModel:
    return model(TextDelta("I nod."), answer(model=name))


async def forecast(way: ModelGateway) -> Decimal | None:
    return await way.forecast(CONTEXT, choices=EVERY)


async def is_refused(way: ModelGateway) -> bool:
    error = (await call(way)).error
    return error is not None and error.code is ErrorCode.CEILING_REACHED


@pytest.mark.parametrize("model", [Service, StepModel])
async def test_a_forecast_has_the_price_of_the_name_under_which_the_model_answered_before(
    model: type[StepModel], tmp_path: Path
) -> None:
    way = gateway(answering("other", model), tmp_path, prices=PriceBook({"other": OWN}))
    assert cost_of(await call(way)) == Cost(amount=SPENT, source=YOURS, prices=OWN)
    assert await forecast(way) == FORECAST


@pytest.mark.parametrize("model", [Service, StepModel])
async def test_no_second_call_passes_a_ceiling_by_the_price_of_the_name_that_answers(
    model: type[StepModel], tmp_path: Path
) -> None:
    ceilings = Ceilings(chapter=FORECAST)
    way = gateway(answering("other", model), tmp_path, prices=PriceBook({"other": OWN}), ceilings=ceilings)
    assert not await is_refused(way), "nothing says yet under which name it answers"
    assert await is_refused(way)


@pytest.mark.parametrize("model", [Service, StepModel])
@pytest.mark.parametrize("name", ["a-model-2026-01", "A-Model-20260101", "a-model@001"])
async def test_the_first_call_is_held_to_a_ceiling_by_the_price_of_the_dated_name(
    name: str, model: type[StepModel], tmp_path: Path
) -> None:
    way = gateway(answering(name, model), tmp_path, prices=PriceBook({name: OWN}), ceilings=SMALL)
    assert await forecast(way) == FORECAST
    assert await is_refused(way)


async def test_a_price_of_another_model_with_a_longer_name_is_not_taken_for_this_one(tmp_path: Path) -> None:
    prices = PriceBook({"a-model-mini": OWN, "other:a-model-2026": OWN, "a-model-": OWN})
    way = gateway(answering("a-model"), tmp_path, prices=prices, ceilings=SMALL)
    assert await forecast(way) is None
    assert not await is_refused(way)


async def test_of_the_names_that_a_model_has_answered_under_the_dearest_one_is_forecast(
    tmp_path: Path,
) -> None:
    dear = replace(OWN, output=2 * OWN.output)
    model = answering("dear")
    way = gateway(model, tmp_path, prices=PriceBook({"cheap": OWN, "dear": dear}))
    await call(way)
    model._steps = (TextDelta("I nod."), answer(model="cheap"))
    assert cost_of(await call(way)) == Cost(amount=SPENT, source=YOURS, prices=OWN)
    assert await forecast(way) == FORECAST + 1


async def test_the_name_that_answers_tells_the_price_once_it_is_known(tmp_path: Path) -> None:
    dear = replace(OWN, output=3 * OWN.output)
    way = gateway(answering("a-model-1"), tmp_path, prices=PriceBook({"a-model": dear, "a-model-1": OWN}))
    assert await forecast(way) == FORECAST + 2
    await call(way)
    assert await forecast(way) == FORECAST


async def test_a_call_that_breaks_off_before_it_names_its_model_costs_what_its_forecast_says(
    tmp_path: Path,
) -> None:
    model = answering("other")
    way = gateway(model, tmp_path, prices=PriceBook({"other": OWN}))
    await call(way)
    model._steps = (ProviderError(ErrorCode.LLM_TRUNCATED, usage=USAGE),)
    assert cost_of(await call(way)) == Cost(amount=SPENT, source=YOURS, prices=OWN)


async def test_no_forecast_is_made_where_the_price_of_one_of_the_names_cannot_be_looked_up(
    tmp_path: Path,
) -> None:
    class Broken(PriceBook):
        async def quote(
            self, address: str | None, account: str, models: tuple[str, ...], *more: Any
        ) -> Quote | None:
            if "dear" in models:
                raise ZeroDivisionError
            return await super().quote(address, account, models, *more)

    model = answering("dear")
    way = gateway(model, tmp_path, prices=Broken({"cheap": OWN}))
    await call(way)
    model._steps = (TextDelta("I nod."), answer(model="cheap"))
    assert cost_of(await call(way)) == Cost(amount=SPENT, source=YOURS, prices=OWN)
    assert await forecast(way) is None, "the other name may be the dearer one"
