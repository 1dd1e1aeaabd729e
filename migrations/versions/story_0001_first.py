"""The first schema: sessions, the log, structured memory, drafts, requests and their provenance.

Plain SQL, frozen: a later migration changes the tables by ALTER, never by editing this file. Every
table below `session` begins its primary key, unique constraints and foreign keys with `session_id`.
"""

from alembic import op

revision: str = "story_0001"
down_revision: str | None = None
branch_labels: str | None = None
depends_on: str | None = None

TABLES = (
    """
    CREATE TABLE session (
        id UUID NOT NULL,
        title TEXT NOT NULL,
        script_key TEXT NOT NULL,
        state TEXT NOT NULL,
        is_ending BOOLEAN NOT NULL,
        prompt_index INTEGER NOT NULL,
        boundary INTEGER NOT NULL,
        slots SMALLINT[] NOT NULL,
        names JSONB NOT NULL,
        tab1_locked BOOLEAN NOT NULL,
        next_slot SMALLINT NOT NULL,
        definition TEXT NOT NULL,
        target_words INTEGER,
        chunk_size INTEGER NOT NULL,
        limits JSONB NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        archived_at TIMESTAMPTZ,
        writer_epoch INTEGER DEFAULT 0 NOT NULL,
        writer_label TEXT DEFAULT '' NOT NULL,
        writer_since TIMESTAMPTZ,
        played_to INTEGER GENERATED ALWAYS AS (NULLIF(prompt_index, 0)) STORED,
        summarised_to INTEGER GENERATED ALWAYS AS (CASE WHEN tab1_locked THEN boundary END) STORED,
        CONSTRAINT pk_session PRIMARY KEY (id),
        CONSTRAINT ck_session_state
            CHECK (state IN (
                'DRAFT_TAB1', 'LOCKING', 'ACTIVE', 'SUMMARIZING', 'ENDED', 'NARRATING', 'RESETTING'
            )),
        CONSTRAINT ck_session_prompt_index CHECK (prompt_index >= 0),
        CONSTRAINT ck_session_boundary CHECK (boundary BETWEEN 0 AND prompt_index),
        CONSTRAINT ck_session_slots
            CHECK (cardinality(slots) BETWEEN 1 AND 7 AND slots <@ '{1,2,3,4,5,6,7}'::smallint[]),
        CONSTRAINT ck_session_next_slot CHECK (next_slot BETWEEN 1 AND 7),
        CONSTRAINT ck_session_chunk_size CHECK (chunk_size > 0),
        CONSTRAINT ck_session_target_words CHECK (target_words > 0)
    )
    """,
    """
    CREATE INDEX ix_session_script_key ON session (script_key)
    WHERE script_key <> ''
    """,
    """
    CREATE TABLE tab1_input (
        session_id UUID NOT NULL,
        world TEXT NOT NULL,
        chapter TEXT NOT NULL,
        identities JSONB NOT NULL,
        CONSTRAINT pk_tab1_input PRIMARY KEY (session_id),
        CONSTRAINT fk_tab1_input_session FOREIGN KEY (session_id)
            REFERENCES session (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE unsent_text (
        session_id UUID NOT NULL,
        slot SMALLINT NOT NULL,
        text TEXT NOT NULL,
        CONSTRAINT pk_unsent_text PRIMARY KEY (session_id, slot),
        CONSTRAINT fk_unsent_text_session FOREIGN KEY (session_id)
            REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT ck_unsent_text_slot CHECK (slot BETWEEN 1 AND 7)
    )
    """,
    """
    CREATE TABLE event (
        session_id UUID NOT NULL,
        event_id UUID NOT NULL,
        prompt_index INTEGER NOT NULL,
        ordinal SMALLINT NOT NULL,
        role TEXT NOT NULL,
        slot SMALLINT,
        text TEXT NOT NULL,
        metadata JSONB NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        asked INTEGER GENERATED ALWAYS AS (CASE WHEN ordinal = 0 THEN prompt_index END) STORED,
        needs INTEGER GENERATED ALWAYS AS (
            CASE WHEN ordinal = 0 THEN NULLIF(prompt_index - 1, 0) ELSE prompt_index END
        ) STORED,
        CONSTRAINT pk_event PRIMARY KEY (session_id, event_id),
        CONSTRAINT fk_event_session FOREIGN KEY (session_id) REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT uq_event_session_id_prompt_index_ordinal UNIQUE (session_id, prompt_index, ordinal),
        CONSTRAINT uq_event_session_id_asked UNIQUE (session_id, asked),
        CONSTRAINT fk_event_no_hole FOREIGN KEY (session_id, needs)
            REFERENCES event (session_id, asked) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT ck_event_role CHECK (role IN ('user', 'agent', 'system')),
        CONSTRAINT ck_event_prompt_index CHECK (prompt_index >= 1),
        CONSTRAINT ck_event_ordinal CHECK (ordinal >= 0 AND (ordinal = 0) = (role = 'user')),
        CONSTRAINT ck_event_slot CHECK (slot BETWEEN 1 AND 7),
        CONSTRAINT ck_event_speaker CHECK (role <> 'agent' OR slot IS NOT NULL)
    )
    """,
    """
    CREATE TABLE memory_block (
        session_id UUID NOT NULL,
        block_id UUID NOT NULL,
        type TEXT NOT NULL,
        from_prompt INTEGER NOT NULL,
        to_prompt INTEGER NOT NULL,
        payload JSONB NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        follows INTEGER GENERATED ALWAYS AS (CASE WHEN from_prompt > 0 THEN from_prompt - 1 END) STORED,
        CONSTRAINT pk_memory_block PRIMARY KEY (session_id, block_id),
        CONSTRAINT fk_memory_block_session FOREIGN KEY (session_id)
            REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT uq_memory_block_session_id_from_prompt UNIQUE (session_id, from_prompt),
        CONSTRAINT uq_memory_block_session_id_to_prompt UNIQUE (session_id, to_prompt),
        CONSTRAINT fk_memory_block_no_hole FOREIGN KEY (session_id, follows)
            REFERENCES memory_block (session_id, to_prompt) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT ck_memory_block_type CHECK (type IN ('world_chapter_lock', 'turn_delta')),
        CONSTRAINT ck_memory_block_range
            CHECK (
                CASE type WHEN 'world_chapter_lock' THEN from_prompt = 0 AND to_prompt = 0
                ELSE from_prompt >= 1 AND to_prompt >= from_prompt END
            )
    )
    """,
    """
    CREATE TABLE llm_request (
        session_id UUID NOT NULL,
        request_id UUID NOT NULL,
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        priority SMALLINT NOT NULL,
        slot SMALLINT,
        text TEXT NOT NULL,
        from_prompt INTEGER,
        to_prompt INTEGER,
        attempts INTEGER NOT NULL,
        retry_after TIMESTAMPTZ,
        error_code TEXT,
        error_message TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        CONSTRAINT pk_llm_request PRIMARY KEY (session_id, request_id),
        CONSTRAINT fk_llm_request_session FOREIGN KEY (session_id)
            REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT ck_llm_request_kind CHECK (kind IN ('lock', 'reply', 'summary', 'narrative')),
        CONSTRAINT ck_llm_request_state
            CHECK (state IN ('pending', 'processing', 'done', 'failed', 'cancelled')),
        CONSTRAINT ck_llm_request_slot CHECK (slot BETWEEN 1 AND 7),
        CONSTRAINT ck_llm_request_speaker CHECK (kind <> 'reply' OR slot IS NOT NULL),
        CONSTRAINT ck_llm_request_attempts CHECK (attempts >= 0),
        CONSTRAINT ck_llm_request_range
            CHECK (
                (from_prompt IS NULL) = (to_prompt IS NULL)
                AND from_prompt >= 1 AND to_prompt >= from_prompt
            )
    )
    """,
    """
    CREATE INDEX ix_llm_request_kept ON llm_request (session_id, request_id)
    WHERE state IN ('pending', 'processing', 'failed')
    """,
    """
    CREATE TABLE llm_content (
        session_id UUID NOT NULL,
        hash TEXT NOT NULL,
        text TEXT NOT NULL,
        CONSTRAINT pk_llm_content PRIMARY KEY (session_id, hash),
        CONSTRAINT fk_llm_content_session FOREIGN KEY (session_id)
            REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT ck_llm_content_hash CHECK (hash ~ '^[0-9a-f]{64}$')
    )
    """,
    """
    CREATE TABLE llm_artifact (
        session_id UUID NOT NULL,
        artifact_id UUID NOT NULL,
        request_id UUID NOT NULL,
        attempt INTEGER NOT NULL,
        call INTEGER NOT NULL,
        agent_id SMALLINT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_version TEXT NOT NULL,
        input_hash TEXT NOT NULL,
        input_ref TEXT NOT NULL,
        output_ref TEXT,
        input_tokens INTEGER,
        output_tokens INTEGER,
        cached_tokens INTEGER,
        reasoning_tokens INTEGER,
        first_token_ms INTEGER,
        total_ms INTEGER,
        finish_reason TEXT NOT NULL,
        error_code TEXT,
        error_message TEXT NOT NULL,
        left_out TEXT[] NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        CONSTRAINT pk_llm_artifact PRIMARY KEY (session_id, artifact_id),
        CONSTRAINT fk_llm_artifact_session FOREIGN KEY (session_id)
            REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT uq_llm_artifact_call UNIQUE (session_id, request_id, attempt, call),
        CONSTRAINT fk_llm_artifact_request FOREIGN KEY (session_id, request_id)
            REFERENCES llm_request (session_id, request_id) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT fk_llm_artifact_input FOREIGN KEY (session_id, input_ref)
            REFERENCES llm_content (session_id, hash) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT fk_llm_artifact_output FOREIGN KEY (session_id, output_ref)
            REFERENCES llm_content (session_id, hash) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT ck_llm_artifact_agent_id CHECK (agent_id BETWEEN 0 AND 9),
        CONSTRAINT ck_llm_artifact_count CHECK (attempt >= 1 AND call >= 0)
    )
    """,
    """
    CREATE TABLE narrative_draft (
        session_id UUID NOT NULL,
        draft_id UUID NOT NULL,
        version INTEGER NOT NULL,
        request_id UUID,
        definition TEXT NOT NULL,
        target_words INTEGER,
        source_prompt_index INTEGER NOT NULL,
        source_block_ids UUID[] NOT NULL,
        model TEXT NOT NULL,
        text TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        CONSTRAINT pk_narrative_draft PRIMARY KEY (session_id, draft_id),
        CONSTRAINT fk_narrative_draft_session FOREIGN KEY (session_id)
            REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT uq_narrative_draft_session_id_version UNIQUE (session_id, version),
        CONSTRAINT fk_narrative_draft_request FOREIGN KEY (session_id, request_id)
            REFERENCES llm_request (session_id, request_id) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT ck_narrative_draft_version CHECK (version >= 1),
        CONSTRAINT ck_narrative_draft_source CHECK (source_prompt_index >= 0)
    )
    """,
    # The session refers to rows that are inserted after it; both keys are checked at commit.
    """
    ALTER TABLE session
        ADD CONSTRAINT fk_session_last_prompt FOREIGN KEY (id, played_to)
        REFERENCES event (session_id, asked) DEFERRABLE INITIALLY DEFERRED,
        ADD CONSTRAINT fk_session_boundary FOREIGN KEY (id, summarised_to)
        REFERENCES memory_block (session_id, to_prompt) DEFERRABLE INITIALLY DEFERRED
    """,
)

