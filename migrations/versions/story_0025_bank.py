"""Adds the memory bank: items, their versions, their words, and how often they were recalled.

Chapters that were made before keep none until the GM says so.
"""

from alembic import op

revision: str = "story_0025"
down_revision: str | None = "story_0024"
branch_labels: str | None = None
depends_on: str | None = None

_TIME = "BETWEEN '1900-01-01Z' AND '9999-01-01Z'"
_SESSION = "FOREIGN KEY (session_id) REFERENCES session (id) ON DELETE CASCADE"

TABLES = (
    "ALTER TABLE session ADD COLUMN keeps_bank BOOLEAN NOT NULL DEFAULT false",
    f"""
    CREATE TABLE bank_revision (
        session_id UUID NOT NULL,
        item_id UUID NOT NULL,
        version INTEGER NOT NULL,
        content JSONB NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_bank_revision PRIMARY KEY (session_id, item_id, version),
        CONSTRAINT fk_bank_revision_session {_SESSION},
        CONSTRAINT ck_bank_revision_version CHECK (version >= 1),
        CONSTRAINT ck_bank_revision_content CHECK (jsonb_typeof(content) = 'object'),
        CONSTRAINT ck_bank_revision_times CHECK (updated_at {_TIME})
    )
    """,
    f"""
    CREATE TABLE bank_item (
        session_id UUID NOT NULL,
        item_id UUID NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        details JSONB NOT NULL,
        about SMALLINT,
        label SMALLINT NOT NULL DEFAULT 127,
        importance FLOAT NOT NULL,
        confidence FLOAT NOT NULL,
        sentiment FLOAT NOT NULL,
        decay_rate FLOAT NOT NULL,
        validation TEXT NOT NULL,
        is_pinned BOOLEAN NOT NULL,
        is_by_gm BOOLEAN NOT NULL,
        origin TEXT NOT NULL,
        prompt_index INTEGER NOT NULL,
        take SMALLINT,
        evidence JSONB NOT NULL,
        supersedes UUID,
        merged_into UUID,
        undoes INTEGER,
        expires_at INTEGER,
        request_id UUID,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_bank_item PRIMARY KEY (session_id, item_id),
        CONSTRAINT fk_bank_item_session {_SESSION},
        CONSTRAINT fk_bank_item_version FOREIGN KEY (session_id, item_id, version)
            REFERENCES bank_revision (session_id, item_id, version) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT ck_bank_item_kind CHECK (
            kind IN ('event', 'fact', 'person', 'place', 'thread', 'quote', 'trait', 'state')
        ),
        CONSTRAINT ck_bank_item_validation CHECK (validation IN ('none', 'seen', 'confirmed', 'rejected')),
        CONSTRAINT ck_bank_item_origin CHECK (origin IN ('extracted', 'gm')),
        CONSTRAINT ck_bank_item_version CHECK (version >= 1 AND undoes BETWEEN 1 AND version - 1),
        CONSTRAINT ck_bank_item_name CHECK (name ~ '[^[:space:]]' AND char_length(name) <= 200),
        CONSTRAINT ck_bank_item_text CHECK (text ~ '[^[:space:]]' AND char_length(text) <= 2000),
        CONSTRAINT ck_bank_item_details CHECK (jsonb_typeof(details) = 'object'),
        CONSTRAINT ck_bank_item_about CHECK (about BETWEEN 1 AND 7),
        CONSTRAINT ck_bank_item_label CHECK (label BETWEEN 0 AND 127),
        CONSTRAINT ck_bank_item_shares CHECK (
            importance BETWEEN 0 AND 1 AND confidence BETWEEN 0 AND 1 AND decay_rate BETWEEN 0 AND 1
            AND sentiment BETWEEN -1 AND 1
        ),
        CONSTRAINT ck_bank_item_place CHECK (prompt_index >= 0 AND take >= 1 AND expires_at >= 0),
        CONSTRAINT ck_bank_item_evidence CHECK (
            CASE WHEN jsonb_typeof(evidence) = 'array' THEN jsonb_array_length(evidence) <= 8 ELSE false END
        ),
        CONSTRAINT ck_bank_item_proof CHECK (
            origin = 'gm' OR (evidence <> '[]' AND take IS NOT NULL)
        ),
        CONSTRAINT ck_bank_item_replaces CHECK (supersedes <> item_id AND merged_into <> item_id),
        CONSTRAINT ck_bank_item_times CHECK (created_at {_TIME} AND updated_at {_TIME})
    )
    """,
    "CREATE INDEX ix_bank_item_version ON bank_item (session_id, item_id, version)",
    "CREATE INDEX ix_bank_item_supersedes ON bank_item (session_id, supersedes) WHERE supersedes IS NOT NULL",
    f"""
    CREATE TABLE bank_access (
        session_id UUID NOT NULL,
        item_id UUID NOT NULL,
        access_count INTEGER NOT NULL,
        last_accessed INTEGER NOT NULL,
        CONSTRAINT pk_bank_access PRIMARY KEY (session_id, item_id),
        CONSTRAINT fk_bank_access_session {_SESSION},
        CONSTRAINT ck_bank_access_counts CHECK (access_count >= 1 AND last_accessed >= 1)
    )
    """,
    f"""
    CREATE TABLE bank_word (
        session_id UUID NOT NULL,
        word TEXT COLLATE "C" NOT NULL,
        item_id UUID NOT NULL,
        CONSTRAINT pk_bank_word PRIMARY KEY (session_id, word, item_id),
        CONSTRAINT fk_bank_word_session {_SESSION}
    )
    """,
)

