"""Memory as the text that validated, with its parsed form beside it.

Of blocks made before only the parsed form is known. Their text is how the database writes that: the same
keys in the same order as inputs had them after a restart.
"""

from alembic import op

revision: str = "story_0005"
down_revision: str | None = "story_0004"
branch_labels: str | None = None
depends_on: str | None = None

# Another type of a column is no update of its rows, so the trigger that keeps them is not in the way.
STEPS = (
    "ALTER TABLE memory_block ALTER COLUMN payload TYPE TEXT USING payload::text",
    "ALTER TABLE memory_block RENAME COLUMN payload TO json_text",
    "ALTER TABLE memory_block ADD COLUMN payload JSONB NOT NULL"
    " GENERATED ALWAYS AS (json_text::jsonb) STORED",
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
