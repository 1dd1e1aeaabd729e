"""Costs in an export: exact to the last digit, refused where none can be so, left out where unknown."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from core.domain.requests.cost import PROVIDER, Cost, UnitPrices
from core.exchange.session_export import ImportRefusedError, SessionBody, from_json, read_body, to_json
from core.providers.scripted.script import Entry
from core.text.canonical_json import canonical, checksum
from tests.core.rooms.room import Room
from tests.core.rooms.simulation import Simulation

pytestmark = pytest.mark.anyio

PRICES = UnitPrices(input=Decimal("1.25"), output=Decimal(10), cached_input=Decimal("0.125"))
COST = Cost(amount=Decimal("0.011500000000000001"), source="genai-prices 0.2.3", prices=PRICES)


async def exported(*costs: Cost | None) -> SessionBody:
    simulation = Simulation()
    simulation.set_up(1)
    room = Room(simulation.snapshot, Entry(text="no JSON"))
    async with room.opened() as session:
        await session.wait(await session.lock())
    body = await read_body(room.store, room.store.snapshot.session.id)
    artifacts = tuple(
        replace(artifact, cost=cost) for artifact, cost in zip(body.artifacts, costs, strict=False)
    )
    return replace(body, artifacts=artifacts)


async def test_a_cost_comes_back_to_the_last_digit() -> None:
    for cost in (
        COST,
        Cost(amount=None, source="yours", prices=PRICES),
        Cost(amount=Decimal(0), source=PROVIDER),
    ):
        body = await exported(cost)
        assert from_json(to_json(body)) == body


async def test_an_export_without_costs_is_what_it_was_before_there_were_any() -> None:
    body = await exported(None)
    assert "cost" not in json.loads(to_json(body))["body"]["artifacts"][0]
    assert from_json(to_json(body)) == body


@pytest.mark.parametrize(
    "cost",
    [
        {"amount": "-1", "source": "yours"},
        {"amount": "1e400", "source": "yours"},
        {"amount": "1e-400", "source": "yours"},
        {"amount": "10000000001", "source": "yours"},
        {"amount": "NaN", "source": "yours"},
        {"amount": "Infinity", "source": "yours"},
        {"amount": "1", "source": "a\nb"},
        {"amount": "1", "source": "s" * 101},
        {"amount": "1"},
        {"amount": "1", "source": "yours", "prices": {"input": "-1", "output": "1"}},
        {"amount": "1", "source": "yours", "prices": {"input": "1"}},
        {"amount": "1", "source": "yours", "prices": {"input": "1", "output": "1", "reasoning": "1e9"}},
    ],
)
async def test_a_cost_that_this_program_never_writes_is_refused(cost: object) -> None:
    document = json.loads(to_json(await exported(COST)))
    document["body"]["artifacts"][0]["cost"] = cost
    document["sha256"] = checksum(canonical(document["body"]))
    with pytest.raises(ImportRefusedError):
        from_json(json.dumps(document).encode())
