"""Adds condensed memory; no chapter has any yet."""

from alembic import op

revision: str = "story_0027"
down_revision: str | None = "story_0026"
branch_labels: str | None = None
depends_on: str | None = None

TABLE = """
    CREATE TABLE condensed_memory (
        session_id UUID NOT NULL,
        condensed_id UUID NOT NULL,
        from_prompt INTEGER NOT NULL,
        to_prompt INTEGER NOT NULL,
        audience SMALLINT DEFAULT 127 NOT NULL,
        sources UUID[] NOT NULL,
        json_text TEXT NOT NULL,
        payload JSONB GENERATED ALWAYS AS (json_text::jsonb) STORED NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_condensed_memory PRIMARY KEY (session_id, condensed_id),
        CONSTRAINT fk_condensed_memory_session FOREIGN KEY (session_id) REFERENCES session (id)
            ON DELETE CASCADE,
        CONSTRAINT uq_condensed_memory_sources UNIQUE (session_id, sources),
        CONSTRAINT ck_condensed_memory_range CHECK (from_prompt >= 1 AND to_prompt > from_prompt),
        CONSTRAINT ck_condensed_memory_sources CHECK (cardinality(sources) BETWEEN 2 AND 4),
        CONSTRAINT ck_condensed_memory_audience CHECK (audience BETWEEN 0 AND 127),
        CONSTRAINT ck_condensed_memory_times CHECK (created_at BETWEEN '1900-01-01Z' AND '9999-01-01Z')
    )
"""
TRIGGERS = (
    "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON condensed_memory"
    " FOR EACH ROW EXECUTE FUNCTION storyengine_append_only('payload')",
    "CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON condensed_memory"
    " FOR EACH STATEMENT EXECUTE FUNCTION storyengine_append_only()",
)
IS_OF_BLOCKS = """
    CREATE FUNCTION storyengine_condensed_is_of_blocks() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        IF (SELECT count(*) FROM memory_block WHERE session_id = NEW.session_id
            AND block_id = ANY (NEW.sources) AND type = 'turn_delta' AND audience = NEW.audience
            AND from_prompt >= NEW.from_prompt AND to_prompt <= NEW.to_prompt)
            <> cardinality(NEW.sources) THEN
            RAISE EXCEPTION 'condensed memory is of deltas of its audience within its range: % on % refused',
                TG_OP, TG_TABLE_NAME USING ERRCODE = 'SE004';
        END IF;
        RETURN NULL;
    END $$
"""
AT_COMMIT = """
    CREATE CONSTRAINT TRIGGER condensed_is_of_blocks AFTER INSERT ON condensed_memory
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION storyengine_condensed_is_of_blocks()
"""


def upgrade() -> None:
    for statement in (TABLE, *TRIGGERS, IS_OF_BLOCKS, AT_COMMIT):
        op.execute(statement)
