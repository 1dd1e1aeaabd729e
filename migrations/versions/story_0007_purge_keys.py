"""Indexes the referring side of the foreign keys that a purge checks once for each row.

Without them the database reads every row of the session for each check: deleting a chapter took time
proportional to the square of its length.
"""

from alembic import op

revision: str = "story_0007"
down_revision: str | None = "story_0006"
branch_labels: str | None = None
depends_on: str | None = None

STEPS = (
    "CREATE INDEX ix_event_needs ON event (session_id, needs)",
    "CREATE INDEX ix_llm_artifact_input_ref ON llm_artifact (session_id, input_ref)",
    "CREATE INDEX ix_llm_artifact_output_ref ON llm_artifact (session_id, output_ref)",
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