FUNCTIONS = (
    # Refuses a writer that is not, or no longer, the session's. Locks the row until the transaction ends, so
    # that a new writer gets its epoch either before this commit or after it.
    """
    CREATE FUNCTION storyengine_check_writer(wanted uuid, epoch integer) RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM session WHERE id = wanted AND writer_epoch = epoch FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'another writer has taken over session %', wanted USING ERRCODE = 'SE001';
        END IF;
    END $$
    """,
    # Arguments: the columns that may change. A purge names the one session that it deletes.
    """
    CREATE FUNCTION storyengine_append_only() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' AND current_setting('storyengine.purge', true) = OLD.session_id::text THEN
            RETURN OLD;
        END IF;
        IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - TG_ARGV = to_jsonb(OLD) - TG_ARGV THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'SE002';
    END $$
    """,
    # Only archived sessions can be deleted, and tab 1 stays locked.
    """
    CREATE FUNCTION storyengine_guard_session() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            RAISE EXCEPTION 'session % is locked for good', OLD.id USING ERRCODE = 'SE002';
        END IF;
        IF OLD.archived_at IS NULL
            OR current_setting('storyengine.purge', true) IS DISTINCT FROM OLD.id::text
        THEN
            RAISE EXCEPTION 'session % is not archived and being purged', OLD.id USING ERRCODE = 'SE003';
        END IF;
        RETURN OLD;
    END $$
    """,
    """
    CREATE FUNCTION storyengine_guard_tab1() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
            RETURN NEW;
        END IF;
        IF EXISTS (SELECT FROM session WHERE id = OLD.session_id AND tab1_locked) THEN
            RAISE EXCEPTION 'tab 1 of session % is locked', OLD.session_id USING ERRCODE = 'SE002';
        END IF;
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END $$
    """,
)

