"""Adds characters that are away for a while, that may be silent, and hints at those that were silent.

In chapters of before no one is away, everyone answers in words, and there are no hints.
"""

from alembic import op

revision: str = "story_0018"
down_revision: str | None = "story_0017"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE session
            ADD COLUMN away JSONB NOT NULL DEFAULT '{}'
                CONSTRAINT ck_session_away CHECK (jsonb_typeof(away) = 'object'),
            ADD COLUMN may_be_silent SMALLINT NOT NULL DEFAULT 0
                CONSTRAINT ck_session_may_be_silent CHECK (may_be_silent BETWEEN 0 AND 127),
            ADD COLUMN hint_after SMALLINT NOT NULL DEFAULT 0
                CONSTRAINT ck_session_hint_after CHECK (hint_after BETWEEN 0 AND 1000)
        """
    )
