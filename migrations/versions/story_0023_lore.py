"""Adds the lorebooks of a chapter.

Chapters that were made before have none.
"""

from alembic import op

revision: str = "story_0023"
down_revision: str | None = "story_0022"
branch_labels: str | None = None
depends_on: str | None = None

LOREBOOKS = """
    CREATE TABLE session_lorebook (
        session_id UUID NOT NULL,
        number SMALLINT NOT NULL,
        name TEXT NOT NULL,
        groups TEXT[] NOT NULL,
        owner SMALLINT,
        label SMALLINT NOT NULL,
        entry_count INTEGER NOT NULL,
        file_hash TEXT NOT NULL,
        copy_hash TEXT NOT NULL,
        copy_length INTEGER NOT NULL,
        seed TEXT NOT NULL,
        CONSTRAINT pk_session_lorebook PRIMARY KEY (session_id, number),
        CONSTRAINT fk_session_lorebook_session FOREIGN KEY (session_id) REFERENCES session (id)
            ON DELETE CASCADE,
        CONSTRAINT fk_session_lorebook_copy FOREIGN KEY (session_id, copy_hash)
            REFERENCES llm_content (session_id, hash) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT ck_session_lorebook_number CHECK (number BETWEEN 1 AND 20),
        CONSTRAINT ck_session_lorebook_name CHECK (name ~ '[^[:space:]]'),
        CONSTRAINT ck_session_lorebook_groups CHECK (cardinality(groups) <= 20),
        CONSTRAINT ck_session_lorebook_owner CHECK (owner BETWEEN 1 AND 7),
        CONSTRAINT ck_session_lorebook_label CHECK (label BETWEEN 0 AND 127),
        CONSTRAINT ck_session_lorebook_entry_count CHECK (entry_count BETWEEN 0 AND 100000),
        CONSTRAINT ck_session_lorebook_copy_length CHECK (copy_length BETWEEN 1 AND 16777216),
        CONSTRAINT ck_session_lorebook_hashes CHECK (
            file_hash ~ '^[0-9a-f]{64}$' AND copy_hash ~ '^[0-9a-f]{64}$'
        ),
        CONSTRAINT ck_session_lorebook_seed CHECK (seed ~ '^[0-9A-Za-z]{1,64}$')
    )
"""


def upgrade() -> None:
    op.execute(LOREBOOKS)
    # A purge looks up the lorebooks of each content that it deletes.
    op.execute("CREATE INDEX ix_session_lorebook_copy ON session_lorebook (session_id, copy_hash)")
