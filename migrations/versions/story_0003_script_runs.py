"""Numbers the sessions of one chapter script, so that concurrent creation results in one session.

Existing sessions of one script are kept with their key and numbered in the order of creation (ids sort by
time); the newest that is not archived is continued, as before.
"""

from alembic import op

revision: str = "story_0003"
down_revision: str | None = "story_0002"
branch_labels: str | None = None
depends_on: str | None = None

STEPS = (
    "SET CONSTRAINTS ALL IMMEDIATE",
    "ALTER TABLE session ADD COLUMN script_run INTEGER",
    """
    UPDATE session SET script_run = numbered.run FROM (
        SELECT id, row_number() OVER (PARTITION BY script_key ORDER BY id) AS run
        FROM session WHERE script_key <> ''
    ) AS numbered WHERE session.id = numbered.id
    """,
    """
    ALTER TABLE session
        ADD CONSTRAINT ck_session_script_run
            CHECK ((script_key = '') = (script_run IS NULL) AND script_run >= 1),
        ADD CONSTRAINT uq_session_script_key_script_run UNIQUE (script_key, script_run)
    """,
    "DROP INDEX ix_session_script_key",
    "SET CONSTRAINTS ALL DEFERRED",
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
