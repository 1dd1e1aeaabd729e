"""The audit of the queue in the database: triggers write each change, in the order of the commits.

The product knows nothing of it, and `tests.torture.queue.rules` reads this and plain tables alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg.rows import TupleRow

Connection = psycopg.Connection[TupleRow]

_STEPS: tuple[LiteralString, ...] = (
    """
    CREATE TABLE audit (
        seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, transaction TEXT NOT NULL, of TEXT NOT NULL,
        before JSONB, after JSONB
    )
    """,
    """
    CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO audit (transaction, of, before, after) VALUES (
            pg_current_xact_id()::text, TG_TABLE_NAME,
            to_jsonb(OLD) - '{text,error_message,definition}'::text[],
            to_jsonb(NEW) - '{text,error_message,definition}'::text[]
        );
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON llm_request
    FOR EACH ROW EXECUTE FUNCTION audit()
    """,
    """
    CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON lane_call
    FOR EACH ROW EXECUTE FUNCTION audit()
    """,
    """
    CREATE TRIGGER audit AFTER UPDATE ON session FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION audit()
    """,
)


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row of one table, before and after; empty where there is none."""

    seq: int
    transaction: str
    of: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


def watch(url: str) -> None:
    """Let the database note its changes from now on."""
    with psycopg.connect(url) as connection:
        for step in _STEPS:
            connection.execute(step)


def changes(connection: Connection) -> list[RowChange]:
    """Return all changes, in order."""
    rows = connection.execute("SELECT seq, transaction, of, before, after FROM audit ORDER BY seq").fetchall()
    return [RowChange(seq, at, of, before or {}, after or {}) for seq, at, of, before, after in rows]
