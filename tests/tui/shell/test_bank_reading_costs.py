"""The GM is told what it costs to read a chapter for its memory bank before anything is read."""

from functools import partial

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from core.engine.kinds.bank.requests import is_extraction
from core.ledger.prices import PriceBook
from storyengine_tui.screens.chapter.bank_switch import UNREAD
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, until
from tests.tui.rooms.chapter_page import SCRIPT, make_ended
from tests.tui.rooms.paid_desktop import PaidDesktop
from tests.tui.shell.test_bank_switch import KEEP, choose, says

pytestmark = pytest.mark.anyio


@pytest.fixture
def paid(desktop: Desktop) -> PaidDesktop:
    return PaidDesktop(desktop.open_store, desktop.paths, script=SCRIPT)


async def asked(pilot: Pilot[None], app: StoryEngineApp) -> str:
    """Switch the bank on, and return what is asked then."""
    choose(app, KEEP)
    await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
    assert app.session is not None
    assert not app.session.snapshot.session.keeps_bank
    return " ".join(str(one.render()) for one in app.screen.query(Static))


async def test_the_cost_of_reading_is_asked_about_and_nothing_is_read_where_it_is_too_much(
    paid: PaidDesktop,
) -> None:
    async with paid.window(make_ended) as (pilot, app):
        question = await asked(pilot, app)
        assert "read 1 part of the chapter now?" in question
        # An answer has room for 12,000 tokens at $10 for a million, and its input is on top.
        assert "costs up to $0.12" in question, question
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ConfirmModal))
        assert app.session is not None
        assert not app.session.snapshot.session.keeps_bank
        assert not any(is_extraction(one) for one in app.session.snapshot.requests)


async def test_the_chapter_is_read_once_the_gm_agrees(paid: PaidDesktop) -> None:
    async with paid.window(make_ended) as (pilot, app):
        await asked(pilot, app)
        app.screen.dismiss(True)
        await until(pilot, partial(says, app, UNREAD.format("1 part")))
        assert app.session is not None
        assert app.session.snapshot.session.keeps_bank


async def test_a_price_that_is_unknown_is_said_to_be_unknown(paid: PaidDesktop) -> None:
    paid.prices = PriceBook()
    async with paid.window(make_ended) as (pilot, app):
        assert "the price of the model is unknown" in await asked(pilot, app)
