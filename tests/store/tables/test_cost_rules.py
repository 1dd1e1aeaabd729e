"""What the database takes as the cost of a call: raw SQL, past all of our code (design 18)."""

import asyncio

import psycopg
import pytest
from psycopg import errors

from core.domain.ids import SessionId
from db.store import open_store
from tests.store import chapters


@pytest.fixture(scope="module")
def chapter(url: str) -> SessionId:
    """A chapter with one call."""

    async def create() -> SessionId:
        store = await open_store(url)
        session, lease = await chapters.locked_session(store)
        await chapters.play(store, session, lease, 1)
        await store.aclose()
        return session.id

    return asyncio.run(create())


COST_COLUMNS = "cost, price_source, input_price, output_price, cached_input_price, reasoning_price"


@pytest.mark.parametrize(
    ("values", "is_taken"),
    [
        pytest.param("0.0115, 'yours', 1.25, 10, NULL, NULL", True, id="a cost with prices"),
        pytest.param("0, 'local', NULL, NULL, NULL, NULL", True, id="nothing, on this machine"),
        pytest.param("NULL, 'yours', 1.25, 10, 0, 0", True, id="prices of a call without a count of tokens"),
        pytest.param("NULL, NULL, NULL, NULL, NULL, NULL", True, id="an unknown cost"),
        pytest.param("0.1, NULL, NULL, NULL, NULL, NULL", False, id="a cost without a source"),
        pytest.param("NULL, NULL, 1, 1, NULL, NULL", False, id="prices without a source"),
        pytest.param("-0.1, 'yours', NULL, NULL, NULL, NULL", False, id="a cost below nothing"),
        pytest.param("'NaN', 'yours', NULL, NULL, NULL, NULL", False, id="a cost that is no number"),
        pytest.param("'Infinity', 'yours', NULL, NULL, NULL, NULL", False, id="an endless cost"),
        pytest.param("1, 'yours', 1, NULL, NULL, NULL", False, id="input without output"),
        pytest.param("1, 'yours', NULL, NULL, 1, NULL", False, id="cached input alone"),
        pytest.param("1, 'yours', 1, 1, -1, NULL", False, id="a price below nothing"),
        pytest.param("1, 'yours', 1, 1, NULL, 1000001", False, id="a price beyond all prices"),
    ],
)
def test_a_cost_is_an_amount_with_a_source(
    chapter: SessionId, raw: psycopg.Connection, values: str, is_taken: bool
) -> None:
    columns = (
        "provider, model, prompt_version, input_hash, finish_reason, error_message, left_out, created_at"
    )
    copy = (
        f"INSERT INTO llm_artifact (session_id, artifact_id, request_id, attempt, call, agent_id, input_ref,"
        f" {columns}, {COST_COLUMNS}) SELECT session_id, gen_random_uuid(), request_id, attempt, call + 1,"
        f" agent_id, input_ref, {columns}, {values} FROM llm_artifact WHERE session_id = %s LIMIT 1"
    )
    if is_taken:
        raw.execute(copy, (chapter,))
    else:
        with pytest.raises(errors.CheckViolation):
            raw.execute(copy, (chapter,))
