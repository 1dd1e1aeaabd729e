"""Lets a chapter have prompt blocks: texts of the GM's own behind the system prompts, and their variants.

A chapter without any has no row. The blocks are one document, because they are edited and read together.
"""

from alembic import op

revision: str = "story_0011"
down_revision: str | None = "story_0010"
branch_labels: str | None = None
depends_on: str | None = None

PROMPT_BLOCK = (
    "strict $[*] ? (@.id >= 1 && @.id <= 40 && @.order >= 100 && @.order <= 1600"
    ' && @.name != "" && @.text.type() == "string" && @.is_on.type() == "boolean"'
    ' && (@.place == "rules" || @.place == "material"))'
)
"""The JSON path of those entries of a list that are prompt blocks."""

STEPS = (
    """
    CREATE TABLE prompt_blocks (
        session_id UUID NOT NULL,
        variant TEXT NOT NULL,
        variants TEXT[] NOT NULL,
        blocks JSONB NOT NULL,
        CONSTRAINT pk_prompt_blocks PRIMARY KEY (session_id),
        CONSTRAINT fk_prompt_blocks_session FOREIGN KEY (session_id) REFERENCES session (id)
            ON DELETE CASCADE,
        CONSTRAINT ck_prompt_blocks_variants CHECK (cardinality(variants) <= 8),
        CONSTRAINT ck_prompt_blocks_variant CHECK (variant = 'default' OR variant = ANY (variants)),
        CONSTRAINT ck_prompt_blocks_length CHECK (length(blocks::text) <= 200000),
        CONSTRAINT ck_prompt_blocks_blocks CHECK (
            CASE WHEN jsonb_typeof(blocks) = 'array' THEN jsonb_array_length(blocks) <= 40
            AND jsonb_array_length(jsonb_path_query_array(blocks, 'PROMPT_BLOCK'))
            = jsonb_array_length(blocks) ELSE false END
        )
    )
    """.replace("PROMPT_BLOCK", PROMPT_BLOCK),
    "CREATE TRIGGER keep_whole BEFORE TRUNCATE ON prompt_blocks FOR EACH STATEMENT"
    " EXECUTE FUNCTION storyengine_refuse('tables are never emptied')",
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
