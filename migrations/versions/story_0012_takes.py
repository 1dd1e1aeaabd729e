"""Adds takes of prompts and revisions of memory, and the pointers that say which of them are canon.

What was played before is the first take of its prompt and the first revision of its block, and is canon. The
chain of prompts moves from the log to `canon`, and that of memory from the blocks to `memory_canon`.
"""

from alembic import op

revision: str = "story_0012"
down_revision: str | None = "story_0011"
branch_labels: str | None = None
depends_on: str | None = None

TAKES = (
    "ALTER TABLE session DROP CONSTRAINT fk_session_last_prompt",
    "ALTER TABLE event DROP CONSTRAINT fk_event_no_hole",
    "ALTER TABLE event DROP CONSTRAINT uq_event_session_id_asked",
    "ALTER TABLE event DROP CONSTRAINT uq_event_session_id_prompt_index_ordinal",
    "DROP INDEX ix_event_needs",
    "ALTER TABLE event DROP COLUMN needs",
    """
    ALTER TABLE event
        ADD COLUMN take SMALLINT NOT NULL DEFAULT 1 CONSTRAINT ck_event_take CHECK (take >= 1),
        ADD CONSTRAINT uq_event_session_id_prompt_index_take_ordinal
            UNIQUE (session_id, prompt_index, take, ordinal),
        ADD CONSTRAINT uq_event_session_id_asked_take UNIQUE (session_id, asked, take)
    """,
    """
    ALTER TABLE event
        ADD COLUMN needs INTEGER GENERATED ALWAYS AS (
            CASE WHEN ordinal = 0 AND take = 1 THEN NULLIF(prompt_index - 1, 0) ELSE prompt_index END
        ) STORED,
        ADD COLUMN needs_take SMALLINT GENERATED ALWAYS AS (
            CASE WHEN ordinal = 0 THEN GREATEST(take - 1, 1) ELSE take END
        ) STORED
    """,
    "CREATE INDEX ix_event_needs ON event (session_id, needs, needs_take)",
    """
    ALTER TABLE event ADD CONSTRAINT fk_event_no_hole FOREIGN KEY (session_id, needs, needs_take)
        REFERENCES event (session_id, asked, take) DEFERRABLE INITIALLY DEFERRED
    """,
    # Generated columns are not computed yet when the trigger compares rows.
    "DROP TRIGGER append_only ON event",
    "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON event FOR EACH ROW"
    " EXECUTE FUNCTION storyengine_append_only('metadata', 'asked', 'needs', 'needs_take')",
    """
    CREATE TABLE canon (
        session_id UUID NOT NULL,
        prompt_index INTEGER NOT NULL,
        take SMALLINT NOT NULL,
        follows INTEGER GENERATED ALWAYS AS (NULLIF(prompt_index - 1, 0)) STORED,
        CONSTRAINT pk_canon PRIMARY KEY (session_id, prompt_index),
        CONSTRAINT fk_canon_session FOREIGN KEY (session_id) REFERENCES session (id) ON DELETE CASCADE
    )
    """,
    """
    INSERT INTO canon (session_id, prompt_index, take)
    SELECT event.session_id, event.prompt_index, 1 FROM event JOIN session ON session.id = event.session_id
    WHERE event.ordinal = 0 AND event.prompt_index <= session.prompt_index
    """,
    """
    ALTER TABLE canon
        ADD CONSTRAINT fk_canon_event FOREIGN KEY (session_id, prompt_index, take)
            REFERENCES event (session_id, asked, take) DEFERRABLE INITIALLY DEFERRED,
        ADD CONSTRAINT fk_canon_no_hole FOREIGN KEY (session_id, follows)
            REFERENCES canon (session_id, prompt_index) DEFERRABLE INITIALLY DEFERRED
    """,
    # A purge looks up what follows each row that it deletes.
    "CREATE INDEX ix_canon_follows ON canon (session_id, follows)",
)

