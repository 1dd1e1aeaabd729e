"""Adds the table of save points, from which a new session can begin; existing rows stay unchanged."""

from alembic import op

revision: str = "story_0002"
down_revision: str | None = "story_0001"
branch_labels: str | None = None
depends_on: str | None = None

SAVE_SLOT = """
    CREATE TABLE save_slot (
        session_id UUID NOT NULL,
        number SMALLINT NOT NULL,
        label TEXT NOT NULL,
        taken_at TIMESTAMPTZ NOT NULL,
        prompt_index INTEGER NOT NULL,
        state TEXT NOT NULL,
        document JSONB NOT NULL,
        sha256 TEXT NOT NULL,
        CONSTRAINT pk_save_slot PRIMARY KEY (session_id, number),
        CONSTRAINT fk_save_slot_session FOREIGN KEY (session_id)
            REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT ck_save_slot_state
            CHECK (
                state IN ('DRAFT_TAB1', 'LOCKING', 'ACTIVE', 'SUMMARIZING', 'ENDED', 'NARRATING', 'RESETTING')
            ),
        CONSTRAINT ck_save_slot_number CHECK (number BETWEEN 0 AND 14),
        CONSTRAINT ck_save_slot_prompt_index CHECK (prompt_index >= 0),
        CONSTRAINT ck_save_slot_sha256 CHECK (sha256 ~ '^[0-9a-f]{64}$')
    )
"""


def upgrade() -> None:
    op.execute(SAVE_SLOT)
