"""Stores memory as the text that validated, with its parsed form as a generated column.

Of existing blocks only the parsed form is known. Their text is the database's own form of it, with the keys
in the order that inputs had after a restart.
"""

from alembic import op

revision: str = "story_0005"
down_revision: str | None = "story_0004"
branch_labels: str | None = None
depends_on: str | None = None

# A change of a column's type is not an update of rows, so the append-only trigger does not refuse it.
STEPS = (
    "ALTER TABLE memory_block ALTER COLUMN payload TYPE TEXT USING payload::text",
    "ALTER TABLE memory_block RENAME COLUMN payload TO json_text",
    "ALTER TABLE memory_block ADD COLUMN payload JSONB NOT NULL"
    " GENERATED ALWAYS AS (json_text::jsonb) STORED",
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