# The stems of all words; and as they are written those with a capital, since a name may be a common word.
FUNCTIONS = (
    """
    CREATE FUNCTION storyengine_words(item bank_item) RETURNS text[] LANGUAGE sql STABLE AS $$
        SELECT tsvector_to_array(
            to_tsvector('pg_catalog.english', concat_ws(' ', item.name, item.text))
            || to_tsvector(
                'pg_catalog.simple',
                regexp_replace(concat_ws(' ', item.name, item.text), '\\m[^[:upper:][:space:]]\\S*', '', 'g')
            )
            || jsonb_to_tsvector('pg_catalog.english', item.details, '["string"]')
            || jsonb_to_tsvector(
                'pg_catalog.english', jsonb_path_query_array(item.evidence, '$[*].words'), '["string"]'
            )
        )
    $$
    """,
    """
    CREATE FUNCTION storyengine_index_words() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            DELETE FROM bank_word WHERE session_id = OLD.session_id AND item_id = OLD.item_id
                AND word = ANY (storyengine_words(OLD));
        END IF;
        INSERT INTO bank_word (session_id, word, item_id)
            SELECT NEW.session_id, word, NEW.item_id FROM unnest(storyengine_words(NEW)) AS word
            ON CONFLICT DO NOTHING;
        RETURN NULL;
    END $$
    """,
)

TRIGGERS = (
    "CREATE TRIGGER index_words AFTER INSERT OR UPDATE OF name, text, details, evidence ON bank_item"
    " FOR EACH ROW EXECUTE FUNCTION storyengine_index_words()",
    "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON bank_revision"
    " FOR EACH ROW EXECUTE FUNCTION storyengine_append_only()",
    "CREATE TRIGGER append_only BEFORE DELETE ON bank_item"
    " FOR EACH ROW EXECUTE FUNCTION storyengine_append_only()",
    # Who may know an item, and what it was drawn from, never changes; each change is the next version.
    "CREATE TRIGGER keep_item BEFORE UPDATE ON bank_item FOR EACH ROW WHEN ("
    "NEW.version <> OLD.version + 1"
    " OR (NEW.session_id, NEW.item_id, NEW.kind, NEW.label, NEW.origin, NEW.prompt_index, NEW.take,"
    " NEW.supersedes, NEW.request_id, NEW.created_at)"
    " IS DISTINCT FROM (OLD.session_id, OLD.item_id, OLD.kind, OLD.label, OLD.origin, OLD.prompt_index,"
    " OLD.take, OLD.supersedes, OLD.request_id, OLD.created_at))"
    " EXECUTE FUNCTION storyengine_refuse('an item keeps its label and its source')",
)


def upgrade() -> None:
    for statement in (*TABLES, *FUNCTIONS, *TRIGGERS):
        op.execute(statement)
    for table in ("bank_revision", "bank_item", "bank_access", "bank_word"):
        op.execute(
            f"CREATE TRIGGER keep_whole BEFORE TRUNCATE ON {table} FOR EACH STATEMENT"
            " EXECUTE FUNCTION storyengine_refuse('tables are never emptied')"
        )
