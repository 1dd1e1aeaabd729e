"""Makes the words of items whose JSON has an accent behind a new line or a tab: such an item was refused.

Databases that come from before `story_0031` have both functions so already.
"""

from alembic import op

from migrations.versions.story_0031_composed_words import COMPOSED_JSON, WORDS

revision: str = "story_0032"
down_revision: str | None = "story_0031"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    for statement in (COMPOSED_JSON, WORDS):
        op.execute(statement)
