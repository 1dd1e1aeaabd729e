"""Adds indexes of the items that each input looks for: those that the GM kept, and states of characters."""

from alembic import op

revision: str = "story_0029"
down_revision: str | None = "story_0028"
branch_labels: str | None = None
depends_on: str | None = None

INDEXES = (
    "CREATE INDEX ix_bank_item_kept ON bank_item (session_id) WHERE is_pinned OR validation = 'confirmed'",
    "CREATE INDEX ix_bank_item_state ON bank_item (session_id, about) WHERE kind = 'state'",
)


def upgrade() -> None:
    for statement in INDEXES:
        op.execute(statement)