# The columns of append-only tables that may change: metadata of an event, and generated columns.
APPEND_ONLY = {
    "event": ("metadata", "asked", "needs"),
    "memory_block": ("follows",),
    "narrative_draft": (),
    "llm_artifact": (),
    "llm_content": (),
}

TRIGGERS = (
    "CREATE TRIGGER guard_deletion BEFORE DELETE ON session"
    " FOR EACH ROW EXECUTE FUNCTION storyengine_guard_session()",
    "CREATE TRIGGER guard_lock BEFORE UPDATE ON session"
    " FOR EACH ROW WHEN (OLD.tab1_locked AND NOT NEW.tab1_locked)"
    " EXECUTE FUNCTION storyengine_guard_session()",
    "CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON tab1_input"
    " FOR EACH ROW EXECUTE FUNCTION storyengine_guard_tab1()",
)


def upgrade() -> None:
    for statement in (*TABLES, *FUNCTIONS, *TRIGGERS):
        op.execute(statement)
    for table, columns in APPEND_ONLY.items():
        free = ", ".join(f"'{column}'" for column in columns)
        op.execute(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}"
            f" FOR EACH ROW EXECUTE FUNCTION storyengine_append_only({free})"
        )
        op.execute(
            f"CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION storyengine_append_only()"
        )
