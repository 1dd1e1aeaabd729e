"""Allows test calls: requests of their own kind, which are settled when they are stored."""

from alembic import op

revision: str = "story_0010"
down_revision: str | None = "story_0009"
branch_labels: str | None = None
depends_on: str | None = None

KINDS = "kind IN ('lock', 'reply', 'summary', 'narrative', 'test')"
SETTLED = "kind <> 'test' OR state IN ('done', 'cancelled')"


def upgrade() -> None:
    op.execute(
        "ALTER TABLE llm_request DROP CONSTRAINT ck_llm_request_kind,"
        f" ADD CONSTRAINT ck_llm_request_kind CHECK ({KINDS}),"
        f" ADD CONSTRAINT ck_llm_request_test CHECK ({SETTLED})"
    )
