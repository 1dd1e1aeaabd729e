"""Adds who knows what: audiences of events and memory, who is present, lines between prompts, and secrets.

What was played before was witnessed by everyone. An audience is a number with one bit for each slot.
"""

from alembic import op

revision: str = "story_0013"
down_revision: str | None = "story_0012"
branch_labels: str | None = None
depends_on: str | None = None

# Lines before the first prompt have prompt index 0, so 1 and 0 both follow nothing.
LINES = (
    "ALTER TABLE event DROP CONSTRAINT fk_event_no_hole",
    "DROP INDEX ix_event_needs",
    """
    ALTER TABLE event
        DROP COLUMN needs,
        DROP CONSTRAINT ck_event_prompt_index,
        DROP CONSTRAINT ck_event_ordinal
    """,
    """
    ALTER TABLE event
        ADD COLUMN audience SMALLINT NOT NULL DEFAULT 127
            CONSTRAINT ck_event_audience CHECK (audience BETWEEN 0 AND 127),
        ADD COLUMN needs INTEGER GENERATED ALWAYS AS (
            CASE WHEN ordinal > 0 OR take > 1 THEN prompt_index
                WHEN prompt_index > 1 THEN prompt_index - 1 END
        ) STORED,
        ADD CONSTRAINT ck_event_prompt_index
            CHECK (CASE WHEN role = 'system' THEN prompt_index >= 0 ELSE prompt_index >= 1 END),
        ADD CONSTRAINT ck_event_ordinal CHECK (
            ordinal >= 0 AND CASE WHEN prompt_index = 0 THEN true ELSE (ordinal = 0) = (role = 'user') END
        ),
        ADD CONSTRAINT ck_event_opening CHECK (prompt_index > 0 OR take = 1),
        ADD CONSTRAINT ck_event_line CHECK (role <> 'system' OR slot IS NULL)
    """,
    "CREATE INDEX ix_event_needs ON event (session_id, needs, needs_take)",
    """
    ALTER TABLE event ADD CONSTRAINT fk_event_no_hole FOREIGN KEY (session_id, needs, needs_take)
        REFERENCES event (session_id, asked, take) DEFERRABLE INITIALLY DEFERRED
    """,
    "CREATE INDEX ix_event_secret ON event (session_id, prompt_index)"
    " WHERE role = 'system' AND metadata ? 'secret'",
    "ALTER TABLE canon DROP CONSTRAINT fk_canon_no_hole",
    "DROP INDEX ix_canon_follows",
    "ALTER TABLE canon DROP COLUMN follows",
    """
    ALTER TABLE canon ADD COLUMN follows INTEGER GENERATED ALWAYS AS (
        CASE WHEN prompt_index > 1 THEN prompt_index - 1 END
    ) STORED
    """,
    """
    ALTER TABLE canon ADD CONSTRAINT fk_canon_no_hole FOREIGN KEY (session_id, follows)
        REFERENCES canon (session_id, prompt_index) DEFERRABLE INITIALLY DEFERRED
    """,
    "CREATE INDEX ix_canon_follows ON canon (session_id, follows)",
    "DROP TRIGGER prompt_has_reply ON event",
    "CREATE CONSTRAINT TRIGGER prompt_has_reply AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW WHEN (NEW.ordinal = 0 AND NEW.prompt_index > 0)"
    " EXECUTE FUNCTION storyengine_prompt_has_reply()",
)

MEMORY = (
    """
    ALTER TABLE memory_block
        ADD COLUMN audience SMALLINT NOT NULL DEFAULT 127
            CONSTRAINT ck_memory_block_audience CHECK (audience BETWEEN 0 AND 127),
        DROP CONSTRAINT ck_memory_block_ordinal,
        ADD CONSTRAINT ck_memory_block_ordinal CHECK (
            ordinal >= 0 AND CASE type WHEN 'canon_correction' THEN ordinal > 0
                WHEN 'world_chapter_lock' THEN ordinal = 0 ELSE true END
        ),
        DROP CONSTRAINT uq_memory_block_session_id_to_prompt_ordinal_revision,
        ADD CONSTRAINT uq_memory_block_revision
            UNIQUE (session_id, from_prompt, to_prompt, ordinal, revision)
    """,
    "DROP TRIGGER keep_correction ON memory_canon",
    "CREATE TRIGGER keep_memory_key BEFORE UPDATE ON memory_canon FOR EACH ROW"
    " WHEN ((NEW.session_id, NEW.from_prompt, NEW.to_prompt, NEW.ordinal)"
    " IS DISTINCT FROM (OLD.session_id, OLD.from_prompt, OLD.to_prompt, OLD.ordinal))"
    " EXECUTE FUNCTION storyengine_refuse('only another revision of the same prompts replaces a block')",
)

