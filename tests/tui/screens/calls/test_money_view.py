"""The money on F7: the ledger by what calls were made for; own prices marked, unknown said."""

from decimal import Decimal
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from core.ledger.ceilings import Ceilings
from core.ledger.prices import PriceBook
from core.ledger.sums import By
from storyengine_tui.screens.calls.money_view import MoneyView
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, opened, until
from tests.tui.rooms.paid_desktop import PRICES, PaidDesktop

pytestmark = pytest.mark.anyio


@pytest.fixture
def paid(desktop: Desktop) -> PaidDesktop:
    return PaidDesktop(desktop.open_store, desktop.paths)


async def money_shown(pilot: Pilot[Any]) -> MoneyView:
    await opened(pilot)
    await pilot.press("f7", "3")
    await until(pilot, lambda: [view for view in pilot.app.screen.query(MoneyView) if view.table.row_count])
    return pilot.app.screen.query_one(MoneyView)


def rows(view: MoneyView) -> list[list[str]]:
    return [[str(cell).strip() for cell in view.table.get_row_at(row)] for row in range(view.table.row_count)]


def totals(view: MoneyView) -> str:
    return str(view.query_one("#totals", Static).render())


async def make_two(engine: Any) -> None:
    await make_active(engine, 1)
    await make_active(engine, 2)


async def test_the_ledger_is_summed_by_each_of_its_ways_for_this_chapter_and_for_all_of_them(
    paid: PaidDesktop,
) -> None:
    async with paid.window(make_two) as (pilot, _):
        # The ledger is summed by each of its ways and every sum is the same.
        view = await money_shown(pilot)
        assert totals(view) == "This chapter by agent: $0.93"
        assert [row[:2] for row in rows(view)] == [
            ["2 Jonas [/x]", "$0.31"],
            ["1 Mira", "$0.31"],
            ["0 World & Chapter", "$0.31"],
        ]
        seen = []
        for _ in By:
            await pilot.press("b")
            seen.append(totals(view))
        assert [one.split(":")[0].removeprefix("This chapter by ") for one in seen] == [
            "chapter", "day", "call", "prompt", "character", "agent",
        ]  # fmt: skip
        assert {one.split(": ")[1] for one in seen} == {"$0.93"}
        # A shows all chapters and this one again.
        here = totals(view)
        await pilot.press("a")
        await until(pilot, lambda: totals(view) == "All chapters by agent: $1.55")
        await pilot.press("a")
        await until(pilot, lambda: totals(view) == here)


async def test_own_prices_are_marked_and_unknown_ones_are_said(paid: PaidDesktop) -> None:
    paid.bill, paid.prices = None, PriceBook({"o4-mini": PRICES})
    async with paid.window(lambda engine: make_active(engine, 1)) as (pilot, _):
        view = await money_shown(pilot)
        assert "* by your own prices" in totals(view)
        assert all(row[1].endswith("*") for row in rows(view))
    paid.prices = PriceBook()
    async with paid.window(lambda engine: make_active(engine, 1)) as (pilot, _):
        view = await money_shown(pilot)
        await pilot.press("a")
        await until(pilot, lambda: "2 calls of unknown price" in totals(view))


async def test_the_money_says_which_ceilings_hold(paid: PaidDesktop) -> None:
    paid.ceilings = Ceilings(chapter=Decimal("1.5"), day=Decimal(5))
    async with paid.window(lambda engine: make_active(engine, 1)) as (pilot, _):
        view = await money_shown(pilot)
        spent = "This chapter by agent: $0.62"
        assert totals(view) == f"{spent} · ceilings: $1.50 in this chapter, $5.00 today"
        await pilot.press("a")
        await until(pilot, lambda: totals(view).endswith("· ceiling: $5.00 today"))


async def test_calls_of_this_machine_cost_nothing_and_say_so(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (pilot, _):
        view = await money_shown(pilot)
        assert totals(view) == "This chapter by agent: $0.00 (local)"
        assert rows(view)[0][1] == "local"


def test_picture_of_the_money(paid: PaidDesktop, pictures_match: PicturesMatch) -> None:
    paid.prepare_now(lambda engine: make_active(engine, 2))

    async def show(pilot: Pilot[Any]) -> None:
        await money_shown(pilot)

    assert pictures_match(paid.app(), run_before=show)