REVISIONS = (
    "ALTER TABLE session DROP CONSTRAINT fk_session_boundary",
    "ALTER TABLE memory_block DROP CONSTRAINT fk_memory_block_no_hole",
    "ALTER TABLE memory_block DROP CONSTRAINT uq_memory_block_session_id_from_prompt_ordinal",
    "ALTER TABLE memory_block DROP CONSTRAINT uq_memory_block_session_id_to_prompt_ordinal",
    "ALTER TABLE memory_block DROP CONSTRAINT uq_memory_block_session_id_ends",
    """
    ALTER TABLE memory_block
        DROP COLUMN follows,
        DROP COLUMN follows_ordinal,
        DROP COLUMN ends,
        ADD COLUMN revision INTEGER NOT NULL DEFAULT 1
            CONSTRAINT ck_memory_block_revision CHECK (revision >= 1),
        ADD COLUMN made_from UUID,
        ADD COLUMN is_by_gm BOOLEAN NOT NULL DEFAULT false
    """,
    """
    ALTER TABLE memory_block
        ADD CONSTRAINT uq_memory_block_session_id_to_prompt_ordinal_revision
            UNIQUE (session_id, to_prompt, ordinal, revision),
        ADD CONSTRAINT uq_memory_block_place UNIQUE (session_id, block_id, from_prompt, to_prompt, ordinal),
        ADD CONSTRAINT fk_memory_block_made_from FOREIGN KEY (session_id, made_from)
            REFERENCES memory_block (session_id, block_id) DEFERRABLE INITIALLY DEFERRED
    """,
    "CREATE INDEX ix_memory_block_made_from ON memory_block (session_id, made_from)",
    """
    CREATE TABLE memory_canon (
        session_id UUID NOT NULL,
        to_prompt INTEGER NOT NULL,
        ordinal SMALLINT NOT NULL,
        from_prompt INTEGER NOT NULL,
        block_id UUID NOT NULL,
        follows INTEGER GENERATED ALWAYS AS (
            CASE WHEN ordinal > 0 THEN to_prompt WHEN from_prompt > 0 THEN from_prompt - 1 END
        ) STORED,
        follows_ordinal INTEGER GENERATED ALWAYS AS (GREATEST(ordinal - 1, 0)) STORED,
        ends INTEGER GENERATED ALWAYS AS (CASE WHEN ordinal = 0 THEN to_prompt END) STORED,
        CONSTRAINT pk_memory_canon PRIMARY KEY (session_id, to_prompt, ordinal),
        CONSTRAINT uq_memory_canon_session_id_from_prompt_ordinal UNIQUE (session_id, from_prompt, ordinal),
        CONSTRAINT uq_memory_canon_session_id_ends UNIQUE (session_id, ends),
        CONSTRAINT fk_memory_canon_session FOREIGN KEY (session_id) REFERENCES session (id) ON DELETE CASCADE
    )
    """,
    """
    INSERT INTO memory_canon (session_id, to_prompt, ordinal, from_prompt, block_id)
    SELECT session_id, to_prompt, ordinal, from_prompt, block_id FROM memory_block
    """,
    """
    ALTER TABLE memory_canon
        ADD CONSTRAINT fk_memory_canon_block FOREIGN KEY (
            session_id, block_id, from_prompt, to_prompt, ordinal
        ) REFERENCES memory_block (session_id, block_id, from_prompt, to_prompt, ordinal)
            DEFERRABLE INITIALLY DEFERRED,
        ADD CONSTRAINT fk_memory_canon_no_hole FOREIGN KEY (session_id, follows, follows_ordinal)
            REFERENCES memory_canon (session_id, to_prompt, ordinal) DEFERRABLE INITIALLY DEFERRED
    """,
    "CREATE INDEX ix_memory_canon_block_id ON memory_canon (session_id, block_id)",
)

POINTERS = (
    """
    ALTER TABLE session
        ADD COLUMN canon_version INTEGER NOT NULL DEFAULT 0
            CONSTRAINT ck_session_canon_version CHECK (canon_version >= 0),
        ADD COLUMN branched_from UUID,
        ADD COLUMN branched_at INTEGER NOT NULL DEFAULT 0,
        ADD COLUMN pinned TEXT[] NOT NULL DEFAULT '{}',
        ADD COLUMN struck TEXT[] NOT NULL DEFAULT '{}',
        ADD CONSTRAINT ck_session_branched_at
            CHECK (branched_at >= 0 AND (branched_from IS NOT NULL OR branched_at = 0)),
        ADD CONSTRAINT fk_session_last_prompt FOREIGN KEY (id, played_to)
            REFERENCES canon (session_id, prompt_index) DEFERRABLE INITIALLY DEFERRED,
        ADD CONSTRAINT fk_session_boundary FOREIGN KEY (id, summarised_to)
            REFERENCES memory_canon (session_id, ends) DEFERRABLE INITIALLY DEFERRED
    """,
    """
    ALTER TABLE llm_request
        ADD COLUMN model TEXT NOT NULL DEFAULT '',
        ADD COLUMN continues BOOLEAN NOT NULL DEFAULT false
    """,
)

# Name and table of the rules that takes and revisions replace.
REPLACED = (
    ("keep_prompt_index", "session"),
    ("keep_boundary", "session"),
    ("keep_request", "llm_request"),
    ("delta_is_within_boundary", "memory_block"),
)