SESSION = (
    """
    ALTER TABLE session
        ADD COLUMN present SMALLINT NOT NULL DEFAULT 127
            CONSTRAINT ck_session_present CHECK (present BETWEEN 0 AND 127),
        ADD COLUMN private_pins JSONB NOT NULL DEFAULT '{}'
            CONSTRAINT ck_session_private_pins CHECK (jsonb_typeof(private_pins) = 'object')
    """,
    """
    ALTER TABLE llm_request
        ADD COLUMN audience SMALLINT NOT NULL DEFAULT 127
            CONSTRAINT ck_llm_request_audience CHECK (audience BETWEEN 0 AND 127)
    """,
    "DROP TRIGGER keep_request ON llm_request",
    "CREATE TRIGGER keep_request BEFORE UPDATE ON llm_request FOR EACH ROW WHEN ("
    "(NEW.request_id, NEW.session_id, NEW.kind, NEW.slot, NEW.text, NEW.model, NEW.continues, NEW.audience,"
    " NEW.created_at) IS DISTINCT FROM (OLD.request_id, OLD.session_id, OLD.kind, OLD.slot, OLD.text,"
    " OLD.model, OLD.continues, OLD.audience, OLD.created_at))"
    " EXECUTE FUNCTION storyengine_refuse('a request stays what was asked')",
    """
    CREATE TABLE secret (
        session_id UUID NOT NULL,
        number SMALLINT NOT NULL,
        text TEXT NOT NULL,
        known_by SMALLINT NOT NULL,
        reveal_at INTEGER,
        reveal_to SMALLINT,
        CONSTRAINT pk_secret PRIMARY KEY (session_id, number),
        CONSTRAINT fk_secret_session FOREIGN KEY (session_id) REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT ck_secret_number CHECK (number BETWEEN 1 AND 50),
        CONSTRAINT ck_secret_text CHECK (text ~ '[^[:space:]]'),
        CONSTRAINT ck_secret_audiences CHECK (known_by BETWEEN 0 AND 127 AND reveal_to BETWEEN 0 AND 127),
        CONSTRAINT ck_secret_reveal CHECK ((reveal_at IS NULL) = (reveal_to IS NULL) AND reveal_at >= 1)
    )
    """,
    "CREATE TRIGGER keep_whole BEFORE TRUNCATE ON secret FOR EACH STATEMENT"
    " EXECUTE FUNCTION storyengine_refuse('tables are never emptied')",
)

# Name, table, event, condition, what must not exist, message. They look at what was stored before.
UNLESS = (
    (
        "keep_correction",
        "memory_canon",
        "UPDATE",
        "OLD.ordinal > 0 AND NEW.block_id <> OLD.block_id",
        "SELECT FROM memory_block WHERE session_id = OLD.session_id AND block_id = OLD.block_id"
        " AND type = 'canon_correction'",
        "a correction stays",
    ),
    (
        "line_is_not_in_memory",
        "event",
        "INSERT",
        "NEW.role = 'system'",
        # A session that no window has opened is being created, with all of its story.
        "SELECT FROM session WHERE id = NEW.session_id AND boundary > NEW.prompt_index AND writer_epoch > 0",
        "a line comes after what is in memory",
    ),
    (
        "keep_secret",
        "secret",
        "UPDATE",
        "(NEW.session_id, NEW.number, NEW.text, NEW.known_by)"
        " IS DISTINCT FROM (OLD.session_id, OLD.number, OLD.text, OLD.known_by)",
        "SELECT FROM session WHERE id = OLD.session_id AND tab1_locked",
        "a secret of a chapter that is played stays",
    ),
    (
        "keep_known_secret",
        "secret",
        "DELETE",
        "true",
        "SELECT FROM session WHERE id = OLD.session_id AND tab1_locked",
        "a secret of a chapter that is played stays",
    ),
)


def upgrade() -> None:
    for step in (*LINES, *MEMORY, *SESSION):
        op.execute(step)
    for name, table, event, when, unwanted, said in UNLESS:
        kept = "OLD" if event == "DELETE" else "NEW"
        op.execute(
            f"""
            CREATE FUNCTION storyengine_{name}() RETURNS trigger
            LANGUAGE plpgsql AS $$
            BEGIN
                IF EXISTS ({unwanted}) THEN
                    RAISE EXCEPTION '{said}: % on % refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'SE004';
                END IF;
                RETURN {kept};
            END $$
            """
        )
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW WHEN ({when})"
            f" EXECUTE FUNCTION storyengine_{name}()"
        )
