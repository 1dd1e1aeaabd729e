"""Stores with each call what it cost, by whose word, and the prices that the cost was computed with.

Calls that were stored before have none: what they cost is unknown. The indexes hold only calls that cost
something, so that they are empty where no money is spent.
"""

from alembic import op

revision: str = "story_0014"
down_revision: str | None = "story_0013"
branch_labels: str | None = None
depends_on: str | None = None

STEPS = (
    """
    ALTER TABLE llm_artifact
        ADD COLUMN cost NUMERIC,
        ADD COLUMN price_source TEXT,
        ADD COLUMN input_price NUMERIC,
        ADD COLUMN cached_input_price NUMERIC,
        ADD COLUMN output_price NUMERIC,
        ADD COLUMN reasoning_price NUMERIC
    """,
    """
    ALTER TABLE llm_artifact
        ADD CONSTRAINT ck_llm_artifact_cost CHECK (cost BETWEEN 0 AND 10000000000),
        ADD CONSTRAINT ck_llm_artifact_price_source
            CHECK (price_source IS NOT NULL OR cost IS NULL AND input_price IS NULL),
        ADD CONSTRAINT ck_llm_artifact_prices CHECK (
            input_price BETWEEN 0 AND 1000000 AND output_price BETWEEN 0 AND 1000000
            AND cached_input_price BETWEEN 0 AND 1000000 AND reasoning_price BETWEEN 0 AND 1000000
        ),
        ADD CONSTRAINT ck_llm_artifact_price_pair CHECK (
            (input_price IS NULL) = (output_price IS NULL)
            AND (input_price IS NOT NULL OR cached_input_price IS NULL AND reasoning_price IS NULL)
        )
    """,
    "CREATE INDEX ix_llm_artifact_spent ON llm_artifact (session_id, cost) WHERE cost > 0",
    "CREATE INDEX ix_llm_artifact_spent_at ON llm_artifact (created_at, cost) WHERE cost > 0",
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
