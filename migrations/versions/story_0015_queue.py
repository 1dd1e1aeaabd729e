"""Lets requests wait beside the play: their kinds, and the state of one whose tries are used up."""

from alembic import op

revision: str = "story_0015"
down_revision: str | None = "story_0014"
branch_labels: str | None = None
depends_on: str | None = None

KINDS = "kind IN ('lock', 'reply', 'summary', 'narrative', 'test', 'assist', 'afterthought')"
STATES = "state IN ('pending', 'processing', 'done', 'failed', 'dead', 'cancelled')"
STEPS = (
    f"""
    ALTER TABLE llm_request
        DROP CONSTRAINT ck_llm_request_kind,
        DROP CONSTRAINT ck_llm_request_state,
        ADD CONSTRAINT ck_llm_request_kind CHECK ({KINDS}),
        ADD CONSTRAINT ck_llm_request_state CHECK ({STATES})
    """,
    "DROP INDEX ix_llm_request_kept",
    """
    CREATE INDEX ix_llm_request_kept ON llm_request (session_id, request_id)
    WHERE state IN ('pending', 'processing', 'failed', 'dead')
    """,
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
