"""Lets a request be of any kind, and a chat that is read in have prompts before its tab 1 is locked.

Which kinds there are is said in one place, `KIND_SPECS`; a row of another one is refused when it is read.
That nothing is played before the lock stays a rule for sessions that are there (trigger `prompt_needs_lock`).
"""

from alembic import op

revision: str = "story_0019"
down_revision: str | None = "story_0018"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE llm_request
            DROP CONSTRAINT ck_llm_request_kind,
            ADD CONSTRAINT ck_llm_request_kind CHECK (kind ~ '^[a-z_]{1,32}$')
        """
    )
    op.execute("DROP TRIGGER new_prompt_needs_lock ON session")