# Name, table, event, condition, message: as in story_0006.
REFUSED = (
    (
        "keep_canon_version",
        "session",
        "UPDATE",
        "NEW.canon_version < OLD.canon_version OR NEW.canon_version = OLD.canon_version"
        " AND (NEW.prompt_index < OLD.prompt_index OR NEW.boundary < OLD.boundary)",
        "the version of canon grows when a prompt or memory is taken back",
    ),
    (
        "keep_branch",
        "session",
        "UPDATE",
        "(NEW.branched_from, NEW.branched_at) IS DISTINCT FROM (OLD.branched_from, OLD.branched_at)",
        "a session keeps where it came from",
    ),
    (
        "keep_request",
        "llm_request",
        "UPDATE",
        "(NEW.request_id, NEW.session_id, NEW.kind, NEW.slot, NEW.text, NEW.model, NEW.continues,"
        " NEW.created_at) IS DISTINCT FROM (OLD.request_id, OLD.session_id, OLD.kind, OLD.slot, OLD.text,"
        " OLD.model, OLD.continues, OLD.created_at)",
        "a request stays what was asked",
    ),
    (
        "keep_canon_key",
        "canon",
        "UPDATE",
        "(NEW.session_id, NEW.prompt_index) IS DISTINCT FROM (OLD.session_id, OLD.prompt_index)",
        "a prompt keeps its number",
    ),
    (
        "keep_correction",
        "memory_canon",
        "UPDATE",
        "OLD.ordinal > 0 OR (NEW.session_id, NEW.from_prompt, NEW.to_prompt, NEW.ordinal)"
        " IS DISTINCT FROM (OLD.session_id, OLD.from_prompt, OLD.to_prompt, OLD.ordinal)",
        "only another revision of the same prompts replaces a block",
    ),
)

# Rules that are checked at commit. Name, table, event, condition, what must exist, message.
REQUIRED = (
    (
        "canon_is_beyond_boundary",
        "canon",
        "UPDATE",
        "NEW.take <> OLD.take",
        "SELECT FROM session WHERE id = NEW.session_id AND boundary < NEW.prompt_index",
        "canon that is in memory changes only with that memory",
    ),
    (
        "memory_is_within_boundary",
        "memory_canon",
        "INSERT",
        "NEW.to_prompt > 0",
        "SELECT FROM session WHERE id = NEW.session_id AND boundary >= NEW.to_prompt",
        "the boundary moves with the memory",
    ),
    (
        "memory_is_withdrawn",
        "session",
        "UPDATE",
        "NEW.boundary < OLD.boundary",
        "SELECT FROM session AS now WHERE now.id = NEW.id AND NOT EXISTS (SELECT FROM memory_canon"
        " WHERE session_id = NEW.id AND to_prompt > now.boundary)",
        "memory goes with its boundary",
    ),
)

# What replaces the functions of rules of story_0006 that count prompts. Name, what must exist, message.
CHANGED = (
    (
        "prompt_has_reply",
        "SELECT FROM event WHERE session_id = NEW.session_id AND prompt_index = NEW.prompt_index"
        " AND take = NEW.take AND ordinal = 1 AND role = 'agent'",
        "a prompt is stored with its reply",
    ),
    (
        "reply_follows",
        "SELECT FROM event WHERE session_id = NEW.session_id AND prompt_index = NEW.prompt_index"
        " AND take = NEW.take AND ordinal = NEW.ordinal - 1",
        "replies to a prompt leave no gap",
    ),
    (
        "prompt_is_counted",
        "SELECT FROM session WHERE id = NEW.session_id"
        " AND (prompt_index >= NEW.prompt_index OR canon_version > 0)",
        "a prompt is counted",
    ),
)


def upgrade() -> None:
    for step in (*TAKES, *REVISIONS, *POINTERS):
        op.execute(step)
    for name, table in REPLACED:
        op.execute(f"DROP TRIGGER {name} ON {table}")
    op.execute("DROP FUNCTION storyengine_delta_is_within_boundary()")
    for name, table, event, when, said in REFUSED:
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW WHEN ({when})"
            f" EXECUTE FUNCTION storyengine_refuse('{said}')"
        )
    for name, table, event, when, wanted, said in REQUIRED:
        _define(name, wanted, said)
        op.execute(
            f"CREATE CONSTRAINT TRIGGER {name} AFTER {event} ON {table} DEFERRABLE INITIALLY DEFERRED"
            f" FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION storyengine_{name}()"
        )
    for name, wanted, said in CHANGED:
        _define(name, wanted, said)
    for table in ("canon", "memory_canon"):
        op.execute(
            f"CREATE TRIGGER keep_whole BEFORE TRUNCATE ON {table} FOR EACH STATEMENT"
            " EXECUTE FUNCTION storyengine_refuse('tables are never emptied')"
        )


def _define(name: str, wanted: str, said: str) -> None:
    op.execute(
        f"""
        CREATE OR REPLACE FUNCTION storyengine_{name}() RETURNS trigger
        LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT EXISTS ({wanted}) THEN
                RAISE EXCEPTION '{said}: % on % refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'SE004';
            END IF;
            RETURN NULL;
        END $$
        """
    )
