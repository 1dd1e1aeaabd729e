"""Counts attempts that were no try, and holds that what belongs to the GM's turn is never a dead letter.

Background work that made room for a prompt, before an answer began, is on record and costs what it costs, and
is no reason to give it up. A lock, a reply or a narrative that fails goes back to the GM at once.
"""

from alembic import op

revision: str = "story_0020"
down_revision: str | None = "story_0019"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    op.execute(
        "UPDATE llm_request SET state = 'failed'"
        " WHERE state = 'dead' AND kind IN ('lock', 'reply', 'narrative')"
    )
    op.execute(
        """
        ALTER TABLE llm_request
            ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0,
            ADD CONSTRAINT ck_llm_request_uncounted CHECK (uncounted BETWEEN 0 AND attempts),
            ADD CONSTRAINT ck_llm_request_dead
                CHECK (state <> 'dead' OR kind NOT IN ('lock', 'reply', 'narrative'))
        """
    )
