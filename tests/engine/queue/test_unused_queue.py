"""Where nothing waits, is paused or limited, the queue asks the database for nothing (design 21).

The numbers are those of the program before it had a queue for all windows, afterthoughts and money.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import pytest

from core.config.models.assignments import ModelAssignments
from core.config.models.model_defaults import DEFAULT_LIMITS
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.gateway.lanes import Lane
from db.store import PostgresStore
from tests.core.values.sessions import waiting
from tests.engine.windows import CHOICES, chapter, play, scripted, window

pytestmark = pytest.mark.anyio

STATEMENTS_OF_A_PROMPT = 2
"""One stores it as begun, one stores the reply."""
STATEMENTS_OF_AN_OPENING = 9
STATEMENTS_OF_A_CLOSING = 1


@contextmanager
def counted(sent: list[str], statements: int) -> Iterator[None]:
    before = len(sent)
    yield
    during = sent[before:]
    assert len(during) == statements, during
    unwanted = ("lane_call", "queue_state", "take_place", "begin_call")
    assert not [one for one in during if any(name in one for name in unwanted)]


async def test_a_prompt_sends_two_statements_as_before(store: PostgresStore, sent: list[str]) -> None:
    async with chapter(store) as session:
        await play(session, 1)  # the first one reads what is known of the story
        for _ in range(4):
            with counted(sent, STATEMENTS_OF_A_PROMPT):
                await play(session, 1)
        assert session.background._task is None
        assert session.afterthoughts._task is None
        with counted(sent, STATEMENTS_OF_A_CLOSING):
            await session.aclose()


async def test_a_chapter_is_opened_with_as_many_statements_as_before(
    store: PostgresStore, sent: list[str]
) -> None:
    async with chapter(store) as session:
        await play(session, 1)
    before = len(sent)
    async with window(store, session_id=session.id):
        assert len(sent) - before == STATEMENTS_OF_AN_OPENING, sent[before:]


@asynccontextmanager
async def at_an_account(store: PostgresStore, **limits: int) -> AsyncIterator[SessionHandle]:
    """Yield an open chapter whose characters use a named account."""
    async with chapter(store) as made:
        session_id = made.id
    choices = ModelAssignments({role: replace(choice, account="work") for role, choice in CHOICES.items()})
    lanes = {"work": Lane(scripted, **limits)}
    engine = Engine(store, scripted(), choices, label="here", lanes=lanes, play=waiting(3600.0))
    session = await engine.open(session_id)
    try:
        yield session
    finally:
        await session.aclose()


async def test_an_account_that_takes_any_number_of_calls_has_no_places_to_count(
    store: PostgresStore, sent: list[str]
) -> None:
    async with at_an_account(store) as session:
        await play(session, 1)
        with counted(sent, STATEMENTS_OF_A_PROMPT):
            await play(session, 1)


async def test_an_account_with_a_limit_counts_a_place_with_two_statements_more(
    store: PostgresStore, sent: list[str]
) -> None:
    async with at_an_account(store, concurrency=1) as session:
        await play(session, 1)
        before = len(sent)
        await play(session, 1)
        more = [one for one in sent[before:] if "take_place" in one or "lane_call" in one]
        assert len(more) == 2, sent[before:]


async def test_an_account_whose_rate_is_set_counts_a_call_with_one_statement_more(
    store: PostgresStore, sent: list[str]
) -> None:
    async with at_an_account(store, requests_per_minute=60) as session:
        await play(session, 1)
        before = len(sent)
        await play(session, 1)
        assert ["begin_call" in one for one in sent[before:]].count(True) == 1
        assert len(sent) - before == STATEMENTS_OF_A_PROMPT + 1, sent[before:]


async def test_the_rate_of_an_agent_that_is_set_is_counted_with_one_statement_more(
    store: PostgresStore, sent: list[str]
) -> None:
    limited = {role: replace(one, requests_per_minute=60) for role, one in CHOICES.items()}
    async with chapter(store, choices=ModelAssignments(limited)) as session:
        await play(session, 1)
        before = len(sent)
        await play(session, 1)
        assert ["begin_call" in one for one in sent[before:]].count(True) == 1


async def test_the_rate_of_an_agent_that_nobody_has_set_is_counted_with_no_statement(
    store: PostgresStore, sent: list[str]
) -> None:
    usual = {role: replace(one, requests_per_minute=DEFAULT_LIMITS[role]) for role, one in CHOICES.items()}
    async with chapter(store, choices=ModelAssignments(usual)) as session:
        await play(session, 1)
        with counted(sent, STATEMENTS_OF_A_PROMPT):
            await play(session, 1)
