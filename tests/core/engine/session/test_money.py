"""What the GM is asked about a ceiling, while a call that was refused at it waits."""

from datetime import date
from decimal import Decimal

import pytest

from core.domain.errors import ErrorCode
from core.domain.requests.cost import UnitPrices
from core.engine.engine_settings import CallRules
from core.ledger.ceilings import Ceilings
from core.ledger.prices import PriceBook
from tests.core.engine.recall.test_recall import keeping, played
from tests.core.engine.services.speaking.test_several_replies import (
    ORANGE,
    RED,
    YELLOW,
    ask,
    paid,
    replies,
)
from tests.core.gateway.test_lanes import until_still
from tests.core.values.bank import fact
from tests.store.in_memory.memory_calls import MemoryCalls

pytestmark = pytest.mark.anyio


async def test_a_prompt_that_is_withdrawn_at_a_ceiling_is_not_asked_about_any_more() -> None:
    async with paid(Ceilings(chapter=Decimal("0.000001"))) as (_, session, _):
        refused = await session.wait(await session.submit_prompt(RED, "Who is there?"))
        assert session.money.reached is not None
        await session.withdraw(refused.id)
        assert session.money.reached is None


async def test_what_the_gm_agreed_to_at_a_ceiling_holds_where_the_engine_starts_again() -> None:
    async with paid(Ceilings(chapter=Decimal("0.000001"))) as (scene, session, _):
        await session.wait(await session.submit_prompt(RED, "Who is there?"))
        session.money.go_on()
    async with scene.opened() as session:
        answered = await session.wait(await session.submit_prompt(RED, "Who is there?"))
        assert answered.error_code is None


async def test_other_windows_are_told_what_a_prompt_may_cost_until_its_reply_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[Decimal] = []

    async def tell(_: MemoryCalls, ended: Decimal, __: date, running: Decimal) -> Decimal:
        told.append(ended + running)
        return Decimal(0)

    monkeypatch.setattr(MemoryCalls, "tell_open_costs", tell)
    async with paid(Ceilings(day=Decimal(100))) as (_, session, alone):
        await ask(session, "Who is there?", RED)
        await until_still()
        assert told == [alone, 0]


async def test_a_ceiling_that_is_reached_between_two_replies_leaves_what_was_paid_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_others = [Decimal(0)]

    async def tell(*_: object) -> Decimal:
        return of_others.pop() if of_others else Decimal(100)

    async with paid() as (_, session, _alone):
        whole = await session.money.of_prompt(RED, "Who is there?", (ORANGE, YELLOW))
        assert whole is not None
    monkeypatch.setattr(MemoryCalls, "tell_open_costs", tell)
    async with paid(Ceilings(day=whole)) as (_, session, _alone):
        await session.submit_prompt(RED, "Who is there?", then=(ORANGE, YELLOW))
        await session.wait_idle()
        assert [slot for _, slot, _ in await replies(session, 1)] == [RED]
        [refused] = session.snapshot.requests
        assert refused.error_code is ErrorCode.CEILING_REACHED
        reached = session.money.reached
        assert reached is not None
        assert (reached.replies, reached.spent) == (2, session.snapshot.spent)
        session.money.go_on()
        await session.wait(await session.retry(refused.id))
        await session.wait_idle()
        assert [slot for _, slot, _ in await replies(session, 1)] == [RED, ORANGE, YELLOW]


async def test_the_forecast_of_a_prompt_has_what_its_input_recalls_of_the_memory_bank() -> None:
    scene = keeping()
    prices = dict.fromkeys(
        (one.model for one in scene.choices.values()), UnitPrices(input=Decimal(1), output=Decimal(0))
    )
    scene.rules = CallRules(prices=PriceBook(prices))
    asked = "Where did you put the brass key?"
    async with played(scene) as session:
        before = await session.money.of_prompt(RED, asked)
        await scene.store.bank.put([fact(session_id=session.id, prompt_index=1)])
        after = await session.money.of_prompt(RED, asked)
        assert before is not None
        assert after is not None
        assert after > before
