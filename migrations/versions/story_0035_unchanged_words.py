"""Leaves the words of an item alone where a change of it has the same texts.

A change writes every column of an item, so that its words were deleted and made again when the GM looked at
it, pinned it or confirmed it: of a thousand items that took seconds.
"""

from alembic import op

revision: str = "story_0035"
down_revision: str | None = "story_0034"
branch_labels: str | None = None
depends_on: str | None = None

STATEMENTS = (
    "DROP TRIGGER index_words ON bank_item",
    "CREATE TRIGGER index_words AFTER INSERT ON bank_item"
    " FOR EACH ROW EXECUTE FUNCTION storyengine_index_words()",
    "CREATE TRIGGER index_other_words AFTER UPDATE ON bank_item FOR EACH ROW WHEN ("
    "(NEW.name, NEW.text, NEW.details, NEW.evidence)"
    " IS DISTINCT FROM (OLD.name, OLD.text, OLD.details, OLD.evidence))"
    " EXECUTE FUNCTION storyengine_index_words()",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
