"""What the GM is asked about a ceiling, while a call that was refused at it waits."""

from decimal import Decimal

import pytest

from core.ledger.ceilings import Ceilings
from tests.core.engine.services.speaking.test_several_replies import RED, paid

pytestmark = pytest.mark.anyio


async def test_a_prompt_that_is_withdrawn_at_a_ceiling_is_not_asked_about_any_more() -> None:
    async with paid(Ceilings(chapter=Decimal("0.000001"))) as (_, session, _):
        refused = await session.wait(await session.submit_prompt(RED, "Who is there?"))
        assert session.money.reached is not None
        await session.withdraw(refused.id)
        assert session.money.reached is None
