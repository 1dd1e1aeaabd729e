"""Adds corrections of canon: blocks of their own type, numbered after the block at whose end they were made.

Lock and deltas remain one chain: their ordinal is 0, and only such a row can be followed by a delta. Existing
blocks keep their order and their bytes.
"""

from alembic import op

revision: str = "story_0009"
down_revision: str | None = "story_0008"
branch_labels: str | None = None
depends_on: str | None = None

STEPS = (
    "ALTER TABLE session DROP CONSTRAINT fk_session_boundary",
    "ALTER TABLE memory_block DROP CONSTRAINT fk_memory_block_no_hole",
    "ALTER TABLE memory_block DROP CONSTRAINT uq_memory_block_session_id_from_prompt",
    "ALTER TABLE memory_block DROP CONSTRAINT uq_memory_block_session_id_to_prompt",
    "ALTER TABLE memory_block DROP CONSTRAINT ck_memory_block_type",
    "ALTER TABLE memory_block DROP CONSTRAINT ck_memory_block_range",
    "ALTER TABLE memory_block DROP COLUMN follows",
    "ALTER TABLE memory_block ADD COLUMN ordinal SMALLINT NOT NULL DEFAULT 0",
    """
    ALTER TABLE memory_block
        ADD COLUMN follows INTEGER GENERATED ALWAYS AS (
            CASE WHEN ordinal > 0 THEN to_prompt WHEN from_prompt > 0 THEN from_prompt - 1 END
        ) STORED,
        ADD COLUMN follows_ordinal INTEGER GENERATED ALWAYS AS (GREATEST(ordinal - 1, 0)) STORED,
        ADD COLUMN ends INTEGER GENERATED ALWAYS AS (CASE WHEN ordinal = 0 THEN to_prompt END) STORED
    """,
    """
    ALTER TABLE memory_block
        ADD CONSTRAINT ck_memory_block_type
            CHECK (type IN ('world_chapter_lock', 'turn_delta', 'canon_correction')),
        ADD CONSTRAINT ck_memory_block_range CHECK (
            CASE type WHEN 'world_chapter_lock' THEN from_prompt = 0 AND to_prompt = 0
            WHEN 'canon_correction' THEN from_prompt >= 0 AND to_prompt = from_prompt
            ELSE from_prompt >= 1 AND to_prompt >= from_prompt END
        ),
        ADD CONSTRAINT ck_memory_block_ordinal
            CHECK (ordinal >= 0 AND (ordinal > 0) = (type = 'canon_correction')),
        ADD CONSTRAINT uq_memory_block_session_id_from_prompt_ordinal
            UNIQUE (session_id, from_prompt, ordinal),
        ADD CONSTRAINT uq_memory_block_session_id_ends UNIQUE (session_id, ends),
        ADD CONSTRAINT uq_memory_block_session_id_to_prompt_ordinal UNIQUE (session_id, to_prompt, ordinal)
    """,
    """
    ALTER TABLE memory_block ADD CONSTRAINT fk_memory_block_no_hole
        FOREIGN KEY (session_id, follows, follows_ordinal)
        REFERENCES memory_block (session_id, to_prompt, ordinal) DEFERRABLE INITIALLY DEFERRED
    """,
    """
    ALTER TABLE session ADD CONSTRAINT fk_session_boundary FOREIGN KEY (id, summarised_to)
        REFERENCES memory_block (session_id, ends) DEFERRABLE INITIALLY DEFERRED
    """,
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
