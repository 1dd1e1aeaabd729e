"""Allows a locked chapter of an earlier version to receive limits added since; existing ones stay."""

from alembic import op

revision: str = "story_0008"
down_revision: str | None = "story_0007"
branch_labels: str | None = None
depends_on: str | None = None

STEPS = (
    "DROP TRIGGER keep_limits ON session",
    "CREATE TRIGGER keep_limits BEFORE UPDATE ON session FOR EACH ROW"
    " WHEN (OLD.tab1_locked AND (NEW.chunk_size <> OLD.chunk_size OR NOT NEW.limits @> OLD.limits))"
    " EXECUTE FUNCTION storyengine_refuse('the limits are locked')",
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
